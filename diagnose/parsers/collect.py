"""Keeping what the parsers say in bounded memory, with exact counts.

Of one event name and writer the first ``KEPT`` records are kept; the newest stands for all that
came after them and carries their number. Series over ``POINTS`` points are thinned by halves.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from diagnose.model.event import Event, Measurement, Points
from diagnose.parsers.base import Record

KEPT = 64
"""Records kept of one event name, source and rank."""

POINTS = 200_000
"""Points kept of one metric and writer."""


@dataclass(slots=True)
class _Kept:
    first: list[Event] = field(default_factory=list)
    newest: Event | None = None


@dataclass(slots=True)
class Collector:
    """What came out of one source.

    Args:
        file: Name of the source.
    """

    file: str
    _events: dict[tuple[str, int | None, str | None], _Kept] = field(default_factory=dict)
    _points: dict[tuple[str, int | None, str | None, int], Points] = field(default_factory=dict)
    _strides: dict[tuple[str, int | None, str | None, int], list[int]] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Keep an event or a measurement, or count it where the cap is reached."""
        if isinstance(record, Event):
            self._add_event(record)
        else:
            self._add_measurement(record)

    def note(self, what: str) -> None:
        """Count something that was cut, left out or could not be read."""
        self.notes[what] = self.notes.get(what, 0) + 1

    def events(self) -> list[Event]:
        """Return the kept events in the order of lines."""
        kept = [
            event
            for entry in self._events.values()
            for event in (*entry.first, *([entry.newest] if entry.newest else []))
        ]
        return sorted(kept, key=lambda event: (event.line, event.end_line))

    def points(self) -> list[Points]:
        """Return the series, by metric and writer."""
        return [points for _, points in sorted(self._points.items(), key=lambda item: repr(item[0]))]

    def truncated(self) -> list[dict[str, Any]]:
        """Return what was capped, cut or unreadable, and how much of it."""
        capped = [
            {"file": self.file, "what": f"{name}: kept {KEPT} and the last", "count": entry.newest.count}
            for (name, *_), entry in self._events.items()
            if entry.newest is not None and entry.newest.count > 1
        ]
        noted = [{"file": self.file, "what": what, "count": n} for what, n in self.notes.items()]
        return capped + noted

    def _add_event(self, event: Event) -> None:
        kept = self._events.setdefault((event.name, event.rank, event.host), _Kept())
        if len(kept.first) < KEPT and kept.newest is None:
            kept.first.append(event)
            return
        if kept.newest is not None:
            event.count += kept.newest.count
        kept.newest = event

    def _add_measurement(self, record: Measurement) -> None:
        line = record.line
        for metric, value in record.values.items():
            key = (metric, line.rank, line.host, line.attempt)
            points = self._points.get(key)
            if points is None:
                points = self._points[key] = Points(
                    metric=metric,
                    file=self.file,
                    rank=line.rank,
                    host=line.host,
                    attempt=line.attempt,
                )
                self._strides[key] = [1, 0]
            stride = self._strides[key]
            stride[1] += 1
            # A value that is not a number is what one looks for: never thinned away.
            if stride[1] % stride[0] and math.isfinite(value):
                continue
            points.steps.append(math.nan if record.step is None else record.step)
            points.times.append(math.nan if line.time is None else line.time)
            points.values.append(value)
            points.lines.append(line.number)
            if len(points.values) >= POINTS:
                _halve(points)
                stride[0] *= 2
                self.note(f"series {metric}: every second point left out")

    def absorb(
        self,
        events: list[Event],
        points: list[Points],
        notes: dict[str, int],
        line_offset: int,
    ) -> None:
        """Add what a later chunk of the same source gave.

        Args:
            notes: What was cut, left out or could not be read, with its number.
            events: Their lines are counted from the start of the chunk.
            points: Likewise.
            line_offset: Lines of the source before the chunk.
        """
        for what, number in notes.items():
            self.notes[what] = self.notes.get(what, 0) + number
        for event in events:
            event.line += line_offset
            event.end_line += line_offset
            self._add_event(event)
        for chunk in points:
            key = (chunk.metric, chunk.rank, chunk.host, chunk.attempt)
            whole = self._points.get(key)
            if whole is None:
                whole = self._points[key] = Points(
                    metric=chunk.metric,
                    file=self.file,
                    rank=chunk.rank,
                    host=chunk.host,
                    attempt=chunk.attempt,
                )
            whole.steps.extend(chunk.steps)
            whole.times.extend(chunk.times)
            whole.values.extend(chunk.values)
            whole.lines.extend(line + line_offset for line in chunk.lines)


def _halve(points: Points) -> None:
    for column in ("steps", "times", "values", "lines"):
        values = getattr(points, column)
        setattr(points, column, values[::2])
