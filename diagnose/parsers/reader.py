"""One source through all parsers.

The reader asks the scan where the literals stand that parsers wait for, cuts out the lines around
them, takes the prefixes off and hands the lines to the parsers that want them.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from io import BytesIO
from operator import itemgetter
from typing import BinaryIO

from diagnose.ingest.envelope import peel, records
from diagnose.ingest.repeated import Repeated, StampedPrefix
from diagnose.ingest.scan import Matcher, Piece
from diagnose.ingest.sniff import Identity
from diagnose.model.event import Clock, Line
from diagnose.parsers.base import (
    BlockParser,
    BulkParser,
    FileParser,
    LineParser,
    Note,
    Parser,
    Pattern,
    Record,
)
from diagnose.parsers.collect import Collector
from diagnose.parsers.document import WHOLE_LIMIT, WholeDocument, uncovered, uncovered_head
from diagnose.parsers.gate import Look, Marks
from diagnose.parsers.late import Late, LateFileParser, LateTextParser
from diagnose.parsers.routes import Route, Routes, TextParser

WINDOW = 8 << 10
"""Bytes of a line that patterns are matched against, around the literal."""

HEAD = 300
"""Bytes of a very long line in which its prefixes are."""

FAR = 64
"""Lines of other writers after which those of one writer are looked up."""

EDGE_LINES = 20
"""Lines at either end of a source that are searched for a stamp."""

DATED = frozenset({Clock.UTC, Clock.LOCAL})
"""Clocks whose stamps have a year; a file may mix them with others."""

Writer = tuple[int | None, int | None, str | None, int | None]


@dataclass(slots=True)
class Edges:
    """The stamps nearest to the first and the last line of a source, and the fuller one's clock."""

    first_time: float | None = None
    last_time: float | None = None
    clock: Clock = Clock.NONE


class Reader:
    """All parsers, ready to read sources.

    Args:
        parsers: In the order of the registry; those of folders are ignored here.
    """

    def __init__(self, parsers: Iterable[Parser | Late]) -> None:
        text_parsers: list[TextParser | LateTextParser] = []
        self.file_parsers: list[FileParser | LateFileParser] = []
        for parser in parsers:
            match parser:
                case LineParser() | BlockParser() | BulkParser() | LateTextParser():
                    text_parsers.append(parser)
                case FileParser() | LateFileParser():
                    self.file_parsers.append(parser)
        self.marks = Marks(one.gate for one in self.file_parsers)
        self.routes = Routes(text_parsers)
        self.matcher = Matcher(self.routes.literals)

    def read(
        self, name: str, identity: Identity, pieces: Iterable[Piece], into: Collector
    ) -> Edges:
        """Read a source, or a chunk of it, to its end.

        Args:
            name: Of the source, for the file field of events.
            identity: What its name says of rank and host.
            pieces: The bytes.
            into: Takes the records; what could not be read is noted there.

        Returns:
            The first and last stamps.
        """
        edges = Edges()
        consumed: dict[str, set[int]] = {}
        repeated = Repeated(name, identity)
        last: Piece | None = None
        for piece, upcoming in _with_next(pieces):
            reading = PieceReader(self, name, identity, piece, upcoming, into, consumed, repeated)
            if last is None:
                edges.first_time, edges.clock = reading.stamp(reading.first_lines())
            reading.read()
            if piece.cut:
                number = piece.line_number(len(piece.data))
                into.note(f"line {number} is over 1 MiB; the rest of it was left out")
            piece.next_line()  # Settled here, so that no chain of pieces stays in memory.
            consumed = reading.still_open(consumed)
            last = piece
        if last is not None:
            reading = PieceReader(self, name, identity, last, None, into, consumed, repeated)
            time, clock = reading.stamp(reading.last_lines())
            edges.last_time = time
            if clock in DATED or (edges.clock not in DATED and clock is not Clock.NONE):
                edges.clock = clock
        return edges

    def owner(self, name: str, head: bytes) -> FileParser | LateFileParser | None:
        """Return the parser that takes a file for itself, see ``FileParser.alone``.

        Args:
            name: Of the source.
            head: Its first bytes.
        """
        look = Look(name, head, self.marks)
        return next((one for one in self.file_parsers if one.alone and _accepts(one, look)), None)

    def read_record(
        self,
        owner: FileParser | LateFileParser,
        name: str,
        identity: Identity,
        stream: BinaryIO,
        into: Collector,
    ) -> int:
        """Give a file to the parser that takes it for itself, and return its size in bytes.

        Args:
            owner: The parser.
            name: Of the source.
            identity: What its name says of rank and host.
            stream: The bytes.
            into: Takes the records.

        Raises:
            Unreadable: The parser refuses it.
        """
        data = stream.read(WHOLE_LIMIT + 1)
        for record in owner.read(WholeDocument(name, identity, data)):
            into.add(record)
        return len(data)

    def read_whole(
        self, name: str, identity: Identity, head: bytes, stream: BinaryIO, into: Collector
    ) -> BinaryIO:
        """Give a source to the file parsers that accept it.

        Args:
            name: Of the source.
            identity: What its name says of rank and host.
            head: Its first bytes, which ``stream`` still gives.
            stream: The bytes.
            into: Takes the records.

        Returns:
            A stream over the same bytes, from the start, for the scan.
        """
        asked = [one for one in self.file_parsers if not one.alone]
        look = Look(name, head, self.marks)
        accepting = [one for one in asked if _accepts(one, look)]
        bare_head = uncovered_head(head)
        behind = []
        if bare_head is not None:
            look = Look(name, bare_head, self.marks)
            behind = [one for one in asked if one not in accepting and _accepts(one, look)]
        if not accepting and not behind:
            return stream
        data = stream.read(WHOLE_LIMIT)
        if stream.read(1):
            into.note(f"larger than {WHOLE_LIMIT >> 20} MiB; only that much was read")
        document = WholeDocument(name, identity, data)
        for parser in accepting:
            _collect(partial(parser.read, document), into, parser.name)
        bare = uncovered(document) if behind else document
        for parser in behind:
            _collect(partial(parser.read, bare), into, parser.name)
        return BytesIO(data)


class PieceReader:
    """One piece of a source through the line, block and bulk parsers."""

    def __init__(
        self,
        reader: Reader,
        name: str,
        identity: Identity,
        piece: Piece,
        upcoming: Piece | None,
        into: Collector,
        consumed: dict[str, set[int]],
        repeated: Repeated,
    ) -> None:
        self.reader = reader
        self.name = name
        self.identity = identity
        self.piece = piece
        self.upcoming = upcoming
        self.into = into
        self.consumed = consumed
        self.repeated = repeated

    @cached_property
    def _has_returns(self) -> bool:
        return b"\r" in self.piece.data

    def read(self) -> None:
        """Find the places and hand them to their parsers."""
        wanted: dict[tuple[int, int], tuple[int, dict[int, Route]]] = {}
        bulk: dict[str, tuple[BulkParser, list[int]]] = {}
        line_end = -1
        for place, number in self.reader.matcher.places(self.piece.data):
            if place > line_end:
                line_start, line_end = self._bounds(place)
            # A line that fits one window is read once, a longer one around each literal.
            fits = line_end - line_start <= WINDOW
            key = (line_start, line_start if fits else place // (WINDOW // 2) * (WINDOW // 2))
            for route in self.reader.routes[number]:
                if isinstance(route.parser, BulkParser):
                    bulk.setdefault(route.parser.name, (route.parser, []))[1].append(place)
                else:
                    wanted.setdefault(key, (line_end, {}))[1][id(route)] = route
        for parser, places in bulk.values():
            _collect(parser.read(PieceBlock(self, places)), self.into, parser.name)
        for (line_start, window), (line_end, routes) in wanted.items():
            self._read_line(line_start, window, line_end, list(routes.values()))

    def _writer_at(self, piece: Piece, offset: int) -> Identity:
        """Return who wrote a line, as far as the name of the source and headings say."""
        host = piece.host(offset)
        return self.identity if host is None else replace(self.identity, host=host)

    def still_open(self, consumed: dict[str, set[int]]) -> dict[str, set[int]]:
        """Return the lines beyond this piece that belong to records opened in it."""
        end = self.piece.base + len(self.piece.data)
        return {name: {at for at in lines if at >= end} for name, lines in consumed.items()}

    def line_at(self, offset: int) -> Line:
        """Return the line around an offset of the piece at which a record begins."""
        start, end = self._bounds(offset)
        raw = self.piece.data[start:end].decode("utf-8", "replace").rstrip()
        begin = offset - start
        if not raw.isascii():
            begin = len(self.piece.data[start:offset].decode("utf-8", "replace"))
        return self.repeated.peel(raw, self.piece.line_number(start), begin)

    def prefix_at(self, offset: int) -> StampedPrefix | None:
        """Return what stands before the record at an offset, None where it has no such stamp."""
        start, end = self._bounds(offset)
        raw, begin = self.piece.data[start:end], offset - start
        return self.repeated.prefix(raw.decode(), begin) if raw.isascii() else None

    def first_lines(self) -> list[str]:
        """Return the first lines of the piece."""
        return _texts(self.piece.data[: EDGE_LINES * 400])

    def last_lines(self) -> list[str]:
        """Return the last lines of the piece, the last first."""
        return _texts(self.piece.data[-EDGE_LINES * 400 :])[::-1]

    def stamp(self, texts: list[str]) -> tuple[float | None, Clock]:
        """Return the first stamp in some lines."""
        for text in texts[:EDGE_LINES]:
            line = peel(text, self.name, 0, self.identity)
            if line.time is not None:
                return line.time, line.clock
        return None, Clock.NONE

    def _bounds(self, place: int) -> tuple[int, int]:
        data = self.piece.data
        start = data.rfind(b"\n", 0, place) + 1
        end = data.find(b"\n", place)
        end = len(data) if end < 0 else end
        if self._has_returns:
            start = max(start, data.rfind(b"\r", start, place) + 1)
            turn = data.find(b"\r", place, end)
            end = turn if turn >= 0 else end
        return start, end

    def _read_line(self, start: int, window: int, end: int, routes: list[Route]) -> None:
        for line in self._records(start, window, end):
            for route in routes:
                if isinstance(route.parser, BlockParser):
                    self._read_block(route.parser, start, end, line)
                elif route.pattern is not None:
                    self._match(route.parser, route.pattern, line)

    def _records(self, start: int, window: int, end: int) -> Iterator[Line]:
        """Return the records of a line; of a very long line only what is around ``window``."""
        number = self.piece.line_number(start)
        identity = self._writer_at(self.piece, start)
        if end - start <= WINDOW:
            raw = self.piece.data[start:end].decode("utf-8", "replace").rstrip()
            for text in records(raw):
                yield peel(text, self.name, number, identity)
            return
        self.into.note("lines over 8 KiB were read only around what was looked for")
        begin = max(start, window - WINDOW // 2)
        text = self.piece.data[begin : min(end, window + WINDOW)].decode("utf-8", "replace")
        head = self.piece.data[start : start + HEAD].decode("utf-8", "replace")
        yield replace(peel(head, self.name, number, identity), raw=text, text=text)

    def _match(self, parser: LineParser | BulkParser, pattern: Pattern, line: Line) -> None:
        try:
            event = pattern.match(line)
        except TimeoutError:
            self.into.note(f"pattern of {pattern.event} took too long")
            return
        except ValueError:
            self.into.note(f"{pattern.event}: a value could not be read")
            return
        if event is not None and isinstance(parser, LineParser) and parser.refine is not None:
            event = parser.refine(event, line)
        if event is not None:
            self.into.add(event)

    def _read_block(self, parser: BlockParser, start: int, end: int, line: Line) -> None:
        consumed = self.consumed.setdefault(parser.name, set())
        if self.piece.base + start in consumed or not parser.starts(line):
            return
        lines = [line]
        consumed.add(self.piece.base + start)
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
            consumed.add(at)
            if len(lines) >= parser.maximum:
                break
        _collect(lambda: parser.read(lines), self.into, parser.name)

    def _following(self, offset: int, writer: Writer) -> Iterator[tuple[int, Line]]:
        """Yield the lines of a section behind an offset; far from a writer's last, only its own."""
        after = offset + (2 if self.piece.data.startswith(b"\r\n", offset) else 1)
        stop, upcoming_stop = self._section_behind(offset)
        others = 0
        for at, line in self._lines(after, stop, upcoming_stop):
            yield at, line
            others = 0 if _writer(line) == writer else others + 1
            if others >= FAR:
                end = self.piece.base + stop + upcoming_stop
                own = self._by_writer.get(writer, [])
                first, last = (bisect_right(own, place, key=itemgetter(0)) for place in (at, end))
                yield from own[first:last]
                return

    def _section_behind(self, offset: int) -> tuple[int, int]:
        """Return where the section around an offset ends, in this piece and in the next one."""
        begun = max(offset - 1, 0)
        stop, upcoming = self.piece.section_end(begun), self.upcoming
        if upcoming is None or stop < len(self.piece.data):
            return stop, 0
        goes_on = upcoming.host(0) == self.piece.host(begun)
        return stop, upcoming.section_end(0) if goes_on else 0

    def _lines(self, begin: int, stop: int, upcoming_stop: int) -> Iterator[tuple[int, Line]]:
        """Yield place and text of the lines of a section of this piece, and of the next one."""
        for piece, start, end in ((self.piece, begin, stop), (self.upcoming, 0, upcoming_stop)):
            if piece is not None and start < end:
                yield from self._lines_of(piece, start, end)

    def _lines_of(self, piece: Piece, start: int, stop: int) -> Iterator[tuple[int, Line]]:
        identity = self._writer_at(piece, start)
        while start < stop:
            end = piece.data.find(b"\n", start)
            end = len(piece.data) if end < 0 else end
            raw = piece.data[start : min(end, start + WINDOW)].decode("utf-8", "replace")
            shown = raw.rstrip().rpartition("\r")[2]
            yield (
                piece.base + start,
                peel(shown, self.name, piece.line_number(start), identity),
            )
            start = end + 1

    @cached_property
    def _by_writer(self) -> dict[Writer, list[tuple[int, Line]]]:
        """All lines by writer: of thousands, each has few and the others many."""
        found: dict[Writer, list[tuple[int, Line]]] = {}
        for piece in (self.piece, self.upcoming):
            start = 0
            while piece is not None and start < len(piece.data):
                stop = piece.section_end(start)
                for at, line in self._lines_of(piece, start, stop):
                    found.setdefault(_writer(line), []).append((at, line))
                start = max(stop, start + 1)
        return found


@dataclass(slots=True)
class PieceBlock:
    """A piece as a bulk parser sees it."""

    _piece: PieceReader
    places: list[int]

    @property
    def data(self) -> bytes:
        """The bytes of the piece."""
        return self._piece.piece.data

    def line_at(self, offset: int) -> Line:
        """Return the line around a byte offset of ``data``."""
        return self._piece.line_at(offset)

    def line_numbers(self, offsets: Sequence[int]) -> "array[int]":
        """Return the numbers of the lines around byte offsets of ``data``, in rising order."""
        return self._piece.piece.line_numbers(offsets)

    def prefix_at(self, offset: int) -> StampedPrefix | None:
        """Return what stands before the record at a byte offset of ``data``."""
        return self._piece.prefix_at(offset)


def _accepts(parser: FileParser | LateFileParser, look: Look) -> bool:
    return parser.gate.admits(look) and parser.accepts(look.name, look.head)


def _with_next(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Piece | None]]:
    iterator = iter(pieces)
    piece = next(iterator, None)
    while piece is not None:
        upcoming = next(iterator, None)
        yield piece, upcoming
        piece = upcoming


def _texts(data: bytes) -> list[str]:
    return [line.decode("utf-8", "replace") for line in data.replace(b"\r", b"\n").split(b"\n")]


def _writer(line: Line) -> Writer:
    return line.rank, line.local_rank, line.host, line.pid


def _collect(
    records: Iterable[Record] | Callable[[], Iterable[Record]], into: Collector, parser: str
) -> None:
    try:
        for record in records() if callable(records) else records:
            into.add(record)
    except Note as note:
        into.note(f"{parser}: {note}")
    except (ValueError, KeyError, IndexError, TypeError) as error:
        # A record cut off in an unforeseen place must not cost the run.
        into.note(f"{parser}: a record could not be read ({type(error).__name__})")
