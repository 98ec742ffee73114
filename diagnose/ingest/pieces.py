"""A source as pieces of about 1 MiB that end at line ends, made clean: see ``unwrap``."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from diagnose.errors import Unreadable
from diagnose.ingest.headings import Hosts, Sections, divide
from diagnose.ingest.unwrap import unwrap

PIECE = 1 << 20
"""Bytes read at a time, and in which a once-per-piece literal is reported once.

Of a line with no end in so many bytes the rest is dropped and counted."""

NEAR = 16 << 10
"""Bytes of the next chunk read at a time to find where a line ends; few need more of it."""

SPAN = 32 << 10
"""Bytes between the places of a piece at which the number of line ends is kept."""


@dataclass(slots=True)
class Piece:
    """Some whole lines of a source, clean.

    Line ends are counted once and no earlier than somebody asks for a line number, since counting
    them takes about as long as the scan.

    Args:
        data: The bytes. A line too long for one piece ends at a carriage return where it has one.
        base: Clean bytes of the source before this piece.
        before: The piece before, None for the first one.
        lines: Original line of each clean line, counted from the first of the piece; None if the
            same.
        original_ends: Line ends of the original text in this piece, None if as many as in ``data``.
        cut: Whether a part of its last line was dropped.
        sections: Whose its lines are; None where no heading says so.
        pieces: Of the source.
    """

    data: bytes
    base: int
    before: "Piece | None" = None
    lines: Sequence[int] | None = None
    original_ends: int | None = None
    cut: bool = False
    sections: Sections | None = None
    pieces: "Pieces | None" = None
    _first_line: int | None = None
    _counted: tuple[int, int] = (0, 0)
    _known: list[int] = field(default_factory=list)

    @property
    def first_line(self) -> int:
        """Line ends of the original text before this piece."""
        if self._first_line is None:
            self._first_line = 0 if self.before is None else self.before.next_line()
            self.before = None
        return self._first_line

    def next_line(self) -> int:
        """Return the line ends of the original text up to the end of this piece."""
        ends = self.original_ends
        return self.first_line + (self._marks()[-1] if ends is None else ends)

    @property
    def upcoming(self) -> "Piece | None":
        """The piece behind this one, to be asked for before iteration goes on; None at the end."""
        return None if self.pieces is None else self.pieces.upcoming

    @property
    def is_first(self) -> bool:
        """Whether the source begins with it."""
        return self.base == 0 and (self.pieces is None or self.pieces.start == 0)

    def host(self, offset: int) -> str | None:
        """Return the host whose output the line at an offset is, by the headings above it."""
        return None if self.sections is None else self.sections.owners[self.sections.at(offset)]

    def section_end(self, offset: int) -> int:
        """Return where the section with the line at an offset ends."""
        starts = () if self.sections is None else self.sections.starts
        following = 0 if self.sections is None else self.sections.at(offset) + 1
        return starts[following] if following < len(starts) else len(self.data)

    def line_number(self, offset: int) -> int:
        """Return the 1-based number in the original text of the line at a byte offset."""
        ends = self._ends(offset)
        return self.first_line + (self.lines[ends] if self.lines is not None else ends) + 1

    def line_numbers(self, offsets: Sequence[int]) -> "array[int]":
        """Return ``line_number`` of many byte offsets, each behind the one before."""
        ends, at = self._ends(offsets[0]) if offsets else 0, offsets[0] if offsets else 0
        count, first = self.data.count, self.first_line + 1
        numbers = array("q")
        for offset in offsets:
            ends += count(b"\n", at, offset)
            at = offset
            numbers.append(first + (ends if self.lines is None else self.lines[ends]))
        return numbers

    def _ends(self, offset: int) -> int:
        """Return the line ends before an offset, counted from the nearest place that is known."""
        at, ends = self._counted
        if not at <= offset <= at + SPAN:
            mark = offset // SPAN
            at, ends = mark * SPAN, self._marks()[mark]
        ends += self.data.count(b"\n", at, offset)
        self._counted = (offset, ends)
        return ends

    def _marks(self) -> list[int]:
        """Return the line ends before each ``SPAN`` bytes."""
        if not self._known:
            self._known = [0]
            for start in range(0, len(self.data), SPAN):
                self._known.append(self._known[-1] + self.data.count(b"\n", start, start + SPAN))
        return self._known


class Pieces:
    """The pieces of one source or of one chunk of it.

    A piece ends with the line that goes on at a multiple of ``PIECE`` bytes behind ``start``. So a
    chunk that begins at such a place has the pieces that the whole source has there. A line with no
    end in the next ``PIECE`` bytes is cut at a carriage return, and else drops what is behind them.

    Args:
        stream: At the first byte of the chunk, or one byte before it where ``start`` is over 0:
            that byte tells whether a line begins with the chunk.
        start: First byte of the chunk. A line that began before it belongs to the chunk before.
        stop: The chunk ends with the line that holds the byte before this one; None reads to the
            end. A chunk that others follow has at least ``PIECE`` bytes.
        heading: The hosts of the heading above the first line; None where headings do not count,
            as in the log of one rank.

    After iteration ``broken`` says why bytes of the chunk are missing, if the stream broke off:
    what came before is as good as ever.
    """

    def __init__(
        self,
        stream: BinaryIO,
        start: int = 0,
        stop: int | None = None,
        heading: Hosts | None = None,
    ) -> None:
        self.stream = stream
        self.start = start
        self.stop = stop
        self.broken: str | None = None
        self.end = start
        self._begin = start
        self._first_heading = heading
        self._last: Piece | None = None
        self._made: Piece | None = None
        self._ahead: tuple[int, Piece] | None = None
        # ``_held`` was read at the place ``_from``, up to ``_at``.
        self._held: bytes | memoryview = b""
        self._from = self._at = start
        self._unread = 0
        self._in_line = False
        self._dropping = False

    @property
    def read(self) -> int:
        """Bytes of the chunk so far."""
        return self.end - self._begin

    @property
    def line_ends(self) -> int:
        """Line ends in the pieces so far."""
        return self._last.next_line() if self._last else 0

    @property
    def size(self) -> int:
        """Clean bytes in the pieces so far."""
        return self._last.base + len(self._last.data) if self._last else 0

    @property
    def ends_in_line(self) -> bool:
        """Whether the last line so far has no end."""
        return bool(self._last and not self._last.data.endswith(b"\n"))

    @property
    def heading(self) -> Hosts | None:
        """The hosts of the heading above what follows, as the argument has it."""
        return self._heading_below(self._last)

    @property
    def at_end(self) -> bool:
        """Whether nothing follows in the source."""
        return not self._held and self.upcoming is None

    @property
    def upcoming(self) -> Piece | None:
        """The piece behind the one given last, even where the next chunk begins with it."""
        if self._ahead is None:
            self._ahead = self._next()
        return self._ahead[1] if self._ahead else None

    def __iter__(self) -> Iterator[Piece]:
        if self.start:
            self._skip_begun_line()
        while True:
            ahead, self._ahead = self._ahead or self._next(self.stop), None
            if ahead is None or (self.stop is not None and ahead[0] >= self.stop):
                self._let_go(self._made)
                return
            self._last = ahead[1]
            yield ahead[1]
            self._let_go(ahead[1])

    def _let_go(self, piece: Piece | None) -> None:
        """Part from a piece: each would keep the other in memory until a search for cycles."""
        if piece is not None:
            piece.pieces = None

    def _next(self, stop: int | None = None) -> tuple[int, Piece] | None:
        """Return the next piece and the place where it was begun, None where none begins.

        Args:
            stop: No piece is begun at or behind this place.
        """
        while stop is None or self._from < stop:
            begun = self._from
            block, end = self._block()
            if not block:
                data, self._held = bytes(self._held), b""
                return (begun, self._piece(data)) if data else None
            if end is not None:
                # Of a line that was cut only its end counts.
                rest = memoryview(block)[end - 1 if self._dropping else 0 : end]
                data = b"".join((self._held, rest)) if end else bytes(self._held)
                self._hold(block, end)
                if data:
                    return begun, self._piece(data)
            elif self._dropping:
                self._drop(block)
            elif len(block) < PIECE:
                self._held = b"".join((self._held, block))
            else:
                data = b"".join((self._held, block))
                self._drop(block)
                return begun, self._piece(data, cut=True)
        return None

    def _skip_begun_line(self) -> None:
        """Leave out what belongs to the chunk before."""
        self._in_line = self._bytes(1) != b"\n"
        block, end = self._block()
        if end is None:
            self._drop(block)
        else:
            self._hold(block, end)
        self._begin = self.end

    def _hold(self, block: bytes, end: int) -> None:
        """Keep the lines that begin in a block for the next piece."""
        self._held = memoryview(block)[end:] if end else block
        self._from, self._dropping = self._at - len(block), False

    def _drop(self, block: bytes) -> None:
        """Leave out what follows of a line that does not end in a block."""
        self._held = b""
        self._from, self._dropping = self._at - len(block), True

    def _block(self) -> tuple[bytes, int | None]:
        """Return the bytes up to the next place where a piece may end.

        With them comes where in them the line ends that was begun before, None if it does not.
        """
        self._read_rest()
        if self.stop is None:
            block = self._bytes(PIECE)
        elif self._at < self.stop:
            block = self._bytes(min(PIECE, self.stop - self._at))
        else:
            block = self._beyond()
        end: int | None = 0
        if self._in_line:
            end = block.find(b"\n") + 1 or block.find(b"\r") + 1 or None
        if self.stop is None or self._at <= self.stop:
            self.end = self._at + (len(block) if end is None else end)
        self._at += len(block)
        if block:
            self._in_line = not block.endswith(b"\n")
        return block, end

    def _beyond(self) -> bytes:
        """Return so much of a block of the next chunk that the line begun before it ends."""
        block = part = self._bytes(min(NEAR, PIECE))
        while part and self._in_line and b"\n" not in part and len(block) < PIECE:
            part = self._bytes(min(NEAR, PIECE - len(block)))
            block += part
        self._unread = max(PIECE - len(block), 0)
        return block

    def _read_rest(self) -> None:
        """Read what is missing of a block of the next chunk."""
        if self._unread:
            rest = self._bytes(self._unread)
            self._held = b"".join((self._held, rest))
            self._at += len(rest)
            self._in_line = not rest.endswith(b"\n") if rest else self._in_line
            self._unread = 0

    def _bytes(self, size: int) -> bytes:
        if self.broken is not None:
            return b""
        try:
            return self.stream.read(size)
        except Unreadable as error:
            self.broken = str(error)
            return b""

    def _piece(self, data: bytes, cut: bool = False) -> Piece:
        clean = unwrap(data)
        whole, lines = clean.data, clean.lines
        heading = self._heading_below(self._made)
        # what begins with a megabyte without a heading is a log, and looking costs time
        sections = None if heading is None else divide(whole, heading)
        if sections is not None:
            whole = sections.data
            if sections.lines is not None:
                lines = sections.lines if lines is None else [lines[n] for n in sections.lines]
        base = self._made.base + len(self._made.data) if self._made else 0
        ends = None if lines is None else data.count(b"\n")
        self._made = Piece(whole, base, self._made, lines, ends, cut, sections, self)
        return self._made

    def _heading_below(self, piece: Piece | None) -> Hosts | None:
        if piece is None:
            return self._first_heading
        return None if piece.sections is None else piece.sections.open
