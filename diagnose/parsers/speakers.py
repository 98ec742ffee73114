"""Which ranks write into a file that holds several, by the prefixes of its lines.

A rank that prints nothing a parser wants is there all the same, and must not count as missing; and
the stamp of its last line tells whether it went on while others waited. The
beginning of each piece is looked at, and all of the first one where that shows ranks: a launcher or
collector that puts a rank in front does so on every line. A number that only looks like a rank is
told from one by taking the prefixes off a line that has it, once for each number.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.envelope import peel
from diagnose.ingest.scan import Piece, Pieces
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
        self._name = name
        self._identity = identity
        self._judged: dict[int, bool] = {}
        self._last: dict[int, float | None] | None = None

    @property
    def ranks(self) -> dict[int, float | None]:
        """The ranks, with the stamp of the last line of each as far as it stands near the end."""
        last = self._last or {}
        return {rank: last.get(rank) for rank, speaks in self._judged.items() if speaks}

    def listen(self, pieces: Pieces) -> Iterator[Piece]:
        """Return the pieces of a source, or of a chunk of it, and note who speaks in them."""
        piece: Piece | None = None
        for piece in pieces:
            if self._identity.rank is None:
                self._hear(piece.data[:SAMPLE])
                if piece.is_first and self.ranks:
                    self._hear(piece.data)
            yield piece
        # The last chunk need not have met a rank that the ones before it know.
        known = self.ranks or (pieces.start and self._identity.rank is None and pieces.at_end)
        if piece is not None and known:
            self._last = self._ends(piece.data[-TAIL:])

    def append(self, later: "Speakers") -> None:
        """Add what was heard in the next chunk of the source."""
        for rank, speaks in later._judged.items():
            if self._is_new(rank):
                self._judged[rank] = speaks
        if later._last is not None:
            self._last = later._last

    def _hear(self, data: bytes) -> None:
        for rank, place in _places(data):
            if self._is_new(rank):
                self._judged[rank] = self._line(data, place).rank == rank

    def _is_new(self, rank: int) -> bool:
        return rank not in self._judged and len(self._judged) < MOST

    def _ends(self, tail: bytes) -> dict[int, float | None]:
        """Return the stamps of the last lines."""
        lines = ((rank, self._line(tail, place)) for rank, place in dict(_places(tail)).items())
        return {rank: line.time for rank, line in lines if line.rank == rank}

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
