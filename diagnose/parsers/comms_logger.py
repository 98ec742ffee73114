"""DeepSpeed's comms logger: what the collectives of a rank took (``utils/comms_logging.py``, 0.7 to 0.19).

::

    [Rank 0] comm op: all_reduce | time (ms): 1.23 | msg size: 25.0 MB | algbw (Gbps): 170.10 | busbw (Gbps): 318.94

and at the end a table of operation, message size, count, latencies and bandwidths. Each operation and size
gives one ``train.comm_op`` for a stretch of the log: ``bytes`` of a message, ``count`` of calls, ``typical``
seconds of a call (median of the lines, mean of the table), ``fastest`` of the lines, and ``busbw`` in bytes a
second of the fastest call or, in the table, on average. The logger prints gigabits. Its times include waiting
for ranks that come later, so only the fastest call says something about the link.

*Empty*: the logger is off. *Cut off*: rows and lines that are whole count.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, BlockText, BulkParser, make_event
from diagnose.parsers.convert import size

GIGABIT = 1e9 / 8

CALL = LazyPattern(
    rb"comm op: (\w+) \| time \(ms\): ([\d.]+) \| msg size: ([\d.]+ [KMGT]?B)"
    rb" \| algbw \(Gbps\): ?[\d.]+ \| busbw \(Gbps\): ?([\d.]+)"
)
HEADING = "Avg Latency(ms)"
OPERATION = LazyPattern(r"^\s*([a-z]\w+)(?=\s|$)")
ROW = LazyPattern(r"(?:^|\s)([\d.]+ [KMGT]?B)\s+(\d+)\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s+([\d.]+)\s*$")


def read_calls(block: BlockText) -> Iterator[Event]:
    """Read the lines of calls, one event an operation and size."""
    found: dict[tuple[bytes, bytes], list[re.Match[bytes]]] = defaultdict(list)
    for call in CALL.finditer(block.data):
        found[call[1], call[3]].append(call)
    for (operation, length), calls in found.items():
        times = [float(call[2]) / 1000 for call in calls]
        fastest = min(times)
        best = calls[times.index(fastest)]
        line = block.line_at(best.start())
        yield make_event(
            "train.comm_op",
            Nature.MEASUREMENT,
            line,
            {
                "operation": operation.decode(),
                "bytes": size(length.decode()),
                "count": len(calls),
                "typical": median(times),
                "fastest": fastest,
                "busbw": float(best[4]) * GIGABIT,
            },
        )


def read_table(lines: list[Line]) -> Iterator[Event]:
    """Read the table, one event a row."""
    operation: str | None = None
    for line in lines[1:]:
        if named := OPERATION.search(line.text):
            operation = named[1]
        if operation and (row := ROW.search(line.text)):
            yield make_event(
                "train.comm_op",
                Nature.MEASUREMENT,
                line,
                {
                    "operation": operation,
                    "bytes": size(row[1]),
                    "count": int(row[2]),
                    "typical": float(row[3]) / 1000,
                    "busbw": float(row[4]) * GIGABIT,
                },
            )


def _is_over(lines: list[Line], line: Line) -> bool:
    """Return whether a line is neither a row of the table nor the name of an operation."""
    return ROW.search(line.text) is None and re.fullmatch(r"\s*[a-z]\w+\s*", line.text) is None


PARSERS = (
    BulkParser(
        name="deepspeed-comm-calls",
        title="DeepSpeed's comms logger: collectives by size",
        opens=("comm op: ",),
        read=read_calls,
        emits=("train.comm_op",),
        sample="[2026-01-05 10:00:10,101] [INFO] [logging.py:107:log_dist] [Rank 0] comm op: all_reduce | time (ms): 1.23 | msg size: 25.0 MB | algbw (Gbps): 170.10 | busbw (Gbps): 318.94\n",
    ),
    BlockParser(
        name="deepspeed-comm-summary",
        title="The table at the end of DeepSpeed's comms logger",
        opens=(HEADING,),
        starts=lambda line: "Comm. Op" in line.text,
        ends=_is_over,
        read=read_table,
        emits=("train.comm_op",),
        sample="Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)\nbroadcast\n                    98.25 MB            1                   8317.12             8317.12             0.20                0.19\n",
    ),
)
