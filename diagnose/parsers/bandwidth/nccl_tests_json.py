"""What nccl-tests writes with ``-J``: the same run as the table, in one JSON file.

::

    {"version": 1, "args": ["all_reduce_perf", ...], "env": [...], "nccl_version": 22907,
     "config": {"ngpus": 8, "devices": [{"rank": 0, "hostname": "node-17", "device_info": "NVIDIA H100"}]},
     "results": [{"size": 1073741824, "out_of_place": {"alg_bw": 265.0, "bus_bw": 463.8, "nwrong": 0}}],
     "out_of_bounds": {"count": 0, "okay": true}, "average_bus_bandwidth": {"bandwidth": 365.9}}

The event is ``nccl_tests.result`` with the fields of the table. ``env`` holds the whole environment of the
process, secrets included, and is never looked at. *Empty*: no results, so ``rows`` is 0: the test hung
or failed while connecting. *Cut off*: no JSON, which is noted.
"""

import json
from collections.abc import Iterator
from typing import Any

from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.bandwidth.collective import Row, collective_name, measured
from diagnose.parsers.base import Document, FileParser, Note, make_event
from diagnose.parsers.convert import short_host
from diagnose.parsers.gate import Gate


def _accepts(name: str, head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"nccl_version"' in head and b'"start_time"' in head


def _read(document: Document) -> Iterator[Event]:
    try:
        found: dict[str, Any] = json.loads(document.text())
    except ValueError as error:
        raise Note(f"cut off or no JSON: {error}") from None
    config = found.get("config") or {}
    devices: list[dict[str, Any]] = config.get("devices") or []
    hosts = sorted({short_host(str(one.get("hostname"))) for one in devices})
    models = {str(one.get("device_info")) for one in devices}
    arguments = found.get("args") or [""]
    bounds = found.get("out_of_bounds") or {}
    average = found.get("average_bus_bandwidth") or {}
    collective = collective_name(str(arguments[0]).rsplit("/", 1)[-1])
    head = document.at(f"nccl-tests: {collective} of {len(devices)} GPUs")
    rows = [_row(one, document) for one in found.get("results") or []]
    fields: dict[str, Value] = {
        "tool": "nccl-tests", "collective": collective, "ranks": len(devices) or None,
        "nodes": len(hosts) or None, "hosts": list(hosts),
        "gpus_per_node": len(devices) // len(hosts) if hosts else None,
        "gpu_model": next(iter(models)) if len(models) == 1 else None,
        "avg_busbw": average.get("bandwidth"), "reduced_to": None,
        "verdict": {"True": "OK", "False": "FAILED"}.get(str(average.get("okay"))),
        "alone": sum(one.get("rank") == 0 for one in devices) or None,
        **measured(rows),
    }  # fmt: skip
    if not fields["wrong"] and "count" in bounds:
        fields["wrong"] = bounds["count"]
    if len(hosts) == 1:
        fields["host"] = hosts[0]
    yield make_event("nccl_tests.result", Nature.MEASUREMENT, head, fields)


def _row(result: dict[str, Any], document: Document) -> Row:
    half = result.get("out_of_place") or result.get("in_place") or {}
    size = int(result.get("size") or 0)
    wrong = half.get("nwrong")
    line = document.at(f"{size} bytes")
    return Row(size, half.get("bus_bw"), line, None if wrong is None else int(wrong))


RESULT = FileParser(
    name="nccl-tests-json",
    title="nccl-tests -J: the result as a file",
    accepts=_accepts,
    gate=Gate(starts=(b"{",), holds=(b'"nccl_version"',)),
    read=_read,
    emits=("nccl_tests.result",),
    sample=(
        '{"version": 1, "start_time": "2026-01-14 03:04:07", "args": ["all_reduce_perf"], "env": [],\n'
        '"nccl_version": 22907, "config": {"ngpus": 2, "devices": [\n'
        '{"rank": 0, "group": 0, "pid": 81234, "hostname": "node-17", "device": 0, "device_info": "NVIDIA H100 80GB HBM3"},\n'
        '{"rank": 1, "group": 0, "pid": 81234, "hostname": "node-17", "device": 1, "device_info": "NVIDIA H100 80GB HBM3"}]},\n'
        '"results": [{"size": 1073741824, "out_of_place": {"time": 4051.6, "alg_bw": 265.02, "bus_bw": 265.02, "nwrong": 0}}],\n'
        '"out_of_bounds": {"count": 0, "okay": true}, "average_bus_bandwidth": {"bandwidth": 265.02, "okay": "unchecked"}}'
    ),
    alone=True,
)

PARSERS = (RESULT,)
