"""Which ranks write into a file that holds several, by the prefixes of its lines.

A rank that prints nothing a parser wants is there all the same, and must not count as missing; and
the stamp of its last line tells whether it went on while others waited. The
beginning of each piece is looked at, and all of the first one where that shows ranks: a launcher or
collector that puts a rank in front does so on every line. A number that only looks like a rank is
told from one by taking the prefixes off a line that has it, once for each number; of the chunks of a
source the first one decides that has it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.ingest.envelope import peel
from diagnose.ingest.pieces import Piece, Pieces
from diagnose.ingest.sniff import Identity
from diagnose.model.event import Line

SAMPLE = 16 << 10
"""Bytes at the start of each piece that are looked at; a piece has 1 MiB."""

TAIL = 256 << 10
"""Bytes at the end of the source in which the last line of each rank is looked for."""

MOST = 100_000
"""Ranks that one file can hold; more are no ranks."""

PREFIXES = (
    re.compile(rb"\[rank(\d{1,6})\]"),
    re.compile(rb"^(\d{1,6}): ", re.MULTILINE),
    re.compile(rb"\[\d{1,8},(\d{1,6})\]<"),
)
"""PyTorch's and torchrun's, srun's with ``-l``, Open MPI's with ``--tag-output``."""


@dataclass(frozen=True, slots=True)
class Last:
    """The last line that speaks of a rank.

    Args:
        time: Its stamp, None where it has none or is another's.
        left: Bytes from its beginning to the end.
    """

    time: float | None
    left: int


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
        self._last: dict[int, Last] = {}
        self._size = 0

    @property
    def ranks(self) -> dict[int, float | None]:
        """The ranks, with the stamp of the last line of each as far as it stands near the end."""
        found = [rank for rank, speaks in self._judged.items() if speaks]
        return {rank: self._last[rank].time if rank in self._last else None for rank in found}

    def listen(self, pieces: Pieces) -> Iterator[Piece]:
        """Return the pieces of a source, or of a chunk of it, and note who speaks in them."""
        tail = b""
        for piece in pieces:
            data = piece.data
            if self._identity.rank is None:
                self._hear(data[:SAMPLE])
                if piece.is_first and self.ranks:
                    self._hear(data)
            tail = data if len(data) >= TAIL else tail[-TAIL:] + data
            yield piece
        self._size = pieces.size
        # A chunk may end with a rank that another one knows.
        is_chunk = pieces.start > 0 or not pieces.at_end
        if self._identity.rank is None and (self.ranks or is_chunk):
            self._note_last(tail[-TAIL:])

    def append(self, later: "Speakers") -> None:
        """Add what was heard in the next chunk of the source."""
        for rank, speaks in later._judged.items():
            if self._is_new(rank):
                self._judged[rank] = speaks
        before = {rank: Last(one.time, one.left + later._size) for rank, one in self._last.items()}
        near = {rank: one for rank, one in before.items() if one.left < TAIL}
        self._last = near | later._last
        self._size += later._size

    def _hear(self, data: bytes) -> None:
        for rank, place in _places(data):
            if self._is_new(rank):
                self._judged[rank] = self._line(data, place).rank == rank

    def _is_new(self, rank: int) -> bool:
        return rank not in self._judged and len(self._judged) < MOST

    def _note_last(self, tail: bytes) -> None:
        """Note the stamps of the last lines."""
        last: dict[int, int] = {}
        for rank, place in _places(tail):
            last[rank] = max(place, last.get(rank, 0))
        for rank, place in last.items():
            left = len(tail) - tail.rfind(b"\n", 0, place) - 1
            # Of a longer source the line that begins the tail may have begun before it.
            if left < TAIL:
                line = self._line(tail, place)
                self._last[rank] = Last(line.time if line.rank == rank else None, left)

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
