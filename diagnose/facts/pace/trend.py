"""Whether a series rises all the time, by Theil and Sen's slope and Mann and Kendall's test."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from diagnose.facts.pace.segments import Segment, block_medians

MOST = 200
"""Points that are looked at, since every pair is compared; of longer series block medians."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through a series.

    Args:
        change: From its start to its end, as a share of the start.
        p: Chance of such an order without a trend.
        start: Its value at the first point.
        end: Its value at the last.
        is_line: It fits better than stretches of one level do.
    """

    change: float
    p: float
    start: float
    end: float
    is_line: bool


def trend(values: Sequence[float], levels: Sequence[Segment]) -> Trend:
    """Return the trend of a series.

    Args:
        values: Positive, two at least.
        levels: Its stretches of one level.
    """
    thinned, size = block_medians(values, MOST)
    pairs = list(combinations(enumerate(thinned), 2))
    slope = median((late - early) / (j - i) for (i, early), (j, late) in pairs)
    start = median(value - slope * at for at, value in enumerate(thinned))
    end = start + slope * (len(thinned) - 1)
    order = sum((late > early) - (late < early) for (_, early), (_, late) in pairs)
    apart = sum(abs(value - start - slope * at) for at, value in enumerate(thinned))
    ends = [one.end for one in levels]
    at_levels = [
        levels[bisect_right(ends, at * size + size // 2)].level for at in range(len(thinned))
    ]
    stepped = sum(abs(value - level) for value, level in zip(thinned, at_levels, strict=True))
    return Trend(
        change=(end - start) / start if start > 0 else 0.0, p=_chance(order, len(thinned)),
        start=start, end=end, is_line=apart < stepped,
    )  # fmt: skip


def _chance(order: int, count: int) -> float:
    """Return the two-sided chance of Mann and Kendall's sum."""
    scale = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    score = max(0, abs(order) - 1) / scale
    return math.erfc(score / math.sqrt(2))
