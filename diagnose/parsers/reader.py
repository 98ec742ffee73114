"""One source through all parsers.

The reader asks the scan where the literals stand that parsers wait for, cuts out the lines around
them, takes the prefixes off and hands the lines to the parsers that want them.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import BinaryIO

from diagnose.ingest.envelope import peel, records
from diagnose.ingest.literals import Matcher
from diagnose.ingest.pieces import Piece
from diagnose.ingest.repeated import Repeated, StampedPrefix
from diagnose.ingest.sniff import Identity
from diagnose.model.event import Line
from diagnose.parsers.base import (
    BlockParser,
    BulkParser,
    FileParser,
    LineParser,
    Parser,
    Pattern,
)
from diagnose.parsers.blocks import BlockReader, Places, Taken, writer_at
from diagnose.parsers.collect import Collector
from diagnose.parsers.document import (
    WHOLE_LIMIT,
    WholeDocument,
    put_back,
    uncovered,
    uncovered_head,
)
from diagnose.parsers.gate import Look, Marks
from diagnose.parsers.late import Late, LateFileParser, LateTextParser
from diagnose.parsers.routes import Route, Routes, TextParser

WINDOW = 8 << 10
"""Bytes of a line that patterns are matched against, around the literal."""

HEAD = 300
"""Bytes of a very long line in which its prefixes are."""


class Reader:
    """All parsers, ready to read sources.

    Args:
        parsers: In the order of the registry; those of folders are ignored here.
    """

    def __init__(self, parsers: Iterable[Parser | Late]) -> None:
        self.parsers = tuple(parsers)
        text_parsers: list[TextParser | LateTextParser] = []
        self.file_parsers: list[FileParser | LateFileParser] = []
        for parser in self.parsers:
            match parser:
                case LineParser() | BlockParser() | BulkParser() | LateTextParser():
                    text_parsers.append(parser)
                case FileParser() | LateFileParser():
                    self.file_parsers.append(parser)
        self.marks = Marks(one.gate for one in self.file_parsers)
        self.routes = Routes(text_parsers)
        self.matcher = Matcher(self.routes.literals)

    def read(
        self,
        name: str,
        identity: Identity,
        pieces: Iterable[Piece],
        into: Collector,
        begun: Places | None = None,
    ) -> Taken:
        """Read a source, or a chunk of it, to its end.

        Args:
            name: Of the source, for the file field of events.
            identity: What its name says of rank and host.
            pieces: The bytes.
            into: Takes the records; what could not be read is noted there.
            begun: Lines that belong to records begun before the chunk.

        Returns:
            The lines behind the last piece that belong to records of it, and the records that the
            first piece opens.
        """
        taken = Taken({parser: set(lines) for parser, lines in (begun or {}).items()})
        repeated = Repeated(name, identity)
        for piece in pieces:
            PieceReader(self, name, identity, piece, into, taken, repeated).read()
            if piece.cut:
                into.note("of lines over 1 MiB the rest was left out")
            piece.next_line()  # Settled here, so that no chain of pieces stays in memory.
            taken.forget(piece.base + len(piece.data))
        return taken

    def look(self, name: str, head: bytes) -> Look:
        """Return a source as it looks from outside.

        Args:
            name: Of the source.
            head: Its first 64 KiB.
        """
        return Look(name, head, self.marks)

    def owner(self, look: Look) -> FileParser | LateFileParser | None:
        """Return the parser that takes a file for itself, see ``FileParser.alone``."""
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
        self, look: Look, identity: Identity, stream: BinaryIO, into: Collector
    ) -> BinaryIO:
        """Give a source to the file parsers that accept it.

        Args:
            look: The source from outside; ``stream`` still gives its first bytes.
            identity: What its name says of rank and host.
            stream: The bytes.
            into: Takes the records.

        Returns:
            A stream over the same bytes, from the start, for the scan.
        """
        asked = [one for one in self.file_parsers if not one.alone]
        accepting = [one for one in asked if _accepts(one, look)]
        bare_head = uncovered_head(look.head)
        covered = []
        if bare_head is not None:
            bare_look = self.look(look.name, bare_head)
            covered = [one for one in asked if one not in accepting and _accepts(one, bare_look)]
        if not accepting and not covered:
            return stream
        data = stream.read(WHOLE_LIMIT + 1)
        if len(data) > WHOLE_LIMIT:
            into.note(f"larger than {WHOLE_LIMIT >> 20} MiB; only that much is one document")
        document = WholeDocument(look.name, identity, data[:WHOLE_LIMIT])
        for parser in accepting:
            into.collect(partial(parser.read, document), parser.name)
        bare = uncovered(document) if covered else document
        for parser in covered:
            into.collect(partial(parser.read, bare), parser.name)
        return put_back(data, stream)


class PieceReader:
    """One piece of a source through the line, block and bulk parsers."""

    def __init__(
        self,
        reader: Reader,
        name: str,
        identity: Identity,
        piece: Piece,
        into: Collector,
        taken: Taken,
        repeated: Repeated,
    ) -> None:
        self.reader = reader
        self.name = name
        self.identity = identity
        self.piece = piece
        self.into = into
        self.blocks = BlockReader(name, identity, piece, into, taken)
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
            self.into.collect(partial(parser.read, PieceBlock(self, places)), parser.name)
        for (line_start, window), (line_end, routes) in wanted.items():
            self._read_line(line_start, window, line_end, list(routes.values()))

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
                    self.blocks.read(route.parser, start, end, line)
                elif route.pattern is not None:
                    self._match(route.parser, route.pattern, line)

    def _records(self, start: int, window: int, end: int) -> Iterator[Line]:
        """Return the records of a line; of a very long line only what is around ``window``."""
        number = self.piece.line_number(start)
        identity = writer_at(self.identity, self.piece, start)
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


@dataclass(slots=True)
class PieceBlock:
    """A piece as a bulk parser sees it."""

    _piece: PieceReader
    places: list[int]

    @property
    def data(self) -> bytes:
        """The bytes of the piece."""
        return self._piece.piece.data

    @property
    def is_first(self) -> bool:
        """Whether the source begins with them."""
        return self._piece.piece.is_first

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
