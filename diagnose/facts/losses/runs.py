"""The runs of a job as its series show them: stretches of steps that one process wrote.

A run ends where a checkpoint is loaded, another attempt begins, or the step counter goes back. A
counter that goes back every few points belongs to several writers and shows no runs.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from diagnose.facts.attempts import Attempts
from diagnose.facts.points import Point
from diagnose.model.event import Event, Points
from diagnose.model.reading import Reading

FEWEST = 5
"""Points of a run that nothing but its step numbers tells from another."""

RANKS = 8
"""Ranks whose losses are looked at closely."""

Writer = tuple[str, int | None, str | None]
"""File, rank and host."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of steps.

    Args:
        points: The series of its writer.
        begin: Place of its first point.
        end: Place behind its last point.
        above: Line behind which its records stand.
        below: Line before which they stand.
        attempt: Start of the job that it belongs to.
        load: The load it begins with, if one was printed.
    """

    points: Points
    begin: int
    end: int
    above: float
    below: float
    attempt: int
    load: Event | None

    @property
    def first(self) -> float:
        """Its first step."""
        return self.points.steps[self.begin]

    @property
    def last(self) -> float:
        """Its last step."""
        return self.points.steps[self.end - 1]

    @property
    def origin(self) -> float:
        """The step behind which its program was started: 0 unless it is known to be a resume."""
        resumed = self.load is not None or self.attempt > 0 or self.begin > 0
        return self.first if resumed else 0.0

    @property
    def interval(self) -> float:
        """Steps between two of its points, on average."""
        return (self.last - self.first) / max(1, self.end - self.begin - 1)


@dataclass(slots=True)
class Series:
    """All series of an input, by metric and writer."""

    by_writer: dict[tuple[str, Writer], Points] = field(default_factory=dict)

    @classmethod
    def of(cls, reading: Reading) -> "Series":
        """Return the series of a reading; of two with one name the longer."""
        found = cls()
        for points in reading.points:
            key = points.metric, writer(points)
            known = found.by_writer.get(key)
            if known is None or len(known.lines) < len(points.lines):
                found.by_writer[key] = points
        return found

    def beside(self, run: Run, metric: str, low: float, high: float, most: int) -> list[Point]:
        """Return a run's points of a metric.

        Args:
            run: Whose.
            metric: Name.
            low: Lowest step.
            high: Highest step.
            most: Points at the end that are wanted; negative for those at the start.
        """
        points = self.by_writer.get((metric, writer(run.points)))
        if points is None:
            return []
        begin = bisect_right(points.lines, run.above)
        end = bisect_left(points.lines, run.below)
        begin = bisect_left(points.steps, low, begin, end)
        end = bisect_right(points.steps, high, begin, end)
        begin, end = (begin, min(end, begin - most)) if most < 0 else (max(begin, end - most), end)
        columns = points.steps, points.times, points.values, points.lines
        rows = zip(*(column[begin:end] for column in columns), strict=True)
        return [Point(*row) for row in rows if math.isfinite(row[0]) and math.isfinite(row[2])]


def writer(points: Points) -> Writer:
    """Return who wrote a series, and where."""
    return points.file, points.rank, points.host


def loads_by_file(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Return the loads of checkpoints that each file shows, in order."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.name in ("ckpt.load_start", "ckpt.load_end"):
            found[event.file].append(event)
    return {file: sorted(loads, key=lambda one: one.line) for file, loads in found.items()}


def find_runs(
    series: Iterable[Points], loads: Mapping[str, Sequence[Event]], attempts: Attempts
) -> list[Run]:
    """Return the runs that series show, those of each series in order.

    Args:
        series: Of one metric.
        loads: By file.
        attempts: Of the input.
    """
    found: list[Run] = []
    for points in series:
        if points.steps:
            own = [one for one in loads.get(points.file, ()) if one.rank in (None, points.rank)]
            found += _runs(points, attempts, own)
    return found


def of_few_writers(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of the first ranks: those of one job print losses of one course."""
    ranks = sorted({run.points.rank for run in runs if run.points.rank is not None})
    few = {None, *ranks[:RANKS]}
    return [run for run in runs if run.points.rank in few]


def _runs(points: Points, attempts: Attempts, loads: Sequence[Event]) -> list[Run]:
    load_lines = [one.line for one in loads]
    marks = sorted({*load_lines, *attempts.starts.get(points.file, ())})
    marked = {bisect_left(points.lines, line) for line in marks} - {0, len(points.lines)}
    steps, backward = points.steps.tolist(), set[int]()
    if steps != sorted(steps):  # most counters never go back, which a sort tells at once
        backward = {place for place, (one, two) in enumerate(pairwise(steps), 1) if two < one}
    cuts = [0, *sorted(marked | _lasting(backward, marked, len(points.steps))), len(points.steps)]
    found = []
    for begin, end in pairwise(cuts):
        last = points.lines[begin - 1] if begin else 0
        above = _mark(marks, last, points.lines[begin]) or last
        below = math.inf
        if end < len(points.lines):
            below = _mark(marks, points.lines[end - 1], points.lines[end]) or points.lines[end]
        place = bisect_left(load_lines, points.lines[begin]) - 1
        load = loads[place] if place >= 0 and load_lines[place] > last else None
        attempt = attempts.at(points.file, points.lines[begin], points.attempt)
        found.append(Run(points, begin, end, above, below, attempt, load))
    return found


def _mark(marks: Sequence[int], above: int, below: int) -> int | None:
    """Return the first mark of a new run between two lines."""
    place = bisect_right(marks, above)
    return marks[place] if place < len(marks) and marks[place] < below else None


def _lasting(backward: Iterable[int], marked: set[int], count: int) -> set[int]:
    """Return where a counter goes back and counts on from there; none if it ever does not."""
    borders = sorted({0, *backward, *marked, count})
    short = any(two - one < FEWEST for one, two in pairwise(borders) if one not in marked)
    return set() if short else set(backward)
