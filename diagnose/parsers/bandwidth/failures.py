"""Tests of bandwidth that failed: nccl-tests, perftest and iperf3.

::

    node-07: Test timeout (300s) common.cu:512
    Invalid number of GPUs: 16 requested but only 8 were found.
     Completion with error at client
     Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81
    Couldn't connect to node-08:18515
    iperf3: error - unable to connect to server: Connection refused

``bench.failed`` has ``program`` and ``reason``: ``timeout``, ``too-few-gpus``, ``retry-exceeded``, ``remote-access``,
``completion`` (another status of the adapter), ``not-connected``, ``queue-pair``, ``memory``, ``no-device`` or
``other``; with ``peer``, ``status``, ``device``, ``requested``, ``found`` or ``error`` where the line has them. What
NCCL and CUDA return to nccl-tests is ``nccl.test_failed``. The lines that nccl-tests prints while it
unwinds (``Test failure``) follow from the first and are left out.

*Empty*: nothing failed. *Cut off*: the lines that are there count.
"""

from collections.abc import Callable, Mapping

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import network_reason

NCCL_TESTS, PERFTEST, IPERF3 = "nccl-tests", "perftest", "iperf3"

STATUS = {12: "retry-exceeded", 13: "retry-exceeded", 10: "remote-access"}
"""Reasons by the status of a work completion; others are ``completion``."""

Convert = Callable[[str], Value]


def _failure(
    program: str,
    reason: str,
    regex: str,
    source: str,
    sample: str,
    types: Mapping[str, Convert] | None = None,
) -> Pattern:
    return Pattern(
        event="bench.failed",
        regex=regex,
        nature=Nature.ERROR,
        source=source,
        sample=sample,
        types=types or {},
        constants={"program": program, "reason": reason},
    )


PATTERNS = (
    _failure(
        NCCL_TESTS,
        "timeout",
        r"Test timeout \((?P<seconds>\d+)s\)",
        "nccl-tests 2.0 to 2.19, common.h",
        "node-07: Test timeout (300s) common.cu:512",
        {"seconds": int},
    ),
    _failure(
        NCCL_TESTS,
        "too-few-gpus",
        r"Invalid number of GPUs: (?P<requested>\d+) requested but only (?P<found>\d+) were found",
        "nccl-tests 2.13 to 2.19, util.cu",
        "Invalid number of GPUs: 16 requested but only 8 were found.",
        {"requested": int, "found": int},
    ),
    _failure(
        PERFTEST,
        "completion",
        r"Failed status-?(?P<error>[a-zA-Z ]*?) ?\(?(?P<status>\d+)\)?: wr_id \d+ syndrom (?P<syndrome>0x[0-9a-f]+)",
        "perftest 3.0 to 25.x, perftest_resources.h; older ones print the number alone",
        " Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81",
        {"status": int},
    ),
    _failure(
        PERFTEST,
        "not-connected",
        r"Couldn't connect to (?P<peer>[^\s:]+):(?P<port>\d+)",
        "perftest 3.0 to 25.x, perftest_communication.c",
        "Couldn't connect to node-08:18515",
        {"port": int},
    ),
    _failure(
        PERFTEST,
        "queue-pair",
        r"Failed to modify QP (?:\d+ )?to (?P<step>INIT|RTR|RTS)",
        "perftest 3.0 to 25.x, perftest_resources.c",
        "Failed to modify QP 1234 to RTR",
    ),
    _failure(
        PERFTEST,
        "queue-pair",
        r"^\s*(?P<error>Unable to create QP)\.",
        "perftest 3.0 to 25.x, perftest_resources.c",
        " Unable to create QP.",
    ),
    _failure(
        PERFTEST,
        "memory",
        r"Couldn't allocate MR(?: with error=(?P<code>\d+))?",
        "perftest 3.0 to 25.x, perftest_resources.c",
        "Couldn't allocate MR with error=12",
        {"code": int},
    ),
    _failure(
        PERFTEST,
        "no-device",
        r"IB device (?P<device>\S+) not found",
        "perftest 3.0 to 25.x, perftest_resources.c",
        "IB device mlx5_9 not found",
    ),
    _failure(
        IPERF3,
        "other",
        r"iperf3: error - (?P<error>[^\r\n]+)",
        "iperf3 3.0 to 3.18, iperf_error.c",
        "iperf3: error - unable to connect to server: Connection refused",
    ),
)


def _refine(event: Event, line: Line) -> Event:
    if event.fields["program"] == PERFTEST and "status" in event.fields:
        status = event.fields["status"]
        event.fields["reason"] = STATUS.get(status, "completion") if isinstance(status, int) else ""
    elif event.fields["program"] == IPERF3 and "unable to connect" in str(event.fields["error"]):
        event.fields["reason"] = "not-connected"
        event.fields["why"] = network_reason(str(event.fields["error"]))
    return event


PARSER = LineParser(
    name="bandwidth-failures",
    title="nccl-tests, perftest and iperf3 that failed",
    patterns=PATTERNS,
    refine=_refine,
)

PARSERS = (PARSER,)
