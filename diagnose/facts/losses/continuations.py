"""Which runs of a job were resumed from which.

A run is resumed where a checkpoint was loaded, where the job was started again, or where the steps
of one file go on in another; it need not say so.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest

from diagnose.facts.clock import Clocks
from diagnose.facts.losses.courses import Course, Placed, gap
from diagnose.facts.losses.runs import Run, Series
from diagnose.facts.points import Point
from diagnose.model.event import Clock

COMPARED = 100
"""Points on either side, and replayed steps, that are compared."""

NEAREST = 32
"""Runs next to the place that are asked for other metrics though fewer show all the losses."""

Shown = tuple[Placed, list[Point]]
"""A run and its losses next to the place."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A run and what came before it.

    Args:
        run: The run that goes on.
        earlier: The runs before it that did the steps next to its first, in the order of the input.
        start: The run that began with the first step of the job, if it is one of those before.
        before: Losses of the steps before its first, of all of them.
        again: Losses that the steps it did again had the first time, with their files.
        after: Its own losses, at most as many as are compared.
    """

    run: Run
    earlier: list[Placed]
    start: Run | None
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
    numbered = [run for run in runs if math.isfinite(run.first) and math.isfinite(run.last)]
    placed = [_placed(run, place, clocks, by_file) for place, run in enumerate(numbered)]
    related: dict[int | str | None, list[Placed]] = defaultdict(list)
    for one in placed:
        related[_whose(one.run)].append(one)
    courses = {whose: Course(own) for whose, own in related.items()}
    for one in placed:
        resumed = _resumed(one, courses[_whose(one.run)], series)
        if resumed.earlier:
            yield resumed


def _whose(run: Run) -> int | str | None:
    return run.points.host if run.points.rank is None else run.points.rank


def _placed(run: Run, place: int, clocks: Clocks, by_file: dict[str, Clock]) -> Placed:
    points = run.points
    clock = by_file.get(points.file, Clock.NONE)
    begin, end = (
        clocks.instant(points.times[at], clock, host=points.host, file=points.file)
        for at in (run.begin, run.end - 1)
    )
    loaded = clocks.of(run.load) if run.load is not None else None
    steps = [step for step in points.steps[run.begin : run.end] if math.isfinite(step)]
    return Placed(run, loaded or begin, end, min(steps), max(steps), place)


def _resumed(later: Placed, course: Course, series: Series) -> Resumed:
    run = later.run
    after = series.beside(run, "loss", run.first, math.inf, -COMPARED)
    # Megatron prints 0 where all steps of a line were skipped.
    after = list({point.step: point for point in after if point.value}.values())
    last = after[-1].step if after else run.first
    again = _again(later, course, series, {point.step for point in after}, last)
    shown = sorted([*again, *_below(later, course, series, last)], key=lambda one: one[0].place)
    latest: dict[float, tuple[Point, str]] = {}
    for one, points in sorted(shown, key=lambda one: one[0].turn):
        latest |= {point.step: (point, one.run.points.file) for point in points if point.value}
    return Resumed(
        run,
        earlier=[one for one, _ in shown],
        start=course.start(later) if shown else None,
        before=[latest[step][0] for step in sorted(latest) if step < run.first][-COMPARED:],
        again={step: pair for step, pair in latest.items() if step >= run.first},
        after=after,
    )


def _again(
    later: Placed, course: Course, series: Series, missing: set[float], last: float
) -> Iterator[Shown]:
    """Yield the runs that began within the steps of a run, until they show all of these."""
    for count, one in enumerate(course.again(later, last)):
        if count >= NEAREST and not missing:
            return
        points = series.beside(one.run, "loss", later.run.first, last, -COMPARED)
        missing -= {point.step for point in points if point.value}
        yield one, points


def _below(later: Placed, course: Course, series: Series, last: float) -> Iterator[Shown]:
    """Yield the runs that began below a run, until the others show no more of the steps before it.

    They do not where none reaches these steps, or where many did the same ones.
    """
    first = later.run.first
    floor, steps, alike = -math.inf, set[float](), 0
    for count, (one, reach) in enumerate(course.below(later)):
        if count >= NEAREST and (reach < floor or alike >= NEAREST):
            return
        if one.highest < floor:
            if count < NEAREST:
                yield one, []
            continue
        early = series.beside(one.run, "loss", -math.inf, first - 0.5, COMPARED)
        again = series.beside(one.run, "loss", first, last, -COMPARED)
        new = {point.step for point in early if point.value} - steps
        if new:
            steps |= new
            floor = nlargest(COMPARED, steps)[-1] if len(steps) >= COMPARED else floor
        elif floor > -math.inf and one.highest >= first - gap(one.run.interval, later.run.interval):
            alike += 1
        yield one, [*early, *again]
