"""Records that span lines, read from one piece of a source and the beginning of the next."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter

from diagnose.ingest.envelope import peel
from diagnose.ingest.pieces import Piece
from diagnose.ingest.sniff import Identity
from diagnose.model.event import Line
from diagnose.parsers.base import BlockParser
from diagnose.parsers.collect import Collector

FAR = 64
"""Lines of other writers after which those of one writer are looked up."""

LONGEST = 8 << 10
"""Bytes of a line of a record that are read."""

Places = dict[str, set[int]]
"""By parser, where lines begin in the clean bytes."""

Writer = tuple[int | None, int | None, str | None, int | None]


@dataclass(slots=True)
class Taken:
    """Lines of a source, or of a chunk of it, that belong to records; these open no other.

    Args:
        lines: Their places, counted from the start of the chunk.
        opened: Of those in its first piece, the places at which a record begins.
    """

    lines: Places = field(default_factory=dict)
    opened: Places = field(default_factory=dict)

    def add(self, parser: str, place: int) -> None:
        """Note that a line belongs to a record of a parser."""
        self.lines.setdefault(parser, set()).add(place)

    def behind(self, end: int) -> Places:
        """Return the lines from a place on, counted from there."""
        found = {
            name: {at - end for at in lines if at >= end} for name, lines in self.lines.items()
        }
        return {name: lines for name, lines in found.items() if lines}

    def forget(self, end: int) -> None:
        """Leave out the lines before a place."""
        self.lines = {name: {at for at in on if at >= end} for name, on in self.lines.items()}


class BlockReader:
    """The block parsers on one piece.

    Args:
        name: Of the source.
        identity: What its name says of rank and host.
        piece: In which the records begin.
        into: Takes what they say.
        taken: Lines that belong to records already.
    """

    def __init__(
        self, name: str, identity: Identity, piece: Piece, into: Collector, taken: Taken
    ) -> None:
        self.name = name
        self.identity = identity
        self.piece = piece
        self.into = into
        self.taken = taken

    def read(self, parser: BlockParser, start: int, end: int, line: Line) -> None:
        """Read the record that a line opens, if it does.

        Args:
            parser: Whose literal the line holds.
            start: Offset of the line.
            end: Offset of its end.
            line: What it says.
        """
        place = self.piece.base + start
        if place in self.taken.lines.get(parser.name, ()) or not parser.starts(line):
            return
        self.taken.add(parser.name, place)
        if self.piece.base == 0:
            self.taken.opened.setdefault(parser.name, set()).add(place)
        lines = self._record(parser, end, line)
        self.into.collect(lambda: parser.read(lines), parser.name)

    def _record(self, parser: BlockParser, end: int, line: Line) -> list[Line]:
        lines = [line]
        writer = _writer(line)
        # Some programs put their prefix on the first line of a record alone; bare lines right
        # behind it are its own, later ones may be anybody's.
        bare_allowed = line.text != line.raw
        for at, following in self._following(end, writer):
            bare = following.text == following.raw
            if not (bare and bare_allowed):
                bare_allowed = False
                if _writer(following) != writer:
                    continue
            if parser.ends(lines, following):
                break
            lines.append(following)
            self.taken.add(parser.name, at)
            if len(lines) >= parser.maximum:
                break
        return lines

    def _following(self, offset: int, writer: Writer) -> Iterator[tuple[int, Line]]:
        """Yield the lines of a section behind an offset; far from a writer's last, only its own."""
        after = offset + (2 if self.piece.data.startswith(b"\r\n", offset) else 1)
        section = max(offset - 1, 0)
        others = 0
        for at, line in self._lines(after, section):
            yield at, line
            others = 0 if _writer(line) == writer else others + 1
            if others >= FAR and self.identity.rank is not None:
                return  # in the log of one rank, others are its own threads, and few lines apart
            if others >= FAR:
                end = self.piece.base + self._section_end(section)
                own = self._by_writer.get(writer, [])
                first, last = (bisect_right(own, place, key=itemgetter(0)) for place in (at, end))
                yield from own[first:last]
                return

    def _lines(self, begin: int, section: int) -> Iterator[tuple[int, Line]]:
        """Yield place and text of the lines of a section of this piece, and of the next one.

        Args:
            begin: Offset of the first line.
            section: An offset in the section.
        """
        yield from self._lines_of(self.piece, begin, self.piece.section_end(section))
        upcoming = self._going_on(section)
        if upcoming is not None:
            yield from self._lines_of(upcoming, 0, upcoming.section_end(0))

    def _section_end(self, section: int) -> int:
        """Return where a section ends, counted from the start of this piece."""
        upcoming = self._going_on(section)
        behind = 0 if upcoming is None else upcoming.section_end(0)
        return self.piece.section_end(section) + behind

    def _going_on(self, section: int) -> Piece | None:
        """Return the next piece where a section of this one goes on in it."""
        if self.piece.section_end(section) < len(self.piece.data):
            return None
        upcoming = self.piece.upcoming
        same = upcoming is not None and upcoming.host(0) == self.piece.host(section)
        return upcoming if same else None

    def _lines_of(self, piece: Piece, start: int, stop: int) -> Iterator[tuple[int, Line]]:
        identity = writer_at(self.identity, piece, start)
        while start < stop:
            end = piece.data.find(b"\n", start)
            end = len(piece.data) if end < 0 else end
            raw = piece.data[start : min(end, start + LONGEST)].decode("utf-8", "replace")
            shown = raw.rstrip().rpartition("\r")[2]
            yield piece.base + start, peel(shown, self.name, piece.line_number(start), identity)
            start = end + 1

    @cached_property
    def _by_writer(self) -> dict[Writer, list[tuple[int, Line]]]:
        """All lines by writer: of thousands, each has few and the others many."""
        found: dict[Writer, list[tuple[int, Line]]] = {}
        for piece in (self.piece, self.piece.upcoming):
            start = 0
            while piece is not None and start < len(piece.data):
                stop = piece.section_end(start)
                for at, line in self._lines_of(piece, start, stop):
                    found.setdefault(_writer(line), []).append((at, line))
                start = max(stop, start + 1)
        return found


def writer_at(identity: Identity, piece: Piece, offset: int) -> Identity:
    """Return who wrote a line, as far as the name of the source and headings say."""
    host = piece.host(offset)
    return identity if host is None else replace(identity, host=host)


def _writer(line: Line) -> Writer:
    return line.rank, line.local_rank, line.host, line.pid
