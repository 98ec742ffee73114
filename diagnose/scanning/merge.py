"""Parts of sources become one reading."""

from collections.abc import Iterable, Iterator

from diagnose.ingest.source import Entry
from diagnose.model.reading import Reading, SourceSummary
from diagnose.parsers.collect import Collector
from diagnose.parsers.kept import events_of, missing_of, series_of
from diagnose.scanning.units import Part


def merged(parts: Iterable[Part]) -> tuple[Reading, list[Entry]]:
    """Return what parts say together, and the archive members that folder parsers want.

    Args:
        parts: In the order of sources.
    """
    reading = Reading()
    entries: list[Entry] = []
    found: dict[str, Part] = {}
    again: dict[str, Collector] = {}
    archives: set[str] = set()
    for part in parts:
        name = part.summary.name
        if part.entry is not None:
            entries.append(part.entry)
        elif part.skipped is not None:
            if name in found:
                _break_off(found[name].summary)
            if name in found or name in archives:
                reading.broke_off(name, part.skipped)
            else:
                reading.skipped.append({"file": name, "reason": part.skipped})
        elif name in found:
            if name not in again:
                again[name] = Collector(name)
                again[name].absorb(found[name].records, found[name].notes)
            _append(found[name].summary, again[name], part)
        else:
            found[name] = part
            archives.update(_archives(name))
    for name, part in found.items():
        records = list(again[name].records()) if name in again else part.records
        notes = again[name].notes if name in again else part.notes
        reading.sources.append(part.summary)
        reading.events.extend(events_of(records))
        reading.points.extend(series_of(name, records))
        reading.truncated.extend(missing_of(name, records, notes))
    return reading, entries


def _archives(member: str) -> Iterator[str]:
    """Yield the archives that hold a member, by its name."""
    while "!" in member:
        member = member.rpartition("!")[0]
        yield member


def _break_off(summary: SourceSummary) -> None:
    """Forget when a source ends: behind what was read it goes on."""
    summary.last_time = None
    summary.speakers = dict.fromkeys(summary.speakers)


def _append(whole: SourceSummary, into: Collector, part: Part) -> None:
    """Add what an archive holds under a name that it had before."""
    into.absorb(part.records, part.notes, whole.lines)
    whole.bytes += part.summary.bytes
    whole.lines += part.summary.lines
    for rank, time in part.summary.speakers.items():
        if time is not None or rank not in whole.speakers:
            whole.speakers[rank] = time
    if part.summary.last_time is not None:
        whole.last_time = part.summary.last_time
