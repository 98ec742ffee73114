"""Points of a series one by one, and the events that are derived from them."""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.facts.attempts import Attempts
from diagnose.model.event import Clock, Event, Nature, Points, Value


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a series.

    Args:
        step: NaN if unknown.
        time: Stamp, NaN if unknown.
        value: In base units.
        line: Where it stands.
    """

    step: float
    time: float
    value: float
    line: int


def point_at(points: Points, place: int) -> Point:
    """Return one point of a series."""
    return Point(
        points.steps[place], points.times[place], points.values[place], points.lines[place]
    )


def points_of(points: Points) -> list[Point]:
    """Return the points of a series."""
    columns = points.steps, points.times, points.values, points.lines
    return [Point(*row) for row in zip(*columns, strict=True)]


def step_before(points: Points, line: int) -> int | None:
    """Return the last step of a series that stands above a line, None without one."""
    place = bisect_left(points.lines, line) - 1
    return whole(points.steps[place]) if place >= 0 else None


def whole(step: float) -> int | None:
    """Return a step as a whole number, None if it is unknown."""
    return int(step) if math.isfinite(step) else None


def derived_event(
    points: Points, point: Point, name: str, fields: dict[str, Value], by_file: dict[str, Clock]
) -> Event:
    """Return an event that stands at a point of a series, whose name is its field ``metric``.

    Args:
        points: The series.
        point: Where it shows.
        name: Of the event.
        fields: What it says.
        by_file: What the stamps of each file are measured against.
    """
    clock = by_file.get(points.file, Clock.NONE)
    timed = math.isfinite(point.time) and clock is not Clock.NONE
    shown = ", ".join(
        f"{key} {value:.6g}"
        for key, value in fields.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    return Event(
        name=name, nature=Nature.MEASUREMENT, file=points.file, line=point.line,
        end_line=point.line, text=f"{points.metric}: {shown}",
        fields={"metric": points.metric, **fields},
        time=point.time if timed else None, clock=clock if timed else Clock.NONE,
        rank=points.rank, host=points.host, attempt=points.attempt,
    )  # fmt: skip


def event_from(event: Event, name: str, fields: dict[str, Value]) -> Event:
    """Return an event that stands where another one does and follows from it.

    Args:
        event: The other one.
        name: Of the new event.
        fields: What it says.
    """
    return Event(
        name=name, nature=Nature.MEASUREMENT, file=event.file, line=event.line,
        end_line=event.end_line, text=event.text, fields=fields, time=event.time,
        clock=event.clock, rank=event.rank, local_rank=event.local_rank, host=event.host,
        attempt=event.attempt,
    )  # fmt: skip


def runs_of(points: Points, attempts: Attempts) -> Iterator[list[Point]]:
    """Yield the points of each attempt; a step counter that goes back begins another run."""
    known = points_of(points)
    for _, begin, end in attempts.spans(points):
        first = begin
        for place in range(begin + 1, end):
            if known[place].step < known[place - 1].step:
                yield known[first:place]
                first = place
        yield known[first:end]
