"""Keeping what the parsers say in bounded memory, with exact counts.

Of one event name and writer the first records are kept; the newest stands for all that came after
them and carries their number. Series over ``POINTS`` points are thinned by halves.
"""

import math
from array import array
from dataclasses import dataclass, field, replace
from typing import Any

from diagnose.model.event import Clock, Event, Measurement, Nature, Points, Rows
from diagnose.parsers.base import Record

KEPT = 64
"""Records kept of one event name, source and writer (rank, host, process, communicator, variable).

Readings of adapters are kept for each adapter: one that is missing there would be missing in a host;
tests of a network for each set of hosts: a table of pairs is judged as a whole."""

CROWD = 16_384
"""Records of one name and source, of whomever, from which on each writer keeps fewer."""

KEPT_IN_CROWD = 2

COLUMNS = ("steps", "times", "lines")
"""Columns that the series of a table share."""

POINTS = 400_000
"""Points kept of the metrics that a writer prints together."""


@dataclass(slots=True)
class _Kept:
    first: list[Event] = field(default_factory=list)
    newest: Event | None = None


@dataclass(slots=True)
class _Table:
    """The series of one writer that always come together; they share steps, times and lines."""

    series: list[Points]
    columns: "list[array[float]]"
    seen: int = 0
    stride: int = 1


def _subject(event: Event, *, ends: bool) -> object:
    """Return what an event is about beside its writer: a name, an adapter, hosts that were tested.

    Args:
        event: To be kept.
        ends: Whether hosts that were tested are told apart.
    """
    named = event.fields.get("name") or event.fields.get("comm")
    if named is not None or event.nature is not Nature.MEASUREMENT:
        return named
    if not ends:
        return event.nic
    return event.nic, *(str(event.fields.get(name)) for name in ("hosts", "local", "remote"))


Writer = tuple[int | None, str | None, int]
"""Rank, host and attempt."""


@dataclass(slots=True)
class Collector:
    """What came out of one source.

    Args:
        file: Name of the source.
        clock: What the stamps of its measurements are measured against.
    """

    file: str
    _events: dict[tuple[object, ...], _Kept] = field(default_factory=dict)
    _held: dict[str, int] = field(default_factory=dict)
    _tables: dict[tuple[Writer, tuple[str, ...]], _Table] = field(default_factory=dict)
    _chunks: list[Points] = field(default_factory=list)
    clock: Clock = Clock.NONE
    notes: dict[str, int] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Keep an event or a measurement, or count it where the cap is reached."""
        if isinstance(record, Event):
            self._add_event(record)
        elif isinstance(record, Measurement):
            self._add_measurement(record)
        else:
            self._add_rows(record)

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
        """Return the series, by metric and writer; those of one table share their columns."""
        found: dict[tuple[Writer, str], list[Points]] = {}
        for (writer, _), table in self._tables.items():
            for series in table.series:
                found.setdefault((writer, series.metric), []).append(series)
        for chunk in self._chunks:
            writer = chunk.rank, chunk.host, chunk.attempt
            found.setdefault((writer, chunk.metric), []).append(chunk)
        join = _Join()
        whole = [join(parts) for parts in found.values()]
        return sorted(whole, key=lambda one: (one.metric, one.lines[0] if one.lines else 0))

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
        held = self._held.get(event.name, 0)
        subject = _subject(event, ends=held < CROWD)
        key = (event.name, event.rank, event.host, event.pid, event.communicator, subject)
        kept = self._events.get(key)
        if kept is None:
            kept = self._events[key] = _Kept()
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
        if self.clock is Clock.NONE:
            self.clock = line.clock
        key = (line.rank, line.host, line.attempt), tuple(record.values)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._new_table(*key)
        table.seen += 1
        values = record.values.values()
        # A value that is not a number is what one looks for: never thinned away.
        if table.stride > 1 and table.seen % table.stride and all(map(math.isfinite, values)):
            return
        for column, value in zip(table.columns, values, strict=True):
            column.append(value)
        if not table.series:
            return
        first = table.series[0]
        first.steps.append(math.nan if record.step is None else record.step)
        first.times.append(math.nan if line.time is None else line.time)
        first.lines.append(line.number)
        if len(first.lines) >= POINTS:
            self._thin(table)

    def _add_rows(self, rows: Rows) -> None:
        line = rows.line
        key = (line.rank, line.host, line.attempt), tuple(rows.values)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._new_table(*key)
        kept = slice(-(table.seen + 1) % table.stride, None, table.stride)
        table.seen += len(rows.lines)
        first = table.series[0]
        first.steps.extend(rows.steps[kept])
        first.times.extend(rows.times[kept])
        first.lines.extend(rows.lines[kept])
        for column, values in zip(table.columns, rows.values.values(), strict=True):
            column.extend(values[kept])
        while len(first.lines) >= POINTS:
            self._thin(table)

    def _new_table(self, writer: Writer, metrics: tuple[str, ...]) -> _Table:
        rank, host, attempt = writer
        steps, times, lines = array("d"), array("d"), array("q")
        series = [
            Points(
                metric=metric, file=self.file, rank=rank, host=host, attempt=attempt,
                steps=steps, times=times, lines=lines,
            )
            for metric in metrics
        ]  # fmt: skip
        return _Table(series, [one.values for one in series])

    def _thin(self, table: _Table) -> None:
        first = table.series[0]
        steps, times, lines = first.steps[::2], first.times[::2], first.lines[::2]
        for series in table.series:
            series.steps, series.times, series.lines = steps, times, lines
            series.values = series.values[::2]
            self.note(f"series {series.metric}: every second point left out")
        table.columns = [one.values for one in table.series]
        table.stride *= 2

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
        shifted: dict[int, array[int]] = {}
        for chunk in points:
            lines = chunk.lines
            if line_offset and id(lines) not in shifted:
                shifted[id(lines)] = array("q", [line + line_offset for line in lines])
            self._chunks.append(replace(chunk, lines=shifted.get(id(lines), lines)))


class _Join:
    """Puts parts of a series behind one another; series whose parts share columns go on sharing."""

    def __init__(self) -> None:
        self._shared: dict[tuple[int, ...], tuple[Points, list[int] | None]] = {}

    def __call__(self, parts: list[Points]) -> Points:
        """Return the points of one metric and writer as one series, in the order of lines."""
        parts = sorted((part for part in parts if part.lines), key=lambda part: part.lines[0])
        key = tuple(id(part.lines) for part in parts)
        if key not in self._shared:
            self._shared[key] = _columns(parts)
        columns, order = self._shared[key]
        values = array("d")
        for part in parts:
            values.extend(part.values)
        if order is not None:
            values = array("d", [values[at] for at in order])
        return replace(columns, metric=parts[0].metric, values=values)


def _columns(parts: list[Points]) -> tuple[Points, list[int] | None]:
    """Return the columns but for the values, and the order of their rows where it changes."""
    whole = Points(
        metric=parts[0].metric, file=parts[0].file, rank=parts[0].rank, host=parts[0].host,
        attempt=parts[0].attempt,
    )  # fmt: skip
    for part in parts:
        for name in COLUMNS:
            getattr(whole, name).extend(getattr(part, name))
    if sorted(whole.lines) == whole.lines.tolist():
        return whole, None
    order = sorted(range(len(whole.lines)), key=whole.lines.__getitem__)
    for name in COLUMNS:
        column = getattr(whole, name)
        setattr(whole, name, array(column.typecode, [column[at] for at in order]))
    return whole, order
