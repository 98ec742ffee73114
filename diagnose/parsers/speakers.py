"""Which ranks write into a file that holds several, by the prefixes of its lines.

A rank that prints nothing a parser wants is there all the same, and must not count as missing; and
the stamp of its last line tells whether it went on while others waited. The
beginning of each piece is looked at, and all of the first one where that shows ranks: a launcher or
collector that puts a rank in front does so on every line. A number that only looks like a rank is
told from one by taking the prefixes off a line that has it, once for each number.
"""

import re
from collections.abc import Iterable, Iterator

from diagnose.ingest.envelope import peel
from diagnose.ingest.scan import Piece
from diagnose.ingest.sniff import Identity
from diagnose.model.event import Line

SAMPLE = 16 << 10
"""Bytes at the start of each piece that are looked at; a piece has 1 MiB."""

TAIL = 256 << 10
"""Bytes at the end of the last piece in which the last line of each rank is looked for."""

MOST = 100_000
"""Ranks that one file can hold; more are no ranks."""

PREFIXES = (
    re.compile(rb"\[rank(\d{1,6})\]"),
    re.compile(rb"^(\d{1,6}): ", re.MULTILINE),
    re.compile(rb"\[\d{1,8},(\d{1,6})\]<"),
)
"""PyTorch's and torchrun's, srun's with ``-l``, Open MPI's with ``--tag-output``."""


class Speakers:
    """Gathers the ranks that write into one source, each with the stamp of its last line.

    Args:
        name: Of the source.
        identity: What its name says; a file of one rank has no others.
    """

    def __init__(self, name: str, identity: Identity) -> None:
        self.ranks: dict[int, float | None] = {}
        self._name = name
        self._identity = identity
        self._judged: set[int] = set()

    def listen(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Return the pieces, and note who speaks in them."""
        first = True
        tail = b""
        for piece in pieces:
            if self._identity.rank is None and len(self._judged) < MOST:
                self._hear(piece.data[:SAMPLE])
                if first and self.ranks:
                    self._hear(piece.data)
            first = False
            tail = piece.data[-TAIL:] if self.ranks else b""
            yield piece
        self._end(tail)

    def _hear(self, data: bytes) -> None:
        for rank, place in _places(data):
            if rank not in self._judged:
                self._judged.add(rank)
                if self._line(data, place).rank == rank:
                    self.ranks[rank] = None

    def _end(self, tail: bytes) -> None:
        """Note the stamps of the last lines, as far as they stand near the end."""
        last = {rank: place for rank, place in _places(tail) if rank in self.ranks}
        for rank, place in last.items():
            line = self._line(tail, place)
            if line.rank == rank:
                self.ranks[rank] = line.time

    def _line(self, data: bytes, place: int) -> Line:
        start = data.rfind(b"\n", 0, place) + 1
        end = data.find(b"\n", place)
        raw = data[start : end if end >= 0 else len(data)][:SAMPLE].decode("utf-8", "replace")
        return peel(raw, self._name, 0, self._identity)


def _places(data: bytes) -> Iterator[tuple[int, int]]:
    """Return what looks like a rank, and where: by prefix, then in the order of lines."""
    for prefix in PREFIXES:
        for found in prefix.finditer(data):
            yield int(found[1]), found.start(1)
