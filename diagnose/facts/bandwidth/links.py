"""Tests between two ends: against the rate of their ports, and what was lost on the way.

``bench.link_judged`` is a test of RDMA over a device whose port is listed in the same input:
``rate_gbps`` is the rate of the port, of both ends the slower, ``ratio`` what was measured over it.
Messages under 64 KiB do not fill a link. ``bench.retransmits`` is a test of TCP that sent segments
again: ``share`` of all of them, each taken for as small as Ethernet makes them, so that it is
rather too small.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.bandwidth.adapters import Adapters
from diagnose.model.event import Event

EVENTS = ("bench.link_judged", "bench.retransmits")

RDMA = frozenset({"write", "read", "send"})
LEAST_SIZE = 64 << 10
SEGMENT = 1448
"""Bytes of data in a segment under an MTU of 1500."""


def derive(tests: Sequence[Event], adapters: Adapters) -> Iterator[Event]:
    """Yield each test that can be judged or lost something, at its place."""
    for test in tests:
        again, sent = test.number("retransmits"), test.number("bytes")
        if again and sent:
            fields = {**test.fields, "share": again * SEGMENT / sent}
            yield replace(test, name=EVENTS[1], fields=fields, fact=None)
        measured, size = test.number("gbps"), test.number("size")
        if not measured or test.fields.get("operation") not in RDMA or (size or 0) < LEAST_SIZE:
            continue
        ends = test.host, test.fields.get("remote")
        rates = [
            rate
            for end in ends
            if isinstance(end, str) and (rate := adapters.rate(end, test.nic)) is not None
        ]
        if rates:
            rate = min(rates)
            fields = {**test.fields, "rate_gbps": rate, "ratio": measured / rate}
            yield replace(test, name=EVENTS[0], fields=fields, fact=None)
