"""What the stamps of numbered lines say of the time between them.

Programs stop their timer while they save and evaluate, so that such a pause shows between the
stamps of two lines and in none of their step times.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

AT_ONCE = 0.5
"""Share of the usual time between lines under which two were written at once."""

MOST_AT_ONCE = 0.25
"""Share of lines that may be: a buffered stream delivers lines in lots, and their stamps say when
they were delivered."""

IN_LOTS = 0.2
"""Share of the mean time between lines under which the usual one says the same."""


def known(times: Sequence[float], spans: Sequence[float]) -> list[float] | None:
    """Return the seconds per step between neighbouring stamps, None where they do not tell.

    Args:
        times: Stamps, NaN where unknown.
        spans: Steps of each line.
    """
    taken = [
        (late - early) / span
        for (early, late), span in zip(pairwise(times), spans[1:], strict=True)
    ]
    if not taken or not all(math.isfinite(one) and one >= 0 for one in taken):
        return None
    usual = median(taken)
    at_once = sum(one < AT_ONCE * usual for one in taken)
    if usual <= IN_LOTS * sum(taken) / len(taken) or at_once > MOST_AT_ONCE * len(taken):
        return None
    return [usual, *taken]


def gaps(
    seconds: Sequence[float], taken: list[float] | None, spans: Sequence[float]
) -> list[float]:
    """Return the seconds between lines that their steps do not account for, 0 where unknown.

    Args:
        seconds: Of a step, as stated.
        taken: The same by the stamps.
        spans: Steps of each line.
    """
    if taken is None:
        return [0.0] * len(seconds)
    apart = [
        (by_stamp - stated) * span
        for by_stamp, stated, span in zip(taken, seconds, spans, strict=True)
    ]
    usual = median(apart)
    return [0.0, *(one - usual for one in apart[1:])]
