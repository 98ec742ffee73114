"""Keeping what the parsers say in bounded memory, with exact counts.

Of one event name and writer the first records are kept; the newest stands for all that came after
them and carries their number. Series over ``POINTS`` points are thinned by halves.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from diagnose.model.event import Event, Measurement, Points
from diagnose.parsers.base import Record

KEPT = 64
"""Records kept of one event name, source and writer (rank, host, process, communicator, variable)."""

CROWD = 16_384
"""Records of one name and source, of whomever, from which on each writer keeps fewer."""

KEPT_IN_CROWD = 2

POINTS = 200_000
"""Points kept of one metric and writer."""


@dataclass(slots=True)
class _Kept:
    first: list[Event] = field(default_factory=list)
    newest: Event | None = None


@dataclass(slots=True)
class _Series:
    points: Points
    seen: int = 0
    stride: int = 1


Writer = tuple[int | None, str | None, int]
"""Rank, host and attempt."""


@dataclass(slots=True)
class Collector:
    """What came out of one source.

    Args:
        file: Name of the source.
    """

    file: str
    _events: dict[tuple[object, ...], _Kept] = field(default_factory=dict)
    _held: dict[str, int] = field(default_factory=dict)
    _points: dict[Writer, dict[str, _Series]] = field(default_factory=dict)
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
        found = [kept.points for metrics in self._points.values() for kept in metrics.values()]
        return sorted(found, key=lambda one: (one.metric, one.lines[0] if one.lines else 0))

    def truncated(self) -> list[dict[str, Any]]:
        """Return what was capped, cut or unreadable, and how much of it."""
        dropped: dict[str, int] = {}
        for entry in self._events.values():
            if entry.newest is not None and entry.newest.count > 1:
                name = entry.newest.name
                dropped[name] = dropped.get(name, 0) + entry.newest.count - 1
        capped = [
            {"file": self.file, "what": f"{name}: counted, not kept", "count": count}
            for name, count in dropped.items()
        ]
        noted = [{"file": self.file, "what": what, "count": n} for what, n in self.notes.items()]
        return capped + noted

    def _add_event(self, event: Event) -> None:
        subject = event.fields.get("name") or event.fields.get("comm")
        key = (event.name, event.rank, event.host, event.pid, event.communicator, subject)
        kept = self._events.get(key)
        if kept is None:
            kept = self._events[key] = _Kept()
        held = self._held.get(event.name, 0)
        room = KEPT if held < CROWD else KEPT_IN_CROWD
        if len(kept.first) < room and kept.newest is None:
            kept.first.append(event)
            self._held[event.name] = held + 1
            return
        if kept.newest is not None:
            event.count += kept.newest.count
        kept.newest = event

    def _add_measurement(self, record: Measurement) -> None:
        line = record.line
        writer = (line.rank, line.host, line.attempt)
        metrics = self._points.setdefault(writer, {})
        step = math.nan if record.step is None else record.step
        time = math.nan if line.time is None else line.time
        for metric, value in record.values.items():
            kept = metrics.get(metric)
            if kept is None:
                kept = metrics[metric] = _Series(self._new_points(metric, writer))
            kept.seen += 1
            # A value that is not a number is what one looks for: never thinned away.
            if kept.stride > 1 and kept.seen % kept.stride and math.isfinite(value):
                continue
            points = kept.points
            points.steps.append(step)
            points.times.append(time)
            points.values.append(value)
            points.lines.append(line.number)
            if len(points.values) >= POINTS:
                _halve(points)
                kept.stride *= 2
                self.note(f"series {metric}: every second point left out")

    def _new_points(self, metric: str, writer: Writer) -> Points:
        rank, host, attempt = writer
        return Points(metric=metric, file=self.file, rank=rank, host=host, attempt=attempt)

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
            writer = (chunk.rank, chunk.host, chunk.attempt)
            metrics = self._points.setdefault(writer, {})
            if chunk.metric not in metrics:
                metrics[chunk.metric] = _Series(self._new_points(chunk.metric, writer))
            whole = metrics[chunk.metric].points
            whole.steps.extend(chunk.steps)
            whole.times.extend(chunk.times)
            whole.values.extend(chunk.values)
            whole.lines.extend(line + line_offset for line in chunk.lines)


def _halve(points: Points) -> None:
    for column in ("steps", "times", "values", "lines"):
        values = getattr(points, column)
        setattr(points, column, values[::2])
