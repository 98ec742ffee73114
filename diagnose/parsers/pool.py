"""All sources through the reader, on as many cores as there are.

A unit of work is a plain file, a chunk of a large one, a compressed file, or a whole archive. Small
inputs are read in this process, since starting workers costs more than reading them.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import BinaryIO

from diagnose.errors import Unreadable
from diagnose.ingest.archive import members
from diagnose.ingest.headings import TOOLS
from diagnose.ingest.scan import Pieces
from diagnose.ingest.sniff import binary_reason, identity
from diagnose.ingest.source import Entry, Source
from diagnose.ingest.stream import CONTAINERS, peeked
from diagnose.ingest.unwrap import encoding_of, recode
from diagnose.model.event import Clock, Event, Points
from diagnose.model.reading import Reading, SourceSummary
from diagnose.parsers.collect import Collector
from diagnose.parsers.reader import Reader
from diagnose.parsers.speakers import Speakers

CHUNK = 16 << 20
"""Bytes of a large plain file that one unit of work covers."""

WORTH_WORKERS = 24 << 20
"""Bytes of input from which on worker processes pay."""

HEAD = 64 << 10

LARGEST_KEPT = 31 << 20
"""Bytes of the largest block whose release teaches glibc to keep such blocks; its limit is 32 MiB."""

Progress = Callable[[int, int], None]


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


@dataclass(slots=True)
class Part:
    """What one unit of work gave for one source."""

    summary: SourceSummary
    events: list[Event] = field(default_factory=list)
    points: list[Points] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)
    skipped: str | None = None
    entry: Entry | None = None


def read_all(
    sources: Sequence[Source],
    reader: Reader,
    *,
    wants: Callable[[str], bool],
    jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[Reading, list[Entry]]:
    """Read all sources.

    Args:
        sources: In the order of the report.
        reader: All parsers.
        wants: Whether an archive member that is not text belongs to a folder parser.
        jobs: Worker processes; None takes the cores this process may use.
        progress: Told the bytes done and in all, now and then.

    Returns:
        What was read, and the archive members that folder parsers want.
    """
    units = [unit for source in sources for unit in _units(source)]
    total = sum(source.size for source in sources)
    parts = _run(units, reader, wants, jobs or _cores(), total, progress)
    return _merge(part for unit_parts in parts for part in unit_parts)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _units(source: Source) -> Iterator[Unit]:
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


def _run(
    units: list[Unit],
    reader: Reader,
    wants: Callable[[str], bool],
    jobs: int,
    total: int,
    progress: Progress | None,
) -> list[list[Part]]:
    _STATE.reader, _STATE.wants = reader, wants
    done = 0
    results: list[list[Part]] = [[] for _ in units]
    if jobs == 1 or len(units) == 1 or total < WORTH_WORKERS or not hasattr(os, "fork"):
        for number, unit in enumerate(units):
            results[number] = _read_unit(unit)
            done += _weight(unit)
            if progress:
                progress(min(done, total), total)
        return results
    batches = list(_batches(units))
    for batch, read in _in_workers(batches, units, min(jobs, len(batches))):
        for number, parts in zip(batch, read, strict=True):
            results[number] = parts
            done += _weight(units[number])
        if progress:
            progress(min(done, total), total)
    return results


def _in_workers(
    batches: list[list[int]], units: list[Unit], jobs: int
) -> Iterator[tuple[list[int], list[list[Part]]]]:
    """Yield each batch with what worker processes read, as they finish."""
    # Imported here: a snippet is read without them, and they cost as much as reading it.
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    # Forked workers have the reader as it is: rules cannot be sent through a pipe, and its
    # literals, once compiled here, need not be compiled again.
    _STATE.reader.matcher.places(b"")
    with ProcessPoolExecutor(jobs, get_context("fork"), initializer=_start_worker) as pool:
        futures = {pool.submit(_read_batch, [units[n] for n in batch]): batch for batch in batches}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _batches(units: list[Unit]) -> Iterator[list[int]]:
    """Group small units, since handing one over costs as much as reading 100 kB."""
    batch: list[int] = []
    weight = 0
    for number, unit in enumerate(units):
        batch.append(number)
        weight += _weight(unit) + 1
        if weight > 8 << 20 or len(batch) >= 256:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _weight(unit: Unit) -> int:
    return (unit.stop if unit.stop is not None else unit.source.size) - unit.start


class _State:
    """What a worker process keeps between units."""

    reader: Reader
    wants: Callable[[str], bool]


_STATE = _State()


def _start_worker() -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    # The C library gives freed megabytes back to the kernel until it has seen a larger block come
    # and go (mallopt(3), M_MMAP_THRESHOLD); getting them anew for each piece is a tenth of the time.
    bytes(LARGEST_KEPT)


def _end_with_parent() -> None:
    """End this worker when its parent is gone, however that ended."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _read_batch(units: list[Unit]) -> list[list[Part]]:
    return [_read_unit(unit) for unit in units]


def _read_unit(unit: Unit) -> list[Part]:
    source = unit.source
    if source.codec in CONTAINERS:
        return list(_read_archive(source))
    try:
        with source.open(max(unit.start - 1, 0)) as stream:
            return [_read_stream(source.name, stream, source.size, unit.start, unit.stop)]
    except Unreadable as error:
        return [Part(SourceSummary(name=source.name), skipped=str(error))]


def _read_archive(source: Source) -> Iterator[Part]:
    try:
        for member in members(source):
            try:
                with member.open() as stream:
                    yield _read_stream(member.name, stream, member.size)
            except Unreadable as error:
                yield Part(SourceSummary(name=member.name), skipped=str(error))
    except Unreadable as error:
        yield Part(SourceSummary(name=source.name), skipped=str(error))


def _read_stream(
    name: str, stream: BinaryIO, size: int, start: int = 0, stop: int | None = None
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
        owner = _STATE.reader.owner(name, head) if stop is None or stop == size else None
        if owner is not None:
            into = Collector(name)
            part.summary.bytes = _STATE.reader.read_record(owner, name, who, stream, into)
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
        stream = _STATE.reader.read_whole(name, who, head, stream, into)
    pieces = Pieces(stream, start, stop, divided=who.rank is None and who.local_rank is None)
    speakers = Speakers(name, who)
    edges = _STATE.reader.read(name, who, speakers.listen(pieces), into)
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


def _merge(parts: Iterable[Part]) -> tuple[Reading, list[Entry]]:
    """Join the parts; chunks of one source follow each other."""
    reading = Reading()
    entries: list[Entry] = []
    merged: dict[str, tuple[Part, Collector]] = {}
    for part in parts:
        if part.skipped is not None:
            if part.entry is not None and _STATE.wants(part.entry.name):
                entries.append(part.entry)
            elif any(name.startswith(f"{part.summary.name}!") for name in merged):
                what = f"not read to its end: {part.skipped}"
                reading.truncated.append({"file": part.summary.name, "what": what, "count": 1})
            else:
                reading.skipped.append({"file": part.summary.name, "reason": part.skipped})
            continue
        name = part.summary.name
        if name not in merged:
            merged[name] = (part, Collector(name))
        first, into = merged[name]
        offset = 0 if part is first else first.summary.lines
        into.absorb(part.events, part.points, part.notes, offset)
        if part is not first:
            first.summary.bytes += part.summary.bytes
            first.summary.lines += part.summary.lines
            for rank, time in part.summary.speakers.items():
                if time is not None or rank not in first.summary.speakers:
                    first.summary.speakers[rank] = time
            if part.summary.last_time is not None:
                first.summary.last_time = part.summary.last_time
    for part, into in merged.values():
        reading.sources.append(part.summary)
        reading.events.extend(into.events())
        reading.points.extend(into.points())
        reading.truncated.extend(into.truncated())
    return reading, entries
