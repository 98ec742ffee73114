r"""When counters were read: lines of ``date`` and headings with a date between the outputs of tools.

Samples::

    Wed Jan 14 03:00:00 UTC 2026
    === snapshot 2026-01-14 04:00:00 ===
    date: 2026-01-14T04:00:00+00:00

Tools that print counters print no time. ``shell.date`` is a line that is a date and at most a few words and
rules before it; it holds for what stands behind it in the file, of its own host where the line has a prefix.

Empty: nobody noted the time. Cut off: a date that is cut off is none.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from diagnose.ingest.stamp import find_stamp
from diagnose.model.event import Line, Nature
from diagnose.parsers.base import BlockText, BulkParser, Record, make_event

OPENS = (
    "counters", "NIC statistics:", "packet_seq_err", "rx_write_requests", "Errors for ",
    "ethtool -S", "perfquery", "rdma stat", "> mtu ", "/statistics/",
)  # fmt: skip

LONGEST = 140
"""Characters of a line that is a date."""

TIME = re.compile(rb"[ T_]\d\d:\d\d:\d\d")
DATED = re.compile(
    rb"[^\n]{0,90}?"
    rb"(?:\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [AP]M)?(?: [A-Z]{3,4})? \d{4}"
    rb"|\b[A-Z][a-z]{2} \d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?: [AP]M)?(?: [A-Z]{3,4})?"
    rb"|\b\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| UTC| ?[+-]\d\d:?\d\d)?)"
    rb"\]?[ \t=#*)\r-]*"
)
STAMP = re.compile(
    r"(?:[A-Z][a-z]{2} (?:[A-Z][a-z]{2} [ \d]\d|\d\d? [A-Z][a-z]{2} \d{4}) \d\d:|\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:)"
)


def read(block: BlockText) -> Iterator[Record]:
    """Return the dates of a block."""
    end = -1
    for found in TIME.finditer(block.data):
        if found.start() < end:
            continue
        start = block.data.rfind(b"\n", 0, found.start()) + 1
        end = block.data.find(b"\n", start)
        end = len(block.data) if end < 0 else end
        if end - start > LONGEST or not DATED.fullmatch(block.data, start, end):
            continue
        line = _stamped(block.line_at(start))
        if line is not None:
            yield make_event("shell.date", Nature.MEASUREMENT, line)


def _stamped(line: Line) -> Line | None:
    """Return a line with the time that it states, None if that is no time after all."""
    at = STAMP.search(line.text)
    if at is None:
        return line if line.time is not None and not line.text.strip(" =#*-") else None
    stamp = find_stamp(line.text, at.start())
    return replace(line, time=stamp[0], clock=stamp[1]) if stamp else None


PARSERS = (
    BulkParser(
        name="dates-of-readings",
        title="dates between the outputs of tools that read counters",
        opens=OPENS,
        read=read,
        emits=("shell.date",),
        sample="Wed Jan 14 03:00:00 UTC 2026\n# Port counters: Lid 131 port 1\n",
    ),
)
