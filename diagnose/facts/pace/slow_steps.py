"""Steps that take far longer than those around them, and pauses between steps.

A step is judged against the level of the run where it stands, or the median of its own stretch and
of the two beside it, the highest of them, so that the steps behind a rise of the level are not slow
ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from diagnose.facts.pace.segments import Segment
from diagnose.facts.pace.stamps import are_whole
from diagnose.facts.pace.steps import Pace
from diagnose.facts.statistics import NOISE_FLOOR, SIGMA

STRETCH = 101
"""Lines of which the level is taken."""

SCORE = 3.5
"""Robust standard deviations above the level (Iglewicz and Hoaglin)."""

FLOOR = 1.15
"""Least ratio to the level of a line that stands for one step."""

LEAST_SECONDS, LEAST_STEPS = 1.0, 0.5
"""Of a line that stands for several, and of a pause, the excess: the larger of so many seconds and
so many usual steps. A stall of a minute hardly moves the mean over a hundred steps."""

COARSE = 2.0
"""Seconds that a pause takes at least where stamps are in whole seconds."""


@dataclass(frozen=True, slots=True)
class Slow:
    """A line that stands for slow steps, or before which the job paused.

    Args:
        place: Of the line in the pace.
        excess: Seconds beyond the usual; of a pace without seconds usual steps.
        pause: Part of them that lies between the stamps of lines and in no step time.
    """

    place: int
    excess: float
    pause: float = 0.0


def slow_steps(pace: Pace, segments: Sequence[Segment]) -> list[Slow]:
    """Return the slow steps of a job in order.

    Args:
        pace: Of the job.
        segments: Its stretches of one level.
    """
    own = [one.level for one in segments for _ in range(one.start, one.end)]
    levels = [max(pair) for pair in zip(own, _levels(pace.seconds), strict=True)]
    apart = [value - level for value, level in zip(pace.seconds, levels, strict=True)]
    usual = median(pace.seconds)
    scatter = max(SIGMA * median(map(abs, apart)), NOISE_FLOOR * usual)
    pauses = SIGMA * median(map(abs, pace.gaps))
    least = max(LEAST_SECONDS if pace.timed else 0.0, LEAST_STEPS * usual)
    coarse = COARSE if are_whole(pace.times) else 0.0
    found = []
    rows = zip(apart, levels, pace.spans, pace.gaps, strict=True)
    for place, (above, level, covered, gap) in enumerate(rows):
        excess = pause = 0.0
        span = 1.0 if pace.is_single else covered
        if above > SCORE * scatter:
            is_slow = above > (FLOOR - 1) * level if span <= 1 else above * span > least
            excess = above * span if is_slow else 0.0
        if gap > max(least, coarse) and gap > SCORE * pauses:
            pause = gap
        if excess + pause > 0:
            found.append(Slow(place, excess + pause, pause))
    return found


def _levels(values: list[float]) -> list[float]:
    """Return the highest median of each value's stretch and the two beside it."""
    medians = [median(values[at : at + STRETCH]) for at in range(0, len(values), STRETCH)]
    if len(values) % STRETCH < STRETCH // 2 and len(medians) > 1:
        medians[-1] = medians[-2]
    highest = [max(medians[max(0, at - 1) : at + 2]) for at in range(len(medians))]
    return [level for level in highest for _ in range(STRETCH)][: len(values)]
