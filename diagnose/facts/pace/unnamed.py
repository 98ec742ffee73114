"""Stalls at equal distances, of steps or of time, of which it is not known what happens there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from diagnose.facts.pace.places import Places
from diagnose.facts.pace.recurrence import Axis, Fit, multiples
from diagnose.facts.pace.steps import Pace

HITS, CHANCE = 5, 1e-4
"""Least hits and most chance where the distance itself is looked for."""

MINUTES = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1440)
"""Distances at which timers of hosts go off."""

APART = 4.0
"""Usual lines between two moments of a timer; closer together they are told by steps."""


@dataclass(frozen=True, slots=True)
class Unnamed:
    """Stalls at equal distances.

    Args:
        fit: How slow lines lie to them.
        kind: What else is known to have that distance, ``wall clock`` or ``unknown``.
        distance: In steps, None where it is one of time.
    """

    fit: Fit
    kind: str
    distance: float | None


def unnamed(
    axis: Axis, pace: Pace, others: frozenset[int], known: Sequence[Places], workers: set[int]
) -> Unnamed | None:
    """Return stalls at equal distances, None if there are none.

    Args:
        axis: Slow lines by step.
        pace: Of the job.
        others: Slow lines that something else accounts for.
        known: What happens in the run.
        workers: Distances at which a slow worker of the loader shows.
    """
    by_clock = _by_clock(axis, pace, others)
    found = axis.period(others)
    distance = 0.0 if found is None else round(found[0] / axis.span) * axis.span
    by_step: Fit | None = None
    if found is not None and distance > axis.span:
        by_step = axis.fit(multiples(distance, found[1], axis.ends), others)
        by_step = by_step if by_step.holds(HITS, CHANCE) else None
    if by_clock is not None and (by_step is None or by_clock.recall > by_step.recall):
        return Unnamed(by_clock, "wall clock", None)
    if by_step is None:
        return None
    return Unnamed(by_step, _kind(distance, axis.span, known, workers), distance)


def _by_clock(axis: Axis, pace: Pace, others: frozenset[int]) -> Fit | None:
    """Return how slow lines lie to a timer of whole minutes, by when they would have ended."""
    if not all(map(math.isfinite, pace.times)):
        return None
    usual = median(pace.seconds) * axis.span
    ends = [pace.times[0], *(early + usual for early in pace.times[:-1])]
    if any(late < early for early, late in pairwise(ends)):
        return None
    clock = Axis(axis.slow, ends, usual, usual)
    found = clock.period(others)
    if found is None:
        return None
    distance = min((60.0 * one for one in MINUTES), key=lambda one: abs(one - found[0]))
    if abs(distance - found[0]) > usual or distance < APART * usual:
        return None
    fit = clock.fit(multiples(distance, found[1], ends), others)
    return fit if fit.holds(HITS, CHANCE) else None


def _kind(distance: float, span: float, known: Sequence[Places], workers: set[int]) -> str:
    """Return what happens at that distance, though it was not seen where the stalls are."""
    if distance in workers:
        return "workers"
    for one in known:
        if one.distance is not None and abs(one.distance - distance) < span / 2:
            return one.kind
    return "unknown"
