"""Scans: what the files of one place gave, before any facts; several of them become one reading.

A scan is made where the logs lie, is saved in a part (``partial_file``) and read again where all
come together. It stands for the folder that its part is named after: with others beside it, its
files have that name in front, ``node-07/rank3.log``; alone it needs none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from diagnose.ingest.source import Entry
from diagnose.model.event import Event
from diagnose.model.reading import Reading
from diagnose.version import VERSION

NAMED = 5
"""Rules that a note names; it counts all."""

Record = TypeVar("Record")


@dataclass(slots=True, kw_only=True)
class Scan:
    """What one scan found.

    Args:
        name: As it is called in notes about it.
        prefix: What its names have in front that its part does not store, ``node-07/``.
        program: Version of the program that made it.
        texts: What was looked for because rules select lines by text: a digest by event.
        reading: What its sources gave, in their order.
        passed_over: What discovery left out, as in ``Reading.skipped``.
        beside: What the parsers of folders said of files that lie together.
        entries: Members of archives that the parsers of folders want.
        nothing: No file had anything in it.
    """

    name: str = ""
    prefix: str = ""
    program: str = VERSION
    texts: Mapping[str, str] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)
    passed_over: list[dict[str, str]] = field(default_factory=list)
    beside: list[Event] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    nothing: bool = True


@dataclass(slots=True, kw_only=True)
class Saved:
    """What was put into a part.

    Args:
        files: Whose contents, names or headers were read.
        bytes: Of them, unpacked.
        events: Found.
        series: Found.
        skipped: ``{"file", "reason"}`` of what could not be read.
        nothing: No file had anything in it.
        size: Bytes of the part.
    """

    files: int = 0
    bytes: int = 0
    events: int = 0
    series: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list)
    nothing: bool = True
    size: int = 0

    def add(self, scan: Scan) -> None:
        """Count a scan."""
        reading = scan.reading
        self.files += len(reading.sources) + reading.looked_at
        self.bytes += sum(source.bytes for source in reading.sources)
        self.events += len(reading.events) + len(scan.beside)
        self.series += len(reading.points)
        self.skipped += scan.passed_over + reading.skipped
        self.nothing = self.nothing and scan.nothing


def together(scans: Sequence[Scan]) -> Reading:
    """Return what scans hold together, in the order it has where one scan reads all the files."""
    readings = [scan.reading for scan in scans]
    reading = readings[0] if len(readings) == 1 else _in_order(readings)
    passed_over = chain.from_iterable(scan.passed_over for scan in scans)
    reading.skipped[:0] = sorted(passed_over, key=itemgetter("file"))
    reading.events.extend(chain.from_iterable(scan.beside for scan in scans))
    return reading


def _in_order(readings: Sequence[Reading]) -> Reading:
    sources = [*merge(*(one.sources for one in readings), key=lambda source: _place(source.name))]
    names = [source.name for source in sources]
    known = set(names)
    truncated = [*chain.from_iterable(one.truncated for one in readings)]
    # Notes about whole archives and parts come before those about their members.
    notes = [note for note in truncated if note["file"] not in known]
    notes.sort(key=lambda note: _place(note["file"]))
    of_sources = (note for note in truncated if note["file"] in known)
    events = chain.from_iterable(one.events for one in readings)
    points = chain.from_iterable(one.points for one in readings)
    skipped = merge(*(one.skipped for one in readings), key=lambda skip: _place(skip["file"]))
    return Reading(
        sources=sources,
        looked_at=sum(one.looked_at for one in readings),
        events=_by_source(names, events, attrgetter("file")),
        points=_by_source(names, points, attrgetter("file")),
        skipped=[*skipped],
        truncated=[*notes, *_by_source(names, of_sources, itemgetter("file"))],
        partial=next((one.partial for one in readings if one.partial is not None), None),
    )


def _place(name: str) -> str:
    """Return what sources are ordered by; members of an archive stay as they lie in it."""
    return name.partition("!")[0]


def _by_source(
    names: Iterable[str], records: Iterable[Record], file: Callable[[Record], str]
) -> list[Record]:
    """Return records in the order of their sources, those of one source as they were."""
    found: dict[str, list[Record]] = {name: [] for name in names}
    for name, group in groupby(records, key=file):
        found.setdefault(name, []).extend(group)
    return [*chain.from_iterable(found.values())]


def settle(scans: Sequence[Scan], texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return notes on what could not be asked of scans, and drop what nobody asks for now.

    Args:
        scans: Made at other times and places, maybe with other rules.
        texts: What the rules of this run look for, as in ``Scan.texts``.
    """
    programs: dict[str, list[Scan]] = {}
    unasked: dict[tuple[str, ...], list[Scan]] = {}
    for scan in scans:
        if scan.nothing:
            continue
        stale = {event for event, digest in scan.texts.items() if texts.get(event) != digest}
        if stale:
            events = scan.reading.events
            scan.reading.events = [event for event in events if event.name not in stale]
        missing = {event for event, digest in texts.items() if scan.texts.get(event) != digest}
        if missing:
            rules = sorted({event.split(":")[1] for event in missing})
            unasked.setdefault(tuple(rules), []).append(scan)
        if scan.program != VERSION:
            programs.setdefault(scan.program, []).append(scan)
    return [
        *(_note(f"scanned by diagnose {program}, and this is {VERSION}: what only one of them "
                "recognises may be missing; scan again to be sure", of)
          for program, of in programs.items()),
        *(_note(f"scanned without the texts of {_listed(rules)}: they could not be asked; "
                "scan again with the same --rules", of)
          for rules, of in unasked.items()),
    ]  # fmt: skip


def _note(what: str, scans: Sequence[Scan]) -> dict[str, Any]:
    more = f" ({len(scans)} parts)" if len(scans) > 1 else ""
    return {"file": scans[0].name, "what": what + more, "count": len(scans)}


def _listed(rules: Sequence[str]) -> str:
    more = len(rules) - NAMED
    words = ", ".join(rules[:NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"the rule {words}" if len(rules) == 1 else f"the rules {words}"
