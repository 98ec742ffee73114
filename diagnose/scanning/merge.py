"""Parts of sources become one reading."""

from collections.abc import Iterable, Sequence

from diagnose.ingest.source import Entry
from diagnose.model.reading import Reading, SourceSummary
from diagnose.parsers.collect import Collector
from diagnose.scanning.units import Part


def merged(parts: Iterable[Part]) -> tuple[Reading, list[Entry]]:
    """Return what parts say together, and the archive members that folder parsers want.

    Args:
        parts: In the order of sources.
    """
    reading = Reading()
    entries: list[Entry] = []
    found: dict[str, list[Part]] = {}
    for part in parts:
        name = part.summary.name
        if part.entry is not None:
            entries.append(part.entry)
        elif part.skipped is None:
            found.setdefault(name, []).append(part)
        elif name in found or any(known.startswith(f"{name}!") for known in found):
            reading.broke_off(name, part.skipped)
            if name in found:
                found[name].append(part)
        else:
            reading.skipped.append({"file": name, "reason": part.skipped})
    for name in list(found):
        _add(reading, found.pop(name))  # a collector is as large as its records: one at a time
    return reading, entries


def _add(reading: Reading, parts: Sequence[Part]) -> None:
    """Add the parts of one name, the first of which was read."""
    first, *others = parts
    into = Collector(first.summary.name)
    into.absorb(first.records, first.notes)
    for part in others:
        if part.skipped is None:
            _append(first, into, part)
        else:
            _break_off(first.summary)
    reading.sources.append(first.summary)
    reading.events.extend(into.events())
    reading.points.extend(into.points())
    reading.truncated.extend(into.truncated())


def _break_off(summary: SourceSummary) -> None:
    """Forget when a source ends: behind what was read it goes on."""
    summary.last_time = None
    summary.speakers = dict.fromkeys(summary.speakers)


def _append(first: Part, into: Collector, part: Part) -> None:
    """Add what an archive holds under a name that it had before."""
    whole = first.summary
    into.absorb(part.records, part.notes, whole.lines)
    whole.bytes += part.summary.bytes
    whole.lines += part.summary.lines
    for rank, time in part.summary.speakers.items():
        if time is not None or rank not in whole.speakers:
            whole.speakers[rank] = time
    if part.summary.last_time is not None:
        whole.last_time = part.summary.last_time
