"""What the stamps of numbered lines say of the time between them.

Programs stop their timer while they save and evaluate, so that such a pause shows between the
stamps of two lines and in none of their step times. A buffered stream delivers lines in lots, and
their stamps say when they were delivered: then a long wait follows many that are too short.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

AT_ONCE, MOST_AT_ONCE = 0.5, 0.25
"""Share of the usual time between lines under which two were written at once, and share of the
lines of which that may be so where the stamps are to tell the time of a step."""

IN_LOTS = 0.2
"""Share of the mean time between lines under which the usual one says the same."""

WHOLE = 1.0
"""Seconds by which the difference of two stamps in whole seconds may be off."""

CLEAR = 5.0
"""Times the usual deviation from which on a wait is a pause."""

MADE_UP = 2.0
"""Times the time that is not accounted for which all pauses may take together; in lots they take
far more, since the lines behind them make it up."""


def per_step(times: Sequence[float], spans: Sequence[float]) -> list[float] | None:
    """Return the seconds per step between neighbouring stamps, None where one is missing.

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
    return [median(taken), *taken]


def is_steady(taken: Sequence[float]) -> bool:
    """Return whether stamps can tell the time of a step: no lots, and not too coarse.

    Args:
        taken: Seconds per step.
    """
    usual = median(taken)
    at_once = sum(one < AT_ONCE * usual for one in taken)
    return usual > IN_LOTS * sum(taken) / len(taken) and at_once <= MOST_AT_ONCE * len(taken)


def are_whole(times: Sequence[float]) -> bool:
    """Return whether stamps are in whole seconds."""
    return all(time == int(time) for time in times if math.isfinite(time))


def gaps(
    seconds: Sequence[float],
    taken: Sequence[float] | None,
    spans: Sequence[float],
    *,
    whole: bool,
) -> list[float]:
    """Return the seconds between lines that their steps do not account for, 0 where unknown.

    Args:
        seconds: Of a step, as stated.
        taken: The same by the stamps.
        spans: Steps of each line.
        whole: The stamps are in whole seconds.
    """
    none = [0.0] * len(seconds)
    if taken is None:
        return none
    apart = [
        (by_stamp - stated) * span
        for by_stamp, stated, span in zip(taken, seconds, spans, strict=True)
    ]
    usual = median(apart)
    if -usual > AT_ONCE * median(seconds) * median(spans):
        usual = 0.0  # most lines came at once with others
    apart = [0.0, *(one - usual for one in apart[1:])]
    clear = max(WHOLE if whole else 0.0, CLEAR * median(map(abs, apart)))
    pauses = sum(one for one in apart if one > clear)
    return apart if pauses <= MADE_UP * max(0.0, sum(apart)) else none
