"""Other numbers that a program prints with the time of its steps."""

import math
from collections.abc import Sequence
from statistics import median

from diagnose.facts.pace.segments import Segment
from diagnose.facts.pace.steps import Pace
from diagnose.model.event import Points

FEWEST = 5
"""Values on either side that are compared."""


def beside(pace: Pace, series: Sequence[Points], metric: str) -> list[float]:
    """Return the value of a metric for each line of the pace, NaN where it is not known.

    It stands on the same line, or on another line of that writer and step.
    """
    by_attempt: dict[int, tuple[dict[int, float], dict[float, float]]] = {}
    for attempt, writer in pace.writers.items():
        own = [
            points for points in series
            if points.metric == metric and (points.file, points.rank) == (writer.file, writer.rank)
        ]  # fmt: skip
        lines: dict[int, float] = {}
        steps: dict[float, float] = {}
        for points in own:
            lines.update(zip(points.lines, points.values, strict=True))
            steps.update(zip(points.steps, points.values, strict=True))
        by_attempt[attempt] = lines, steps
    found = []
    for attempt, line, step in zip(pace.attempts, pace.lines, pace.steps, strict=True):
        lines, steps = by_attempt[attempt]
        found.append(lines.get(line, steps.get(step, math.nan)))
    return found


def rise_of(values: Sequence[float], early: Segment, late: Segment, whole: float) -> float | None:
    """Return how far the median rose between two stretches, as a share of something.

    Args:
        values: One for each line, NaN where unknown.
        early: The stretch before.
        late: The stretch after.
        whole: What it is a share of, positive.

    Returns:
        None where too few are known.
    """
    before = [one for one in values[early.start : early.end] if math.isfinite(one)]
    after = [one for one in values[late.start : late.end] if math.isfinite(one)]
    if min(len(before), len(after)) < FEWEST or whole <= 0:
        return None
    return (median(after) - median(before)) / whole
