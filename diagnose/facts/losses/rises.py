"""A loss that creeps up and does not come back, without any single jump.

``train.loss_rise``
    From ``step`` on, for ``steps`` or, where steps are not known, ``points`` until the end of the
    run, the loss lies above its lowest level (``minimum``, at ``minimum_step``): at ``ratio`` of it
    by the median of these points, at ``last`` at their end. ``score`` is the rise in standard
    errors of a level, ``slope`` what the level still rose by from the first to the second half, as
    a share. ``of_chance`` is the last level over the loss of guessing, where the vocabulary is
    known.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from diagnose.facts.losses.runs import Run
from diagnose.facts.points import derived_event, point_at, whole
from diagnose.facts.statistics import noise_of_steps
from diagnose.model.event import Clock, Event, Value

RISE = "train.loss_rise"

BLOCKS = 12
"""Levels that a run is cut into at least."""

SHORTEST, LONGEST = 5, 25
"""Points of one level."""

RISEN = 1.1
"""Ratio to the lowest level from which on a level has risen."""

CARRY = 1.7
"""Error of a median of losses that resemble their neighbours, times the root of their number."""


def rises(runs: Iterable[Run], chance: float | None, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the rise that each run ends with.

    Args:
        runs: Of the losses.
        chance: Loss of guessing, if known.
        by_file: What the stamps of each file are measured against.
    """
    for run in runs:
        points = run.points
        finite: Sequence[int] = range(run.begin, run.end)
        if not math.isfinite(sum(points.values[run.begin : run.end])):
            finite = [at for at in finite if math.isfinite(points.values[at])]
        numbered: Sequence[int] = finite
        if not math.isfinite(sum(points.steps[run.begin : run.end])):
            numbered = [at for at in finite if math.isfinite(points.steps[at])]
        places = numbered or finite
        size = max(SHORTEST, min(LONGEST, len(places) // BLOCKS))
        cut = [places[at : at + size] for at in range(0, len(places) - size + 1, size)]
        levels = [median(points.values[at] for at in block) for block in cut]
        if (found := _risen(levels)) is None:
            continue
        lowest, begin = found
        part = [points.values[at] for at in places]
        noise = noise_of_steps(part)
        now, at = median(levels[begin:]), cut[begin][0]
        error = max(noise, 0.005 * now) * CARRY * math.sqrt(2 / size)
        half = (begin + len(levels)) // 2
        later, earlier = median(levels[half:]), median(levels[begin : max(half, begin + 1)])
        fields: dict[str, Value] = {
            "step": whole(points.steps[at]),
            "steps": int(points.steps[places[-1]] - points.steps[at]) if numbered else None,
            "points": len(places) - begin * size,
            "minimum": levels[lowest],
            "minimum_step": whole(points.steps[cut[lowest][0]]),
            "ratio": now / levels[lowest],
            "last": levels[-1],
            "score": (now - levels[lowest]) / error,
            "slope": (later - earlier) / levels[lowest],
            "of_chance": levels[-1] / chance if chance else None,
        }
        point = point_at(points, at)
        event = derived_event(points, point, RISE, fields, by_file)
        event.attempt = run.attempt
        yield event


def _risen(levels: Sequence[float]) -> tuple[int, int] | None:
    """Return the lowest level and the first of those at the end that lie above it for good."""
    if len(levels) < 3:
        return None
    lowest = min(range(len(levels)), key=levels.__getitem__)
    begin = len(levels)
    while begin - 1 > lowest and levels[begin - 1] >= RISEN * levels[lowest] > 0:
        begin -= 1
    return (lowest, begin) if begin < len(levels) else None
