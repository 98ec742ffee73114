"""What a collector kept of a source, as a reading has it: events, series, and what is missing."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from diagnose.model.event import Event, Points, Rows
from diagnose.parsers.collect import Writer

Number = TypeVar("Number", int, float)


def events_of(records: Iterable[Event | Rows]) -> list[Event]:
    """Return the events in the order of lines."""
    kept = (record for record in records if isinstance(record, Event))
    return sorted(kept, key=lambda event: (event.line, event.end_line))


def series_of(file: str, records: Iterable[Event | Rows]) -> list[Points]:
    """Return the series, by metric and writer; those of the same tables share their columns.

    Args:
        file: Name of the source.
        records: What was kept.
    """
    tables: dict[tuple[Writer, str], list[Rows]] = {}
    for rows in records:
        if isinstance(rows, Rows) and rows.lines:
            writer = rows.line.rank, rows.line.host, rows.line.attempt
            for metric in rows.values:
                tables.setdefault((writer, metric), []).append(rows)
    shared: dict[tuple[int, ...], _Columns] = {}
    whole = []
    for ((rank, host, attempt), metric), parts in tables.items():
        parts.sort(key=lambda rows: rows.lines[0])
        of_parts = tuple(map(id, parts))
        if of_parts not in shared:
            shared[of_parts] = _Columns(parts)
        columns = shared[of_parts]
        whole.append(
            Points(
                metric=metric, file=file, rank=rank, host=host, attempt=attempt,
                steps=columns.steps, times=columns.times, lines=columns.lines,
                values=columns.in_order([rows.values[metric] for rows in parts]),
            )
        )  # fmt: skip
    return sorted(whole, key=lambda one: (one.metric, one.lines[0]))


def missing_of(
    file: str, records: Iterable[Event | Rows], notes: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return what was capped, cut or unreadable, and how much of it.

    Args:
        file: Name of the source.
        records: What was kept.
        notes: What was cut, left out or could not be read, and how often.
    """
    dropped: dict[str, int] = {}
    for event in records:
        if isinstance(event, Event) and event.count > 1:
            dropped[event.name] = dropped.get(event.name, 0) + event.count - 1
    capped = [
        {"file": file, "what": f"{name}: counted, not kept", "count": count}
        for name, count in dropped.items()
    ]
    return capped + [{"file": file, "what": what, "count": n} for what, n in sorted(notes.items())]


class _Columns:
    """What the series of some tables share, in the order of lines.

    Args:
        tables: Of one writer, by their first lines.
    """

    def __init__(self, tables: Sequence[Rows]) -> None:
        lines = [line for rows in tables for line in rows.lines]
        in_order = sorted(lines) == lines
        self._order = None if in_order else sorted(range(len(lines)), key=lines.__getitem__)
        self.steps = self.in_order([rows.steps for rows in tables])
        self.times = self.in_order([rows.times for rows in tables])
        self.lines = self.in_order([rows.lines for rows in tables])

    def in_order(self, columns: "Sequence[array[Number]]") -> "array[Number]":
        """Return one column of the tables as one."""
        if self._order is None and len(columns) == 1:
            return columns[0]
        whole: array[Number] = array(columns[0].typecode)
        for column in columns:
            whole.extend(column)
        return (
            whole
            if self._order is None
            else array(whole.typecode, [whole[at] for at in self._order])
        )
