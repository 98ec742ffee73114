"""Units of work: a plain file, a chunk of a large one, a compressed file, or a whole archive."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from diagnose.errors import Unreadable
from diagnose.ingest.archive import members
from diagnose.ingest.headings import TOOLS
from diagnose.ingest.scan import Pieces
from diagnose.ingest.sniff import binary_reason, identity
from diagnose.ingest.source import Entry, Source
from diagnose.ingest.storage import fetch_ahead
from diagnose.ingest.stream import CONTAINERS, peeked
from diagnose.ingest.unwrap import encoding_of, recode
from diagnose.model.event import Clock, Event, Points
from diagnose.model.reading import SourceSummary
from diagnose.parsers.collect import Collector
from diagnose.parsers.reader import Reader
from diagnose.parsers.speakers import Speakers

CHUNK = 16 << 20
"""Bytes of a large plain file that one unit of work covers."""

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
    """

    source: Source
    start: int = 0
    stop: int | None = None

    @property
    def bytes(self) -> int:
        """How much there is to read, as it is stored."""
        return (self.stop if self.stop is not None else self.source.size) - self.start


@dataclass(slots=True)
class Part:
    """What one unit of work gave for one source."""

    summary: SourceSummary
    events: list[Event] = field(default_factory=list)
    points: list[Points] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)
    skipped: str | None = None
    entry: Entry | None = None


def units_of(source: Source) -> Iterator[Unit]:
    """Yield the units of work of a source, in the order of its bytes."""
    if source.codec is not None or source.path is None or source.size <= CHUNK:
        yield Unit(source, 0, source.size if source.codec is None else None)
        return
    try:
        with source.open() as stream:
            head = stream.read(HEAD)
            whole = encoding_of(head) is not None or binary_reason(source.name, head) is not None
            # a record or section cut in two would look like a fault of its host
            whole = whole or any(tool in head for tool in TOOLS)
    except Unreadable:
        whole = True
    if whole:
        yield Unit(source)
        return
    for start in range(0, source.size, CHUNK):
        yield Unit(source, start, min(start + CHUNK, source.size))


def batches(units: Sequence[Unit]) -> Iterator[list[int]]:
    """Yield the numbers of units that are handed over together."""
    batch: list[int] = []
    size = 0
    for number, unit in enumerate(units):
        batch.append(number)
        size += unit.bytes + 1
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
            part = _read_stream(source.name, stream, source.size, reader, unit.start, unit.stop)
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
                    yield _judged(_read_stream(member.name, stream, member.size, reader), wants)
            except Unreadable as error:
                yield Part(SourceSummary(name=member.name), skipped=str(error))
    except Unreadable as error:
        yield Part(SourceSummary(name=source.name), skipped=str(error))


def _read_stream(
    name: str, stream: BinaryIO, size: int, reader: Reader, start: int = 0, stop: int | None = None
) -> Part:
    """Read one stream; what was read before it broke is kept."""
    who = identity(name)
    part = Part(
        SourceSummary(
            name=name, rank=who.rank, local_rank=who.local_rank, host=who.host, attempt=who.attempt
        )
    )
    if start == 0:
        head, stream = peeked(stream, HEAD)
        owner = reader.owner(name, head) if stop is None or stop == size else None
        if owner is not None:
            into = Collector(name)
            part.summary.bytes = reader.read_record(owner, name, who, stream, into)
            part.events = into.events()
            return part
        part.skipped = binary_reason(name, head)
        if part.skipped is not None:
            part.entry = Entry(name, size, head[:64])
            return part
        if encoding_of(head) is not None:
            head, stream = peeked(recode(stream), HEAD)
            stop = None
    into = Collector(name)
    if start == 0 and (stop is None or stop == size):
        stream = reader.read_whole(name, who, head, stream, into)
    pieces = Pieces(stream, start, stop, divided=who.rank is None and who.local_rank is None)
    speakers = Speakers(name, who)
    edges = reader.read(name, who, speakers.listen(pieces), into)
    if pieces.broken is not None:
        if not pieces.read:
            raise Unreadable(pieces.broken)
        into.note(f"not read to its end: {pieces.broken}")
    summary = part.summary
    summary.first_time, summary.last_time = edges.first_time, edges.last_time
    # Lines of a metric file have no stamps in front; their columns do.
    summary.clock = into.clock if edges.clock is Clock.NONE else edges.clock
    summary.speakers = speakers.ranks
    part.summary.bytes, part.summary.lines = pieces.read, pieces.lines
    part.events, part.points, part.notes = into.events(), into.points(), into.notes
    return part
