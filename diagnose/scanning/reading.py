"""All sources through an engine, and together into one reading."""

from collections.abc import Callable, Iterator, Sequence

from diagnose.ingest.source import Entry, Source
from diagnose.ingest.stream import CONTAINERS
from diagnose.model.reading import Extent, Reading, SourceSummary
from diagnose.parsers.reader import Reader
from diagnose.scanning.engine import Engine
from diagnose.scanning.joined import Joined
from diagnose.scanning.local import ALL_CORES
from diagnose.scanning.merge import merged
from diagnose.scanning.units import Part, Unit, Wants, read_unit, units_of

INTERRUPTED = "the reading was interrupted"

Progress = Callable[[int, int], None]
"""Told the bytes done and in all, now and then."""


def read_all(
    sources: Sequence[Source],
    reader: Reader,
    *,
    wants: Wants,
    engine: Engine = ALL_CORES,
    progress: Progress | None = None,
    keep_partial: bool = False,
) -> tuple[Reading, list[Entry]]:
    """Read all sources.

    Args:
        sources: In the order of the report.
        reader: All parsers.
        wants: Whether an archive member that is not text belongs to a folder parser.
        engine: Who reads them.
        progress: How far it is.
        keep_partial: An interrupt ends the reading, and what was read until then is the answer.

    Returns:
        What was read, and the archive members that folder parsers want.

    Raises:
        KeyboardInterrupt: Nothing was read before it, or what was is not wanted.
    """
    of_sources = [list(units_of(source, reader)) for source in sources]
    units = [unit for of_source in of_sources for unit in of_source]
    total, done = sum(unit.bytes for unit in units), 0

    def again(unit: Unit) -> list[Part]:
        return read_unit(unit, reader, wants)

    whole = [Joined(of_source, again) for of_source in of_sources]
    places = [(one, number) for one in whole for number in range(len(one.units))]
    interrupted = False
    try:
        for number, read in engine.read(units, reader, wants):
            of_source, at = places[number]
            of_source.add(at, read)
            done += units[number].bytes
            if progress:
                progress(done, total)
    except KeyboardInterrupt:
        if not keep_partial or not done:
            raise
        interrupted = True
    reading, entries = merged(_parts(whole))
    if interrupted:
        reading.partial = Extent(read=done, found=total)
    return reading, entries


def _parts(whole: Sequence[Joined]) -> Iterator[Part]:
    """Yield the parts of each source up to the first unit of it that was not read.

    Members of an archive lie in the order in which a folder gave its files; they come as those of
    a folder do, in the order of names.
    """
    for of_source in whole:
        parts = of_source.parts()
        if of_source.units[0].source.codec in CONTAINERS:
            parts.sort(key=lambda part: part.summary.name)
        yield from parts
        if not of_source.complete:
            name = of_source.units[0].source.name
            yield Part(SourceSummary(name=name), skipped=INTERRUPTED)
