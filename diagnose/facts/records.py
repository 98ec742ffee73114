"""The events of an input by name, kept up to date while more of them are worked out."""

from collections.abc import Iterable, Mapping, Sequence

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
        for event in reading.events:
            self.named.setdefault(event.name, []).append(event)

    def add(self, found: Iterable[Event]) -> None:
        """Add derived events, in the order of sources and lines."""
        found = list(found)
        if not found:
            return
        self.reading.events.extend(found)
        self.reading.events.sort(key=self._order)
        for event in found:
            self.named.setdefault(event.name, []).append(event)
        for name in {event.name for event in found}:
            self.named[name].sort(key=self._order)

    def _order(self, event: Event) -> tuple[int, str, int]:
        return self._place.get(event.file, len(self._place)), event.file, event.line
