"""Parts of sources become one reading."""

from collections.abc import Iterable, Iterator, Sequence

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
    found: dict[str, list[Part]] = {}
    archives: set[str] = set()
    unread: list[tuple[str, str]] = []
    for part in parts:
        name = part.summary.name
        if part.entry is not None:
            entries.append(part.entry)
        elif part.skipped is None:
            found.setdefault(name, []).append(part)
            archives.update(_archives(name))
        elif name in found:
            reading.broke_off(name, part.skipped)
            found[name].append(part)
        else:
            unread.append((name, part.skipped))
    for name, reason in unread:
        if name in archives:  # its members come in any order, so all of them must be known
            reading.broke_off(name, reason)
        else:
            reading.skipped.append({"file": name, "reason": reason})
    for of_source in found.values():
        whole = of_source[0] if len(of_source) == 1 else _together(of_source)
        reading.sources.append(whole.summary)
        reading.events.extend(events_of(whole.records))
        reading.points.extend(series_of(whole.summary.name, whole.records))
        reading.truncated.extend(missing_of(whole.summary.name, whole.records, whole.notes))
    return reading, entries


def _archives(member: str) -> Iterator[str]:
    """Yield the archives that hold a member, by its name."""
    while "!" in member:
        member = member.rpartition("!")[0]
        yield member


def _together(parts: Sequence[Part]) -> Part:
    """Return as one what an archive holds under the same name, the first of which was read."""
    whole, *others = parts
    into = Collector(whole.summary.name)
    into.absorb(whole.records, whole.notes)
    for part in others:
        if part.skipped is None:
            _append(whole.summary, into, part)
        else:
            _break_off(whole.summary)
    return Part(whole.summary, list(into.records()), into.notes)


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
