"""Units of work: a plain file, a chunk of a large one, a compressed file, or a whole archive."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from diagnose.errors import Unreadable
from diagnose.ingest import pieces
from diagnose.ingest.archive import members
from diagnose.ingest.headings import Hosts
from diagnose.ingest.pieces import Pieces
from diagnose.ingest.sniff import Identity, binary_reason, identity
from diagnose.ingest.source import Entry, Source
from diagnose.ingest.storage import fetch_ahead
from diagnose.ingest.stream import CONTAINERS, peeked
from diagnose.ingest.unwrap import encoding_of, recode
from diagnose.model.event import Event, Rows
from diagnose.model.reading import SourceSummary
from diagnose.parsers.blocks import Places
from diagnose.parsers.collect import Collector
from diagnose.parsers.edges import Edges
from diagnose.parsers.reader import Reader
from diagnose.parsers.speakers import Speakers
from diagnose.scanning.chunk import Chunk

CHUNK = 16 << 20
"""Bytes of a large plain file that one unit of work covers, a multiple of a piece."""

UNPACKED = 10
"""Bytes that come out of a packed one, as logs go."""

BATCH_BYTES = 8 << 20
BATCH_UNITS = 256
"""What is handed over at once: handing over one small file costs as much as reading 100 kB."""

HEAD = 64 << 10

Wants = Callable[[str], bool]
"""Whether an archive member that is not text belongs to a folder parser."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of work.

    Args:
        source: What to read.
        start: First byte, over 0 only for chunks of plain files.
        stop: Byte at which the chunk ends; None reads the source to its end.
        begun: Lines that belong to records begun before it, counted from ``start``.
    """

    source: Source
    start: int = 0
    stop: int | None = None
    begun: Places = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """How much there is to read, as it is stored."""
        return (self.stop if self.stop is not None else self.source.size) - self.start

    @property
    def weight(self) -> int:
        """About how much there is to read once it is unpacked, in bytes."""
        return self.bytes if self.source.codec is None else UNPACKED * self.bytes

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its source."""
        return self.start == 0 and (self.stop is None or self.stop == self.source.size)


@dataclass(slots=True)
class Part:
    """What one unit of work gave for one source.

    Args:
        summary: Of the source, or of the chunk of it.
        records: What was found, in the order in which it came.
        notes: What was cut, left out or could not be read, and how often.
        chunk: What joins it to its neighbours; None for a whole source.
        skipped: Why it was not read.
        entry: What it is to a folder parser.
    """

    summary: SourceSummary
    records: list[Event | Rows] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)
    chunk: Chunk | None = None
    skipped: str | None = None
    entry: Entry | None = None

    def settle(self) -> None:
        """Make it a whole source, which has no neighbours."""
        if self.chunk is not None:
            self.chunk.state(self.summary)
            self.chunk = None


def units_of(source: Source, reader: Reader) -> Iterator[Unit]:
    """Yield the units of work of a source, in the order of its bytes.

    Args:
        source: To be read.
        reader: All parsers.
    """
    if source.codec is not None or source.path is None or source.size <= CHUNK:
        yield Unit(source, 0, source.size if source.codec is None else None)
    elif _is_one(source, reader):
        yield Unit(source)
    else:
        for start in range(0, source.size, CHUNK):
            yield Unit(source, start, min(start + CHUNK, source.size))


def _is_one(source: Source, reader: Reader) -> bool:
    """Return whether chunks of a source cannot be read without the ones before them."""
    try:
        with source.open() as stream:
            head, _ = peeked(stream, HEAD)
        binary = binary_reason(source.name, head) is not None
        if binary or encoding_of(head) is not None:
            return True
        if reader.owner(reader.look(source.name, head)) is not None:
            return True
        return _has_heading(source)
    except Unreadable:
        return True


def _has_heading(source: Source) -> bool:
    """Return whether headings count in a source: whether one stands in its first piece."""
    heading = _heading(identity(source.name))
    if heading is None:
        return False
    with source.open(stop=pieces.PIECE) as stream:
        beginning = Pieces(stream, 0, pieces.PIECE, heading)
        next(iter(beginning), None)
        return beginning.heading is not None


def _heading(who: Identity) -> Hosts | None:
    """Return the hosts above the first line of a source, None where headings do not count.

    Args:
        who: Wrote it, by its name.
    """
    return () if who.rank is None and who.local_rank is None else None


def batches(units: Sequence[Unit]) -> Iterator[list[int]]:
    """Yield the numbers of units that are handed over together."""
    batch: list[int] = []
    size = 0
    for number, unit in enumerate(units):
        batch.append(number)
        size += unit.weight + 1
        if size > BATCH_BYTES or len(batch) >= BATCH_UNITS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_batch(batch: Sequence[Unit], reader: Reader, wants: Wants) -> Iterator[list[Part]]:
    """Yield what each of some units gives that are handed over together; see ``read_unit``."""
    sources = (unit.source for unit in batch)
    fetch_ahead((one.path, one.skip + one.size) for one in sources if one.path is not None)
    for unit in batch:
        yield read_unit(unit, reader, wants)


def read_unit(unit: Unit, reader: Reader, wants: Wants) -> list[Part]:
    """Read one unit of work.

    Args:
        unit: Of work.
        reader: All parsers.
        wants: Of members of archives, only those it wants come out as entries.

    Returns:
        One part, of an archive one for each member. What cannot be read says why.
    """
    source = unit.source
    if source.codec in CONTAINERS:
        return list(_read_archive(source, reader, wants))
    try:
        with source.open(max(unit.start - 1, 0), unit.stop) as stream:
            part = _read_stream(stream, unit, reader)
    except Unreadable as error:
        part = Part(SourceSummary(name=source.name), skipped=str(error))
    return [_judged(part, wants)]


def _judged(part: Part, wants: Wants) -> Part:
    """Return a part without its entry where no folder parser wants it."""
    if part.entry is not None and not wants(part.entry.name):
        part.entry = None
    return part


def _read_archive(source: Source, reader: Reader, wants: Wants) -> Iterator[Part]:
    try:
        for member in members(source):
            try:
                with member.open() as stream:
                    unit = Unit(Source(member.name, None, member.size))
                    yield _judged(_read_stream(stream, unit, reader), wants)
            except Unreadable as error:
                yield Part(SourceSummary(name=member.name), skipped=str(error))
    except Unreadable as error:
        yield Part(SourceSummary(name=source.name), skipped=str(error))


def _read_stream(stream: BinaryIO, unit: Unit, reader: Reader) -> Part:
    """Read one stream; what was read before it broke is kept."""
    name = unit.source.name
    who = identity(name)
    part = Part(
        SourceSummary(
            name=name, rank=who.rank, local_rank=who.local_rank, host=who.host, attempt=who.attempt
        )
    )
    into = Collector(name, thins=unit.is_whole)
    stop, heading = unit.stop, None
    if unit.start == 0:
        head, stream = peeked(stream, HEAD)
        look = reader.look(name, head)
        owner = reader.owner(look)
        if owner is not None:
            part.summary.bytes = reader.read_record(owner, name, who, stream, into)
            part.records = list(into.records())
            return part
        part.skipped = binary_reason(name, head)
        if part.skipped is not None:
            part.entry = Entry(name, unit.source.size, head[:64])
            return part
        if encoding_of(head) is not None:
            head, stream = peeked(recode(stream), HEAD)
            look, stop = reader.look(name, head), None
        stream = reader.read_whole(look, who, stream, into)
        heading = _heading(who)
    text = Pieces(stream, unit.start, stop, heading)
    speakers, edges = Speakers(name, who), Edges()
    heard = edges.watch(speakers.listen(text))
    taken = reader.read(name, who, heard, into, unit.begun)
    if text.broken is not None:
        if not text.read:
            raise Unreadable(text.broken)
        into.note(f"not read to its end: {text.broken}")
    part.summary.bytes, part.summary.lines = text.read, text.line_ends
    part.records, part.notes = list(into.records()), into.notes
    part.chunk = Chunk(
        begun=unit.begun,
        beyond=taken.behind(text.size),
        opened=taken.opened,
        size=text.size,
        edges=edges,
        speakers=speakers,
        clock=into.clock,
        ends_in_line=text.ends_in_line,
    )
    if unit.is_whole:
        part.settle()
    return part
