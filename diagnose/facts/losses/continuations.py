"""Which runs of a job were resumed from which.

A run is resumed where a checkpoint was loaded, where the job was started again, or where the steps
of one file go on in another; it need not say so.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagnose.facts.clock import Clocks, Instant
from diagnose.facts.losses.runs import Run, Series
from diagnose.facts.points import Point
from diagnose.model.event import Clock

RUNS_APART = 10.0
"""Seconds by which a step must lie before a load to belong to an earlier run."""

AGAIN = 0.5
"""Share of its steps that a run without stamps may have in common with the one it goes on from."""

COMPARED = 100
"""Points on either side, and replayed steps, that are compared."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A run and what came before it.

    Args:
        run: The run that goes on.
        earlier: The runs before it, the latest last.
        before: Losses of the steps before its first, of all of them.
        again: Losses that the steps it did again had the first time, with their files.
        after: Its own losses, at most as many as are compared.
    """

    run: Run
    earlier: list[Run]
    before: list[Point]
    again: dict[float, tuple[Point, str]]
    after: list[Point]


def continuations(
    runs: Sequence[Run], series: Series, clocks: Clocks, by_file: dict[str, Clock]
) -> Iterator[Resumed]:
    """Yield the runs that were resumed.

    Args:
        runs: Of the losses of the input.
        series: Of the input.
        clocks: Of the input.
        by_file: What the stamps of each file are measured against.
    """
    related: dict[int | str | None, list[Run]] = defaultdict(list)
    numbered = [run for run in runs if run.first == run.first and run.last == run.last]
    for run in numbered:
        related[_whose(run)].append(run)
    for run in numbered:
        earlier = [one for one in related[_whose(run)] if _precedes(one, run, clocks, by_file)]
        if earlier:
            yield _resumed(run, earlier, series)


def _whose(run: Run) -> int | str | None:
    return run.points.host if run.points.rank is None else run.points.rank


def _precedes(one: Run, run: Run, clocks: Clocks, by_file: dict[str, Clock]) -> bool:
    """Return whether a run is one that another was resumed from."""
    here, there = run.points, one.points
    if one is run:
        return False
    if run.load is None and one.first >= run.first:
        return False  # a start from scratch
    if here.file == there.file:
        return one.end <= run.begin
    begin, end = (
        _moment(each, at, clocks, by_file) for each, at in ((run, run.begin), (one, one.end - 1))
    )
    if run.load is not None and (loaded := clocks.of(run.load)) is not None:
        begin = loaded
    if begin is not None and end is not None and begin.domain.family == end.domain.family:
        # As printed: two runs that reach the same step look like two clocks of one moment.
        return begin.seconds - end.seconds > RUNS_APART
    if run.load is not None or run.attempt > one.attempt:
        return one.attempt < run.attempt or one.first < run.first
    return _overlaps_as_a_resume(one, run)


def _overlaps_as_a_resume(one: Run, run: Run) -> bool:
    """Return whether steps alone say that a run goes on where another had been.

    A run is resumed from the last checkpoint, so it does few steps again and gets further.
    """
    again = one.last - run.first
    follows = again >= -2 * max(one.interval, run.interval)
    return follows and again <= AGAIN * (one.last - one.first) and run.last > one.last


def _moment(run: Run, at: int, clocks: Clocks, by_file: dict[str, Clock]) -> Instant | None:
    points = run.points
    clock = by_file.get(points.file, Clock.NONE)
    return clocks.instant(points.times[at], clock, host=points.host, file=points.file)


def _resumed(run: Run, earlier: list[Run], series: Series) -> Resumed:
    after = series.beside(run, "loss", run.first, math.inf, -COMPARED)
    # Megatron prints 0 where all steps of a line were skipped.
    after = list({point.step: point for point in after if point.value}.values())
    latest: dict[float, tuple[Point, str]] = {}
    for one in sorted(earlier, key=lambda each: (each.attempt, each.above)):
        early = series.beside(one, "loss", -math.inf, run.first - 0.5, COMPARED)
        repeated = series.beside(
            one, "loss", run.first, after[-1].step if after else run.first, -COMPARED
        )
        latest |= {
            point.step: (point, one.points.file) for point in (*early, *repeated) if point.value
        }
    before = [latest[step][0] for step in sorted(latest) if step < run.first][-COMPARED:]
    again = {step: pair for step, pair in latest.items() if step >= run.first}
    return Resumed(run, earlier, before, again, after)
