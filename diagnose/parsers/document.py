"""A whole source as file parsers see it: as it is, or without what a collector put around it.

A file that only its whole shows (a table, JSON, a listing) reaches people through collectors too. Where
every line of its beginning has a prefix, or escapes or a JSON envelope cover it, the parsers are asked
about the text behind them as well.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import BinaryIO, cast

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.ingest.sniff import Identity
from diagnose.ingest.stream import Stream
from diagnose.ingest.unwrap import unwrap
from diagnose.model.event import Line
from diagnose.parsers.base import Note

WHOLE_LIMIT = 64 << 20
"""Bytes of a source that are kept in memory for a file parser."""

HEAD = 8 << 10
"""Bytes of the beginning that tell whether the source is covered."""

LOOKED_AT = 12
"""Lines of it, blank ones not counted; all must have a prefix."""


@dataclass(slots=True, frozen=True)
class WholeDocument:
    """A source as a file parser sees it.

    Args:
        name: Of the source.
        identity: Who wrote it.
        data: Its bytes.
        numbers: For each line the number, from 0, of the original's line; None if the same.
    """

    name: str
    identity: Identity
    data: bytes
    numbers: Sequence[int] | None = None

    def at(self, text: str, number: int = 1) -> Line:
        """Return a line with a text, the first by default, written by whom the identity says."""
        return Line(
            self.name,
            number,
            text,
            text,
            rank=self.identity.rank,
            local_rank=self.identity.local_rank,
            host=self.identity.host,
            attempt=self.identity.attempt,
        )

    def lines(self) -> Iterator[Line]:
        """Return the lines; prefixes are not taken off."""
        for place, raw in enumerate(self.data.split(b"\n")):
            number = (
                place if self.numbers is None else self.numbers[min(place, len(self.numbers) - 1)]
            )
            yield self.at(raw.decode("utf-8", "replace").rstrip(), number + 1)

    def text(self, limit: int = WHOLE_LIMIT) -> str:
        """Return the whole text.

        Raises:
            Note: It has more than ``limit`` bytes.
        """
        if len(self.data) > limit:
            raise Note(f"larger than {limit >> 20} MiB")
        return self.data.decode("utf-8-sig", "replace")


def put_back(data: bytes, stream: BinaryIO) -> BinaryIO:
    """Return a stream that gives bytes which were read from another, and then what is behind them."""
    return cast(BinaryIO, Stream(_PutBack(data, stream)))


class _PutBack:
    def __init__(self, data: bytes, stream: BinaryIO) -> None:
        self._data = BytesIO(data)
        self._stream = stream

    def read1(self, size: int = -1, /) -> bytes:
        return self._data.read1(size) or self._stream.read(size)

    def close(self) -> None:
        self._stream.close()


def uncovered_head(head: bytes) -> bytes | None:
    """Return the beginning of a source without its cover, None where it has none.

    Args:
        head: Its first bytes; the last line of them may be cut.
    """
    cut = head[:HEAD]
    whole = cut[: cut.rfind(b"\n") + 1] or cut
    if b"NCCL " in whole:  # a log, whatever is in front of its lines
        return None
    found = _uncovered(whole)
    return None if found is None else found[0]


def uncovered(document: WholeDocument) -> WholeDocument:
    """Return a document without its cover, itself where it has none."""
    found = _uncovered(document.data)
    if found is None:
        return document
    data, numbers, first = found
    who = document.identity
    if first is not None:
        rank = who.rank if first.rank is None else first.rank
        who = replace(who, rank=rank, host=first.host or who.host)
    return WholeDocument(document.name, who, data, numbers)


def _uncovered(data: bytes) -> tuple[bytes, Sequence[int] | None, Line | None] | None:
    """Return the text behind the cover, the original line of each, and the first line with a prefix."""
    clean = unwrap(data)
    lines = [line.decode("utf-8", "replace").rstrip() for line in clean.data.split(b"\n")]
    begun = [_peeled(line) for line in [line for line in lines if line][:LOOKED_AT]]
    if not begun or any(line.text == line.raw for line in begun):
        return None if clean.data == data else (clean.data, clean.lines, None)
    bare = "\n".join(_peeled(line).text for line in lines)
    return bare.encode(), clean.lines, begun[0]


def _peeled(line: str) -> Line:
    return peel(line, "", 1, NOBODY)
