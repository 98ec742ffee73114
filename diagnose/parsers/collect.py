"""Keeping what the parsers say in bounded memory, with exact counts.

Of one event name and writer the first records are kept; the newest stands for all that came after
them and carries their number. Of series over ``POINTS`` points each second, fourth, ... row stays.

What is kept depends on the records and their order alone, so that chunks of a source, added one
after the other, give what the whole source gives.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diagnose.model.event import Clock, Event, Line, Measurement, Nature, Points, Rows
from diagnose.parsers.base import Note, Record

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

STRANGE = 10_000
"""Rows of them with a value that is not finite, which are never thinned away: one looks for them."""


@dataclass(slots=True)
class _Kept:
    first: list[Event] = field(default_factory=list)
    newest: Event | None = None


@dataclass(slots=True)
class _Table:
    """The series of one writer that always come together; they share steps, times and lines.

    Args:
        series: One a metric.
        numbers: Of the rows that are kept, counted from 1 over all.
        strange: Those that stay whatever their number.
        seen: Rows so far.
        stride: Rows stay whose number is a multiple of it.
    """

    series: list[Points]
    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    strange: set[int] = field(default_factory=set)
    seen: int = 0
    stride: int = 1

    def keeps(self, values: Iterable[float]) -> bool:
        """Count a row, and return whether it is to be appended.

        Args:
            values: Of the row.
        """
        self.seen += 1
        if self.stride == 1:
            return True
        if len(self.strange) < STRANGE and not all(map(math.isfinite, values)):
            self.strange.add(self.seen)
        return not self.seen % self.stride or self.seen in self.strange

    def add(self, rows: Rows) -> None:
        """Append rows, but for those that are thinned away."""
        first, count = self.seen + 1, len(rows.lines)
        self.seen += count
        columns = list(rows.values.values())
        kept = None
        if self.stride > 1:
            strange = self._strange(columns, first)
            kept = sorted({*range(-first % self.stride, count, self.stride), *strange})
        shared = self.series[0]
        _extend(self.numbers, range(first, first + count), kept)
        for name in COLUMNS:
            _extend(getattr(shared, name), getattr(rows, name), kept)
        for one, column in zip(self.series, columns, strict=True):
            _extend(one.values, column, kept)

    def thin(self) -> None:
        """Leave out every second row."""
        if self.stride == 1:
            self._strange([one.values for one in self.series], 1)
        self.stride *= 2
        kept = [
            at
            for at, number in enumerate(self.numbers)
            if not number % self.stride or number in self.strange
        ]
        shared = self.series[0]
        self.numbers = _chosen(self.numbers, kept)
        steps, times, lines = (_chosen(getattr(shared, name), kept) for name in COLUMNS)
        for one in self.series:
            one.steps, one.times, one.lines = steps, times, lines
            one.values = _chosen(one.values, kept)

    def _strange(self, columns: "Sequence[array[float]]", first: int) -> list[int]:
        """Return the places of the rows that are never thinned away, and note their numbers.

        Args:
            columns: Values of some rows.
            first: Number of the first of them.
        """
        # A sum is finite only if its terms are.
        suspect = [column for column in columns if not math.isfinite(sum(column))]
        rows = enumerate(zip(*suspect, strict=True))
        found = [at for at, row in rows if not all(map(math.isfinite, row))]
        found = found[: STRANGE - len(self.strange)]
        self.strange.update(first + at for at in found)
        return found


def _extend(into: "array[Any]", column: Sequence[Any], kept: Sequence[int] | None) -> None:
    into.extend(column if kept is None else [column[at] for at in kept])


def _chosen(column: "array[Any]", kept: Sequence[int]) -> "array[Any]":
    return array(column.typecode, [column[at] for at in kept])


def _subject(event: Event, *, ends: bool) -> object:
    """Return what an event is about beside its writer: a name, an adapter, hosts that were tested.

    Args:
        event: To be kept.
        ends: Whether hosts that were tested are told apart.
    """
    named = event.fields.get("name") or event.fields.get("comm")
    if named is not None or event.nature is not Nature.MEASUREMENT:
        return named
    hosts = (event.fields.get(name) for name in ("hosts", "local", "remote"))
    return event.nic, *(str(name) if ends else None for name in hosts)


Writer = tuple[int | None, str | None, int]
"""Rank, host and attempt."""


@dataclass(slots=True)
class Collector:
    """What came out of one source, or of a chunk of it.

    Args:
        file: Name of the source.
        thins: Whether series are thinned; those of a chunk are when the chunks are together.
        clock: What the stamps of its measurements are measured against.
    """

    file: str
    thins: bool = True
    _events: dict[tuple[object, ...], _Kept] = field(default_factory=dict)
    _in_order: list[Event] = field(default_factory=list)
    _held: dict[str, int] = field(default_factory=dict)
    _tables: dict[tuple[Writer, tuple[str, ...]], _Table] = field(default_factory=dict)
    clock: Clock = Clock.NONE
    notes: dict[str, int] = field(default_factory=dict)

    def collect(self, read: Callable[[], Iterable[Record]], parser: str) -> None:
        """Keep what a parser reads; a record that it cannot read is noted.

        Args:
            read: Of the parser.
            parser: Its name.
        """
        try:
            for record in read():
                self.add(record)
        except Note as note:
            self.note(f"{parser}: {note}")
        except (ValueError, KeyError, IndexError, TypeError) as error:
            # A record cut off in an unforeseen place must not cost the run.
            self.note(f"{parser}: a record could not be read ({type(error).__name__})")

    def add(self, record: Record) -> None:
        """Keep an event or measurements, or count it where the cap is reached."""
        if isinstance(record, Event):
            self._add_event(record)
        elif isinstance(record, Measurement):
            self._add_measurement(record)
        else:
            self._add_rows(record)

    def note(self, what: str, count: int = 1) -> None:
        """Count something that was cut, left out or could not be read."""
        self.notes[what] = self.notes.get(what, 0) + count

    def absorb(
        self, records: Iterable[Event | Rows], notes: Mapping[str, int], line_offset: int = 0
    ) -> None:
        """Add what another collector has of a later chunk of the source.

        Args:
            records: Its ``records``; their lines are counted from the start of the chunk.
            notes: What was cut, left out or could not be read, and how often.
            line_offset: Lines of the source before the chunk.
        """
        for what, count in notes.items():
            self.note(what, count)
        for record in records:
            if line_offset:
                _move(record, line_offset)
            self.add(record)

    def records(self) -> Iterator[Event | Rows]:
        """Yield what was kept in the order in which it came: events, then tables of measurements."""
        yield from self._in_order
        yield from (kept.newest for kept in self._events.values() if kept.newest is not None)
        for ((rank, host, attempt), _), table in self._tables.items():
            first = table.series[0]
            line = Line(self.file, first.lines[0], "", "", rank=rank, host=host, attempt=attempt)
            values = {one.metric: one.values for one in table.series}
            yield Rows(line, first.steps, first.times, first.lines, values)

    def _add_event(self, event: Event) -> None:
        held = self._held.get(event.name, 0)
        key = self._key(event, in_crowd=held >= CROWD)
        kept = self._events.get(key)
        if kept is None:
            kept = self._events[key] = _Kept()
        room = KEPT if held < CROWD else KEPT_IN_CROWD
        if len(kept.first) < room and kept.newest is None:
            kept.first.append(event)
            self._in_order.append(event)
            self._held[event.name] = held + 1
            return
        if kept.newest is not None:
            event.count += kept.newest.count
        kept.newest = event

    def _key(self, event: Event, *, in_crowd: bool) -> tuple[object, ...]:
        """Return what an event is kept by; in a crowd hosts that were not tested yet are one."""
        who = event.name, event.rank, event.host, event.pid, event.communicator
        key = *who, _subject(event, ends=True)
        if in_crowd and key not in self._events:
            return *who, _subject(event, ends=False)
        return key

    def _add_measurement(self, record: Measurement) -> None:
        line, values = record.line, record.values.values()
        if self.clock is Clock.NONE:
            self.clock = line.clock
        if not values:
            return
        table = self._table(line, record.values)
        if not table.keeps(values):
            return
        table.numbers.append(table.seen)
        for one, value in zip(table.series, values, strict=True):
            one.values.append(value)
        first = table.series[0]
        first.steps.append(math.nan if record.step is None else record.step)
        first.times.append(math.nan if line.time is None else line.time)
        first.lines.append(line.number)
        self._thin(table)

    def _add_rows(self, rows: Rows) -> None:
        table = self._table(rows.line, rows.values)
        table.add(rows)
        self._thin(table)

    def _table(self, line: Line, metrics: Iterable[str]) -> _Table:
        key = (line.rank, line.host, line.attempt), tuple(metrics)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._new_table(*key)
        return table

    def _new_table(self, writer: Writer, metrics: tuple[str, ...]) -> _Table:
        rank, host, attempt = writer
        steps, times, lines = array("d"), array("d"), array("q")
        return _Table(
            [
                Points(
                    metric=metric, file=self.file, rank=rank, host=host, attempt=attempt,
                    steps=steps, times=times, lines=lines,
                )
                for metric in metrics
            ]
        )  # fmt: skip

    def _thin(self, table: _Table) -> None:
        while self.thins and len(table.numbers) >= POINTS:
            table.thin()
            for series in table.series:
                self.note(f"series {series.metric}: every second point left out")


def _move(record: Event | Rows, by: int) -> None:
    """Count the lines of a record from the start of the source."""
    if isinstance(record, Event):
        record.line += by
        record.end_line += by
    else:
        record.lines[:] = array("q", [line + by for line in record.lines])
