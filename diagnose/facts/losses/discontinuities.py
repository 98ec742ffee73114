"""Whether the level of a noisy, falling curve differs on the two sides of a step.

A straight line through as many points on either side is carried to the step between them. A curve
that falls bends the same way on both sides, so what the lines miss of it cancels. The error of the
difference takes into account that losses next to each other resemble each other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from diagnose.facts.statistics import SIGMA

WINDOWS = (25, 100)
"""Points on either side: a short jump shows in few, a small one in many."""

FEWEST = 5
"""Points that a line needs."""

LEAST_NOISE = 0.005
"""Least noise assumed, as a share of the level."""

LEAST_CARRY, MOST_CARRY = 0.3, 0.8
"""Bounds of the correlation of neighbours, which few points tell badly."""

FAR = 4.0
"""Standard deviations from which on a point is left out of the line."""

Pairs = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Discontinuity:
    """The two levels at a step.

    Args:
        before: Level that the points before it lead to.
        after: Level that the points from it on come from.
        noise: Standard deviation of a single point.
        error: Standard error of the difference.
        points: Points on either side.
        bend: How much steeper the curve rises behind the step than before it, in standard errors,
            by as many points as there are; negative where it falls faster.
    """

    before: float
    after: float
    noise: float
    error: float
    points: int
    bend: float

    @property
    def change(self) -> float:
        """The difference as a share of the level before."""
        return (self.after - self.before) / abs(self.before)

    @property
    def score(self) -> float:
        """The difference in standard errors."""
        return (self.after - self.before) / self.error


def discontinuity(before: Pairs, after: Pairs) -> Discontinuity | None:
    """Return the clearest difference of level at the first step behind.

    Args:
        before: Steps and values that lead to it, each step later than the one before.
        after: Steps and values from it on, likewise.

    Returns:
        None where there are fewer than five points on a side, or the level is zero.
    """
    found = []
    for window in WINDOWS:
        count = min(window, len(before), len(after))
        if count >= FEWEST and (one := _at(before[-count:], after[:count])):
            found.append(one)
    if not found:
        return None
    return replace(max(found, key=lambda one: abs(one.score)), bend=found[-1].bend)


def _at(before: Pairs, after: Pairs) -> Discontinuity | None:
    step = after[0][0]
    early, late = (_Line([(x - step, y) for x, y in side]) for side in (before, after))
    if not early.level:
        return None
    rest = early.rest + late.rest
    degrees = max(1, len(rest) - 4)
    noise = max(math.sqrt(sum(one * one for one in rest) / degrees), LEAST_NOISE * abs(early.level))
    both = sum(one * one for one in rest)
    carried = sum(
        a * b for line in (early, late) for a, b in zip(line.rest, line.rest[1:], strict=False)
    )
    carry = min(MOST_CARRY, max(LEAST_CARRY, carried / both if both else 0.0))
    unit = noise * math.sqrt((1 + carry) / (1 - carry))
    error = unit * math.sqrt(early.leverage + late.leverage)
    bend = (late.slope - early.slope) / (unit * math.sqrt(early.looseness + late.looseness))
    return Discontinuity(early.level, late.level, noise, error, len(before), bend)


class _Line:
    """A least-squares line, without the points far from it.

    ``level`` is its value at 0, ``leverage`` and ``looseness`` are the variances of that and of
    ``slope`` in units of the noise, ``rest`` is what it leaves of each point.
    """

    def __init__(self, pairs: Pairs) -> None:
        self._fit(pairs)
        spread = SIGMA * median(abs(one) for one in self.rest)
        near = [
            pair for pair, one in zip(pairs, self.rest, strict=True) if abs(one) <= FAR * spread
        ]
        if FEWEST <= len(near) < len(pairs) and len(pairs) - len(near) <= len(pairs) / 5:
            self._fit(near)

    def _fit(self, pairs: Pairs) -> None:
        middle, mean = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
        along = sum((x - middle) ** 2 for x, _ in pairs)
        self.slope = slope = sum((x - middle) * (y - mean) for x, y in pairs) / along
        self.level = mean - slope * middle
        self.leverage, self.looseness = 1 / len(pairs) + middle**2 / along, 1 / along
        self.rest = [y - mean - slope * (x - middle) for x, y in pairs]
