"""The steps of a job as stretches of one writer each, on one clock."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from operator import le, lt
from statistics import median
from typing import Any

from diagnose.facts.attempts import Attempts, step_counters
from diagnose.facts.case import Case
from diagnose.facts.goodput.job_clock import JobClock, rising
from diagnose.model.event import Event, Points

SAMPLE = 10_000
"""Points that a usual value is taken of, at most."""

STRAGGLING = 2
"""Lines by which the steps of several writers in one file may lie apart."""


Writer = tuple[str, int | None]
"""File and rank."""

Part = tuple[Points, int, int]
"""Points of a series from one place to another."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps of one writer in one attempt, rising.

    Args:
        attempt: Which start of the job.
        file: Where they stand.
        times: Seconds on the clock of the job, never falling.
        steps: Their numbers.
        lines: Their lines.
    """

    attempt: int
    file: str
    times: Sequence[float]
    steps: Sequence[float]
    lines: Sequence[int]

    @property
    def stride(self) -> float:
        """Steps from one line to the next."""
        return _stride(self.steps)

    def paces(self) -> list[float]:
        """Return the seconds of a step between lines, of some of them in a long stretch."""
        times, steps = self.times, self.steps
        return [
            (times[place] - times[place - 1]) / (steps[place] - steps[place - 1])
            for place in evenly(range(1, len(steps)))
        ]

    def behind(self, event: Event) -> float | None:
        """Return when the step behind an event of the same file was done, None without one."""
        if event.file != self.file or not self.lines[0] <= event.line <= self.lines[-1]:
            return None
        return self.times[bisect_left(self.lines, event.line)]


def stretches(case: Case, clock: JobClock) -> list[Stretch]:
    """Return the steps of the job in the order of attempts and lines.

    Empty where an attempt has no stamps, or none that can be compared with those of the others, and
    where its writers did not work at the same time: then they are parts, or other runs.
    """
    by_attempt: dict[int, dict[Writer, list[Part]]] = {}
    for points in step_counters(case.reading.points):
        for attempt, begin, end in _parts(points, case.attempts):
            writers = by_attempt.setdefault(attempt, {})
            writers.setdefault((points.file, points.rank), []).append((points, begin, end))
    found: list[Stretch] = []
    for attempt in sorted(by_attempt):
        writers = by_attempt[attempt]
        leader = min(writers, key=lambda one: (*_merit(writers[one]), one[1] or 0, one[0]))
        if not _together(writers, leader, clock):
            return []
        for points, begin, end in writers[leader]:
            times = clock.times(points, begin, end)
            if times is None:
                return []
            found += _stretches(points, attempt, begin, times)
    return found


def _merit(parts: list[Part]) -> tuple[bool, int]:
    """Return what writers are chosen by, least first: stamps, then steps."""
    stamped = any(isfinite(one) for points, begin, end in parts for one in points.times[begin:end])
    return not stamped, -sum(end - begin for _, begin, end in parts)


def _together(writers: dict[Writer, list[Part]], leader: Writer, clock: JobClock) -> bool:
    """Return whether all writers of an attempt worked while one of them did."""
    spans = {writer: clock.span(parts) for writer, parts in writers.items()}
    of_leader = spans[leader]
    if of_leader is None:
        return False
    others = (span for span in spans.values() if span is not None)
    return all(first <= of_leader[1] and of_leader[0] <= last for first, last in others)


def _parts(points: Points, attempts: Attempts) -> Iterator[tuple[int, int, int]]:
    """Yield (attempt, first place, place behind the last) of the points of each attempt."""
    starts = [bisect_left(points.lines, line) for line in attempts.starts.get(points.file, [])]
    for begin, end in pairwise([0, *starts, len(points.lines)]):
        if begin < end:
            yield attempts.at(points.file, points.lines[begin], points.attempt), begin, end


def _stretches(
    points: Points, attempt: int, begin: int, times: Sequence[float]
) -> Iterator[Stretch]:
    end = begin + len(times)
    steps, lines = points.steps[begin:end], points.lines[begin:end]
    if rising(steps, lt) and rising(times, le):
        if len(steps) > 1:
            yield Stretch(attempt, points.file, times, steps, lines)
        return
    kept: list[int] = []
    stride = _stride(steps)
    for place, step in enumerate(steps):
        if not isfinite(step) or not isfinite(times[place]):
            continue
        if kept and step <= steps[kept[-1]]:
            if steps[kept[-1]] - step <= STRAGGLING * stride:
                continue  # another writer of the same step, or one that is a step behind
            yield from _made(attempt, points.file, times, steps, lines, kept)
            kept = []
        kept.append(place)
    yield from _made(attempt, points.file, times, steps, lines, kept)


def _stride(steps: Sequence[float]) -> float:
    places = evenly(range(1, len(steps)))
    rises = [rise for place in places if (rise := steps[place] - steps[place - 1]) > 0]
    return median(rises) if rises else 1.0


def evenly(values: Sequence[Any]) -> Sequence[Any]:
    """Return at most ``SAMPLE`` of some values, evenly spaced."""
    return values[:: -(-len(values) // SAMPLE) or 1]


def _made(
    attempt: int,
    file: str,
    times: Sequence[float],
    steps: Sequence[float],
    lines: Sequence[int],
    kept: list[int],
) -> Iterator[Stretch]:
    if len(kept) > 1:
        yield Stretch(
            attempt,
            file,
            [times[place] for place in kept],
            [steps[place] for place in kept],
            [lines[place] for place in kept],
        )
