"""All sources through an engine, and together into one reading."""

from collections.abc import Callable, Sequence

from diagnose.ingest.source import Entry, Source
from diagnose.model.reading import Reading
from diagnose.parsers.reader import Reader
from diagnose.scanning.engine import Engine
from diagnose.scanning.local import ALL_CORES
from diagnose.scanning.merge import merged
from diagnose.scanning.units import Part, Wants, units_of

Progress = Callable[[int, int], None]
"""Told the bytes done and in all, now and then."""


def read_all(
    sources: Sequence[Source],
    reader: Reader,
    *,
    wants: Wants,
    engine: Engine = ALL_CORES,
    progress: Progress | None = None,
) -> tuple[Reading, list[Entry]]:
    """Read all sources.

    Args:
        sources: In the order of the report.
        reader: All parsers.
        wants: Whether an archive member that is not text belongs to a folder parser.
        engine: Who reads them.
        progress: How far it is.

    Returns:
        What was read, and the archive members that folder parsers want.
    """
    units = [unit for source in sources for unit in units_of(source)]
    total, done = sum(unit.bytes for unit in units), 0
    parts: list[list[Part]] = [[] for _ in units]
    for number, read in engine.read(units, reader, wants):
        parts[number] = read
        done += units[number].bytes
        if progress:
            progress(done, total)
    return merged(part for of_unit in parts for part in of_unit)
