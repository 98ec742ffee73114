"""The events of an input by name, kept up to date while more of them are worked out."""

from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence

from diagnose.model.event import Event
from diagnose.model.reading import Reading

Named = Mapping[str, Sequence[Event]]
"""Events by name, in the order of sources and lines; names without events may be missing."""


class Records:
    """What was read, and what follows from it.

    Args:
        reading: Of which no event gets another name, and to which none is added but by ``add``.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.named: dict[str, list[Event]] = {}
        self._place = {source.name: number for number, source in enumerate(reading.sources)}
        reading.events.sort(key=self._order)  # What was only looked at comes last in it.
        for event in reading.events:
            self.named.setdefault(event.name, []).append(event)

    def among(self, names: Container[str]) -> Sequence[Event]:
        """Return the events of some names, in the order of sources and lines."""
        present = {name for name in self.named if name in names}
        if len(present) > 1:
            return [event for event in self.reading.events if event.name in present]
        return self.named[present.pop()] if present else ()

    def beginning(self, *beginnings: str) -> Sequence[Event]:
        """Return the events whose names begin so, in the order of sources and lines."""
        return self.among({name for name in self.named if name.startswith(beginnings)})

    def add(self, found: Iterable[Event]) -> None:
        """Add derived events, in the order of sources and lines."""
        added = sorted(found, key=self._order)
        if not added:
            return
        self._merge(self.reading.events, added)
        by_name: dict[str, list[Event]] = {}
        for event in added:
            by_name.setdefault(event.name, []).append(event)
        for name, events in by_name.items():
            self._merge(self.named.setdefault(name, []), events)

    def _merge(self, events: list[Event], added: Sequence[Event]) -> None:
        """Put sorted events among others that are, behind those of the same line, in place."""
        known = events.copy()
        events.clear()
        begin = 0
        for event in added:
            end = bisect_right(known, self._order(event), begin, key=self._order)
            events += known[begin:end]
            events.append(event)
            begin = end
        events += known[begin:]

    def _order(self, event: Event) -> tuple[int, str, int]:
        return self._place.get(event.file, len(self._place)), event.file, event.line
