"""One pass over raw bytes: where in a source stands a text that somebody wants to see.

A source is read in pieces of about 1 MiB that end at line ends, each piece is unwrapped to clean
bytes (colour codes, container envelopes), and Hyperscan looks for all literals at once. A place
costs Python time, a byte does not.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO

from diagnose.errors import Unreadable
from diagnose.ingest.beginnings import Beginnings
from diagnose.ingest.headings import Hosts, Sections, divide
from diagnose.ingest.unwrap import unwrap

PIECE = 1 << 20
"""Bytes read at a time, and in which a once-per-piece literal is reported once."""

SPAN = 32 << 10
"""Bytes between the places of a piece at which the number of line ends is kept."""

LITTLE = 64 << 10
"""Bytes in all up to which literals are looked for one by one; compiling them takes longer."""

FEW = 100
"""Literals up to which it is faster to look for each of them than for how they begin."""

LINE_LIMIT = 1 << 20
"""Bytes of one line that are looked at; the rest of it is dropped and counted."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A text to look for.

    Args:
        text: The bytes, case-sensitive, at least one and none of them NUL, at which Hyperscan
            would end the literal.
        once: Report only the first place in each piece.
    """

    text: bytes
    once: bool = False


@dataclass
class Matcher:
    """All literals; compiled when it pays, and once a process.

    Args:
        literals: Their positions are the numbers that ``places`` returns.
    """

    literals: tuple[Literal, ...]
    _left: int = LITTLE

    def compile(self) -> None:
        """Compile the literals now, for much text to come."""
        self._left = 0
        self.places(b"")

    def _candidates(self, data: bytes) -> Sequence[int]:
        """Return the numbers of literals that may be in a text."""
        few = len(self.literals) <= FEW
        return range(len(self.literals)) if few else self._beginnings.candidates(data)

    @cached_property
    def _beginnings(self) -> Beginnings:
        return Beginnings([literal.text for literal in self.literals])

    @cached_property
    def _database(self) -> Any:
        import hyperscan

        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[literal.text for literal in self.literals],
            ids=list(range(len(self.literals))),
            elements=len(self.literals),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH if one.once else 0 for one in self.literals],
            literal=True,
        )
        return database

    def __getstate__(self) -> dict[str, Any]:
        return {"literals": self.literals}

    def places(self, data: bytes) -> list[tuple[int, int]]:
        """Return ``(end offset, literal number)`` of every place, in order.

        Args:
            data: Any number of whole lines.
        """
        if len(data) < self._left:
            self._left -= len(data)
            return places_by_search(self.literals, data, self._candidates(data))
        self._left = 0
        found: list[tuple[int, int]] = []
        if self.literals:

            def note(number: int, start: int, end: int, flags: int, context: object) -> None:
                found.append((end, number))

            self._database.scan(data, match_event_handler=note)
            found.sort()
        return found


def places_by_search(
    literals: Sequence[Literal], block: bytes, numbers: Iterable[int] | None = None
) -> list[tuple[int, int]]:
    """Return what ``Matcher.places`` must return, found one literal at a time.

    The tests hold the fast way to this one.

    Args:
        literals: What to look for.
        block: Any number of whole lines.
        numbers: Of the literals that may be there; None for all.
    """
    found = []
    for number in range(len(literals)) if numbers is None else numbers:
        literal = literals[number]
        start = block.find(literal.text)
        while start >= 0:
            found.append((start + len(literal.text), number))
            start = -1 if literal.once else block.find(literal.text, start + 1)
    return sorted(found)


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
    """

    data: bytes
    base: int
    before: "Piece | None" = None
    lines: Sequence[int] | None = None
    original_ends: int | None = None
    cut: bool = False
    sections: Sections | None = None
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

    Args:
        stream: At the first byte of the chunk, or one byte before it where ``start`` is over 0:
            that byte tells whether a line begins with the chunk.
        start: First byte of the chunk. A line that began before it belongs to the chunk before.
        stop: The chunk ends with the line that holds the byte before this one; None reads to the
            end.
        divided: Whether headings that name hosts count; not in the log of one rank.

    After iteration ``read`` holds the number of bytes that belong to the chunk, and ``broken`` why
    they are not all there, if the stream broke off: what came before is as good as ever.
    """

    def __init__(
        self, stream: BinaryIO, start: int = 0, stop: int | None = None, divided: bool = False
    ) -> None:
        self.stream = stream
        self.divided = divided
        self.position = start
        self.stop = stop
        self.read = 0
        self.broken: str | None = None
        self._last: Piece | None = None
        self._holding: Hosts = ()

    @property
    def line_ends(self) -> int:
        """Line ends in the pieces so far."""
        return self._last.next_line() if self._last else 0

    @property
    def lines(self) -> int:
        """Lines in the pieces so far, the last one whether it has an end or not."""
        return self.line_ends + bool(self._last and not self._last.data.endswith(b"\n"))

    def __iter__(self) -> Iterator[Piece]:
        if self.position:
            self._skip_begun_line()
        carry = b""
        dropping = False
        while data := self._next_bytes():
            cut = False
            if dropping:
                end = _first_end(data)
                if end < 0:
                    continue
                data, dropping = data[end:], False
            end = data.rfind(b"\n") + 1 or data.rfind(b"\r") + 1
            if not end:
                carry += data
                if len(carry) < LINE_LIMIT:
                    continue
                carry, data, end = b"", carry[:LINE_LIMIT], LINE_LIMIT
                cut = dropping = True
            # One copy of a megabyte where slicing and adding would make two.
            whole = b"".join((carry, memoryview(data)[:end])) if carry or end < len(data) else data
            carry = b"" if dropping else data[end:]
            yield self._piece(whole, cut)
        if carry:
            yield self._piece(carry, False)

    def _next_bytes(self) -> bytes:
        """Return the next bytes; past ``stop`` only up to the end of the line begun before it."""
        if self.broken is not None or (self.stop is not None and self.position >= self.stop):
            return b""
        data = b""
        try:
            if self.stop is None:
                data = self.stream.read(PIECE)
            else:
                data = self.stream.read(min(PIECE, self.stop - self.position))
                if self.position + len(data) == self.stop and not data.endswith(b"\n"):
                    data += self.stream.readline(LINE_LIMIT)
        except Unreadable as error:
            self.broken = str(error)
        self.position += len(data)
        self.read += len(data)
        return data

    def _skip_begun_line(self) -> None:
        self.position -= 1
        while line := self.stream.readline(LINE_LIMIT):
            self.position += len(line)
            if line.endswith(b"\n"):
                break

    def _piece(self, data: bytes, cut: bool) -> Piece:
        clean = unwrap(data)
        whole, lines = clean.data, clean.lines
        sections = divide(whole, self._holding) if self.divided else None
        # what begins with a megabyte without a heading is a log, and looking costs time
        self.divided = sections is not None
        if sections is not None:
            self._holding, whole = sections.open, sections.data
            if sections.lines is not None:
                lines = sections.lines if lines is None else [lines[n] for n in sections.lines]
        base = self._last.base + len(self._last.data) if self._last else 0
        ends = None if lines is None else data.count(b"\n")
        self._last = Piece(whole, base, self._last, lines, ends, cut, sections)
        return self._last


def _first_end(data: bytes) -> int:
    """Return where a dropped line goes on being of interest: its end, or a carriage return."""
    ends = [end for end in (data.find(b"\n"), data.find(b"\r")) if end >= 0]
    return min(ends, default=-1)
