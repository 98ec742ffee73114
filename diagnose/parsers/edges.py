"""The stamps nearest to the first and the last line of a source.

The two ends are kept as bytes, so that those of chunks become those of the whole.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.ingest.pieces import Piece
from diagnose.ingest.stamp import may_hold_stamp
from diagnose.model.event import Clock
from diagnose.model.reading import SourceSummary

LINES = 20
"""Lines at either end that are searched for a stamp."""

BYTES = 400 * LINES
"""Bytes of them at most."""

DATED = frozenset({Clock.UTC, Clock.LOCAL})
"""Clocks whose stamps have a year; a file may mix them with others."""


@dataclass(slots=True)
class Edges:
    """The two ends of a source or of a chunk of it.

    Args:
        head: Its first bytes.
        tail: Its last bytes.
    """

    head: bytes = b""
    tail: bytes = b""

    def watch(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Return the pieces, and keep their ends."""
        for piece in pieces:
            self.append(Edges(piece.data[:BYTES], piece.data[-BYTES:]))
            yield piece

    def append(self, later: "Edges") -> None:
        """Add the ends of what follows."""
        if len(self.head) < BYTES:
            self.head = (self.head + later.head)[:BYTES]
        self.tail = (self.tail + later.tail)[-BYTES:]

    def state(self, summary: SourceSummary) -> None:
        """Write the stamps into the summary of the source; the fuller one decides on the clock."""
        first, clock = _stamp(_lines(self.head))
        last, other = _stamp(_lines(self.tail)[::-1])
        if other in DATED or (clock not in DATED and other is not Clock.NONE):
            clock = other
        summary.first_time, summary.last_time, summary.clock = first, last, clock


def _lines(data: bytes) -> list[bytes]:
    return data.replace(b"\r", b"\n").split(b"\n")


def _stamp(lines: list[bytes]) -> tuple[float | None, Clock]:
    """Return the first stamp in some lines."""
    if not may_hold_stamp(b"\n".join(lines[:LINES])):
        return None, Clock.NONE
    for text in lines[:LINES]:
        line = peel(text.decode("utf-8", "replace"), "", 0, NOBODY)
        if line.time is not None:
            return line.time, line.clock
    return None, Clock.NONE
