"""Jumps of the loss and of the gradient norm, and whether they came back.

======================= ==========================================================================
``train.loss_jump``     A loss far above the losses before it
``train.gradient_jump`` The same of the gradient norm
======================= ==========================================================================

Excerpts of five to ten step lines are common, so a jump needs only two points before it; the more
there are, the more the noise of the series counts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.facts.attempts import Attempts
from diagnose.facts.points import Point, derived_event, runs_of, whole
from diagnose.facts.statistics import level_and_noise
from diagnose.model.event import Clock, Event, Value
from diagnose.model.reading import Reading

EVENTS = ("train.loss_jump", "train.gradient_jump")

WARM_UP = 10
"""Steps at the start of a run in which a loss may do anything."""

UNNUMBERED = 3
"""Points before one whose step is not known."""

HISTORY = 100
"""Points before one against which it is judged."""

ABOVE_RECENT = 1.2
"""Least ratio of a jump to the highest of the ``LONG`` points before it."""

LONG = 20
"""Points from which on the noise of a series is known."""

NOISY = 0.25
"""Share of the level from which on noise makes single points leap; then the next must agree."""

AFTER = 3
"""Points behind a jump that are needed to say whether the level came back."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What makes a point a jump.

    Args:
        ratio: Least ratio to the median before it.
        clear: Ratio from which on the next point need not agree.
        least: Least difference.
        score: Least distance in robust standard deviations where the noise is known.
    """

    ratio: float
    clear: float
    least: float
    score: float


LOSS = Limits(ratio=1.25, clear=2.0, least=0.3, score=8.0)
GRADIENT = Limits(ratio=10.0, clear=10.0, least=0.0, score=8.0)


def jumps(reading: Reading, attempts: Attempts, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the first jump of each attempt's losses and gradient norms."""
    for points in reading.points:
        kind = {"loss": ("train.loss_jump", LOSS), "grad_norm": ("train.gradient_jump", GRADIENT)}
        if points.metric not in kind:
            continue
        name, limits = kind[points.metric]
        for run in runs_of(points, attempts):
            finite = [point for point in run if math.isfinite(point.value) and point.value > 0]
            values = [point.value for point in finite]
            for place in range(2, len(finite)):
                # Hardly any point stands out of the few before it; only those are worth medians.
                if values[place] < ABOVE_RECENT * max(values[max(0, place - LONG) : place]):
                    continue
                level, noise = _level(finite, place)
                if not _is_jump(finite, place, level, noise, limits):
                    continue
                yield derived_event(
                    points, finite[place], name, _jump(finite, place, level, noise), by_file
                )
                break


def _level(run: list[Point], place: int) -> tuple[float, float]:
    level, noise = level_and_noise([point.value for point in run[max(0, place - HISTORY) : place]])
    return level, max(noise, 0.005 * level)


def _is_jump(run: list[Point], place: int, level: float, noise: float, limits: Limits) -> bool:
    point = run[place]
    if point.step < WARM_UP:
        return False
    if point.step != point.step and (place < UNNUMBERED or run[0].value > 1.5 * level):
        return False  # the head of a run falls steeply
    rise = point.value - level
    if point.value < limits.ratio * level or rise < limits.least:
        return False
    if place >= LONG and rise < limits.score * noise:
        return False
    if point.value >= limits.clear * level and noise < NOISY * level:
        return True
    following = run[place + 1 : place + 1 + AFTER]
    return len(following) >= 1 and min(one.value for one in following) >= level + rise / 2


def _jump(run: list[Point], place: int, level: float, noise: float) -> dict[str, Value]:
    point, after = run[place], run[place + 1 :]
    bound = level + max(3 * noise, 0.1 * level)
    back = next((one for one in after if one.value <= bound), None)
    recovered = back is not None if back is not None or len(after) >= AFTER else None
    return {
        "step": whole(point.step),
        "before": level,
        "after": point.value,
        "ratio": point.value / level,
        "peak": max(one.value for one in run[place:]),
        "last": run[-1].value,
        "last_step": whole(run[-1].step),
        "recovered": recovered,
        "recovered_step": None if back is None else whole(back.step),
        "points_before": place,
        "points_after": len(after),
    }
