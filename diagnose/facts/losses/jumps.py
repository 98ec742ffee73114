"""Jumps of the loss and of the gradient norm, and whether they came back.

======================= ==========================================================================
``train.loss_jump``     A loss far above the losses before it
``train.gradient_jump`` The same of the gradient norm, the first of a run
======================= ==========================================================================

Excerpts of five to ten step lines are common, so a jump needs only two points before it; the more
there are, the more the noise of the series counts. That noise is taken from the differences of
neighbours, so that the falling head of a run is none. A jump ends where the loss is back near the
level before (``recovered_steps`` later); the next one may begin there.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from diagnose.facts.losses.runs import Run
from diagnose.facts.points import derived_event, point_at, whole
from diagnose.facts.statistics import level_and_noise, noise_of_steps
from diagnose.model.event import Clock, Event, Value

EVENTS = ("train.loss_jump", "train.gradient_jump")

WARM_UP = 10
"""Steps at the start of a run in which a loss may do anything."""

UNNUMBERED = 3
"""Points before one whose step is not known."""

HISTORY = 100
"""Points before one against which it is judged."""

FEW, LONG = 5, 20
"""Points from which on the differences of neighbours tell the noise of a series, and from which on
they tell it well."""

NOISY = 0.1
"""Share of the level from which on noise makes single points leap; then the next must agree."""

EXPLODED = 10.0
"""Ratio to the highest value before that no noise explains."""

ALONE = 1.75
"""Ratio to the highest value before from which on a jump stands alone, though that one made the
noise of a short run look large."""

AFTER = 3
"""Points behind a jump that are needed to say whether the level came back."""

MOST = 50
"""Jumps of a run that are told."""

BLOCK = 50
"""Points that are looked at together: if none stands out of their median, none can be a jump."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What makes a point a jump.

    Args:
        ratio: Least ratio to the median before it.
        clear: Ratio from which on the next point need not agree.
        least: Least difference.
        score: Least distance in standard deviations.
    """

    ratio: float
    clear: float
    least: float
    score: float


@dataclass(frozen=True, slots=True)
class Course:
    """The finite values of a run, and the steps they belong to (NaN where unknown)."""

    values: list[float]
    steps: list[float]


SHORT_LOSS = Limits(ratio=1.25, clear=2.0, least=0.3, score=6.0)
LOSS = Limits(ratio=1.1, clear=1.25, least=0.2, score=6.0)
GRADIENT = Limits(ratio=10.0, clear=10.0, least=0.0, score=8.0)


def loss_jumps(runs: Iterable[Run], by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the jumps of the losses of each run."""
    yield from _jumps(runs, EVENTS[0], SHORT_LOSS, LOSS, MOST, by_file)


def gradient_jumps(runs: Iterable[Run], by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the first jump of the gradient norm of each run."""
    yield from _jumps(runs, EVENTS[1], GRADIENT, GRADIENT, 1, by_file)


def _jumps(
    runs: Iterable[Run],
    name: str,
    short: Limits,
    long: Limits,
    most: int,
    by_file: dict[str, Clock],
) -> Iterator[Event]:
    for run in runs:
        points, part = run.points, run.points.values[run.begin : run.end]
        places: Sequence[int] = range(run.begin, run.end)
        if not (min(part) > 0 and math.isfinite(sum(part))):  # hardly ever, and a sum is cheap
            places = [at for at, one in enumerate(part, run.begin) if one > 0 and one != math.inf]
        values = [points.values[at] for at in places]
        course = Course(values, [points.steps[at] for at in places])
        until = found = 0
        for place in _candidates(values, long.ratio):
            if place < until:
                continue
            limits = long if place >= LONG else short
            level, noise = _level(values, place)
            if not _is_jump(course, place, level, noise, limits):
                continue
            fields, until = _jump(course, place, level, noise)
            at = places[place]
            point = point_at(points, at)
            event = derived_event(points, point, name, fields, by_file)
            event.attempt = run.attempt
            yield event
            found += 1
            if found == most:
                break


def _candidates(values: Sequence[float], ratio: float) -> Iterator[int]:
    """Yield the places of values that stand out of the medians about them."""
    least, before = 1 + (ratio - 1) / 2, math.inf
    for begin in range(0, len(values), BLOCK):
        block = values[begin : begin + BLOCK]
        middle = median(block[:LONG]) if begin == 0 else median(block)
        bound = least * min(before, middle, median(block[:5]))
        before = middle
        if max(block) <= bound:
            continue
        yield from (
            place for place, value in enumerate(block, begin) if value > bound and place >= 2
        )


def _level(values: Sequence[float], place: int) -> tuple[float, float]:
    history = values[max(0, place - HISTORY) : place]
    level, noise = level_and_noise(history)
    if place >= FEW:
        noise = noise_of_steps(history)
    if place >= LONG:
        # Behind a step of the curve the last points are its level, not the median of all.
        level = median(history[-LONG:])
    return level, max(noise, 0.005 * level)


def _is_jump(course: Course, place: int, level: float, noise: float, limits: Limits) -> bool:
    value, step, values = course.values[place], course.steps[place], course.values
    if step < WARM_UP:
        return False
    if step != step and (place < UNNUMBERED or values[0] > 1.5 * level):
        return False  # the head of a run falls steeply
    rise = value - level
    if value < limits.ratio * level or rise < max(limits.least, limits.score * noise):
        return False
    if value - max(values[max(0, place - AFTER) : place]) < rise / 2:
        return False  # a climb, see ``rises``
    history = values[max(0, place - HISTORY) : place]
    if value >= EXPLODED * max(history):
        return True
    alone = value >= ALONE * max(history) and noise < 2 * NOISY * level
    if value >= limits.clear * level and (noise < NOISY * level or alone):
        return True
    following = values[place + 1 : place + 1 + AFTER]
    return len(following) >= 1 and min(following) >= level + rise / 2


def _jump(course: Course, place: int, level: float, noise: float) -> tuple[dict[str, Value], int]:
    """Return the fields of a jump, and the place where it has ended."""
    values, steps = course.values, course.steps
    bound = level + max(3 * noise, (0.1 if place < LONG else 0.05) * level)
    behind = range(place + 1, len(values))
    back = next((at for at in behind if values[at] <= bound), None)
    end = len(values) if back is None else back
    fields: dict[str, Value] = {
        "step": whole(steps[place]),
        "before": level,
        "after": values[place],
        "ratio": values[place] / level,
        "peak": max(values[place:end]),
        "last": values[-1],
        "last_step": whole(steps[-1]),
        "recovered": back is not None if back is not None or len(behind) >= AFTER else None,
        "recovered_step": None if back is None else whole(steps[back]),
        "recovered_steps": None if back is None else whole(steps[back] - steps[place]),
        "points_above": end - place,
        "points_before": place,
        "points_after": len(behind),
    }
    return fields, end
