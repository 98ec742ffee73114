r"""Lines that say they are errors, whatever program prints them.

Samples::

    2026-01-02 12:06:41,123 - trainer - ERROR - cannot reach the licence server
    Segmentation fault (core dumped)

They are no evidence for any cause. They show that a job ended in an error that nothing else knows,
so of each block only the last few are kept. Empty: no line calls itself an error. Cut off: no
matter, a line is a record.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Clock, Event, Line, Nature
from diagnose.parsers.base import BlockText, BulkParser, make_event

LAST = 3
"""Lines of one block that are kept."""

MARK = LazyPattern(
    rb"(?:^|[\s\[|(])(?:ERROR|CRITICAL|FATAL|Fatal error:|fatal error:|panic:)(?=[\s\]|):]|$)"
    rb"|Segmentation fault|\(core dumped\)|^[Ee]rror: ",
    re.MULTILINE,
)


def read(block: BlockText) -> Iterator[Event]:
    """Yield the last lines of a block that call themselves errors."""
    places = {
        block.data.rfind(b"\n", 0, found.end()) + 1: found.end()
        for found in MARK.finditer(block.data)
    }
    for place in list(places.values())[-LAST:]:
        line = block.line_at(place)
        if not _of_kernel(line):
            yield make_event("log.error", Nature.ERROR, line)


def _of_kernel(line: Line) -> bool:
    """Return whether the kernel speaks: it goes on, whatever a job ended in."""
    return line.stream == "kernel" or line.clock is Clock.UPTIME


PARSERS = (
    BulkParser(
        name="error-lines",
        title="Lines that call themselves errors, of any program",
        opens=(
            "ERROR",
            "CRITICAL",
            "FATAL",
            "atal error:",
            "panic:",
            "Segmentation fault",
            "(core dumped)",
            "rror: ",
        ),
        read=read,
        emits=("log.error",),
        sample="Segmentation fault (core dumped)",
    ),
)
