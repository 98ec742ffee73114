"""The runs of one rank in the order of their lowest steps, and those next to where one goes on.

Thousands of logs may follow one another. What a run goes on from lies next to its first step, so
runs are asked for from there on, and one that cannot reach the place is not looked at.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from diagnose.facts.clock import Instant
from diagnose.facts.losses.runs import Run

RUNS_APART = 10.0
"""Seconds by which a step must lie before a load to belong to an earlier run."""

AGAIN = 0.5
"""Share of its steps that a run without stamps may have in common with the one it goes on from."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A run and when it was.

    Args:
        run: The run.
        begin: When its checkpoint was loaded, else when its first step was done, if known.
        end: When its last step was done, if known.
        lowest: Its lowest step, which is not its first where several wrote it by turns.
        highest: Its highest.
        place: Where it stands among the runs of the input.
    """

    run: Run
    begin: Instant | None
    end: Instant | None
    lowest: float
    highest: float
    place: int

    @property
    def turn(self) -> tuple[int, float, int]:
        """What tells of two runs that did one step which did it last: that of the higher."""
        return self.run.attempt, self.run.above, self.place

    def precedes(self, later: "Placed") -> bool:
        """Return whether the run is one that another was resumed from."""
        one, run = self.run, later.run
        if one is run:
            return False
        if run.load is None and one.first >= run.first:
            return False  # a start from scratch
        if one.points.file == run.points.file:
            return one.end <= run.begin
        begin, end = later.begin, self.end
        if begin is not None and end is not None and begin.domain.family == end.domain.family:
            # As printed: two runs that reach the same step look like two clocks of one moment.
            return begin.seconds - end.seconds > RUNS_APART
        if run.load is not None or run.attempt > one.attempt:
            return one.attempt < run.attempt or one.first < run.first
        return _overlaps_as_a_resume(one, run)


class Course:
    """The runs of one rank.

    Args:
        runs: In the order of the input.
    """

    def __init__(self, runs: Sequence[Placed]) -> None:
        self._runs = sorted(runs, key=lambda one: _key(one.lowest, one))
        self._keys = [_key(one.lowest, one) for one in self._runs]
        self._lowest = [one.lowest for one in self._runs]
        self._reach = list(accumulate((one.highest for one in self._runs), max))
        self._interval = max(one.run.interval for one in self._runs)
        self._attempt = min(one.run.attempt for one in self._runs)
        first = max(1.0, self._interval)
        starts = (one for one in runs if one.run.first <= first)
        self._starts = sorted(starts, key=lambda one: one.run.first)

    def again(self, later: Placed, last: float) -> Iterator[Placed]:
        """Yield the runs before one whose lowest step is its first or above, up to a last step.

        Args:
            later: The run that goes on; without a load it goes on from none of these.
            last: The last step.
        """
        if later.run.load is None:
            return
        first = later.run.first
        begin, end = bisect_left(self._lowest, first), bisect_right(self._lowest, last)
        place = bisect_left(self._keys, _key(first, later))
        for at in (*range(place - 1, begin - 1, -1), *range(place, end)):
            if self._runs[at].precedes(later):
                yield self._runs[at]

    def below(self, later: Placed) -> Iterator[tuple[Placed, float]]:
        """Yield the runs before one that began at lower steps, those next to it first.

        Each comes with the highest step that it and all behind it reach.
        """
        least = self._least(later)
        for at in range(bisect_left(self._lowest, later.run.first) - 1, -1, -1):
            if self._reach[at] < least:
                return
            if self._runs[at].precedes(later):
                yield self._runs[at], self._reach[at]

    def start(self, later: Placed) -> Run | None:
        """Return the run before one that began at the first step of the job, if the logs hold it.

        A counter that is printed every few steps begins with the first that is printed.
        """
        first = next((one.run for one in self._starts if one.precedes(later)), None)
        return first if first is not None and first.first <= max(1.0, first.interval) else None

    def _least(self, later: Placed) -> float:
        """Return the step that a run has to reach for another one to go on from it."""
        run = later.run
        stated = run.load is not None or run.attempt > self._attempt or run.begin > 0
        if stated or later.begin is not None:
            return -math.inf
        return run.first - gap(run.interval, self._interval)  # steps alone tell


def _key(step: float, one: Placed) -> tuple[float, float, tuple[int, float, int]]:
    """Return what orders runs: those of one step by when they ended."""
    return step, -math.inf if one.end is None else one.end.seconds, one.turn


def _overlaps_as_a_resume(one: Run, run: Run) -> bool:
    """Return whether steps alone say that a run goes on where another had been.

    A run is resumed from the last checkpoint, so it does few steps again and gets further.
    """
    again = one.last - run.first
    follows = again >= -gap(one.interval, run.interval)
    return follows and again <= AGAIN * (one.last - one.first) and run.last > one.last


def gap(interval: float, other: float) -> float:
    """Return the steps that may be missing between two runs that follow each other."""
    return 2 * max(interval, other)
