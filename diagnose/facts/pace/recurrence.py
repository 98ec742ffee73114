"""Whether slow steps come where something is known to happen, or at equal distances.

A place (a step or a moment) is hit where the line that covers it, or the next one, is slow.
*Precision* is the share of the slow lines that lie at places, of their number or of their seconds,
whichever is more; *recall* the share of the places that are hit; *p* the chance that so many of the
slow lines lie at places if they lie anywhere.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from diagnose.facts.pace.slow_steps import Slow

FEWEST_HITS = 3
LEAST_PRECISION = 0.6
LEAST_RECALL = 0.7
MOST_CHANCE = 0.01
"""Bounds between a match and chance: in 1,000 simulated steps with ten saves and four other stalls
only the true period passes, in 800 random series none."""

UNNAMED_HITS, UNNAMED_CHANCE = 5, 1e-4
"""The same where the period itself is looked for."""

COMPARED = 100
"""Stalls from which the first place of a period is taken."""

SAME_GAPS = 0.6
"""Share of the distances between slow lines that a period must account for."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How slow lines lie to places.

    Args:
        hits: Places that were hit.
        places: Places that could have been.
        precision: See above.
        recall: See above.
        chance: See above, *p*.
        slow: The slow lines at places.
    """

    hits: int
    places: int
    precision: float
    recall: float
    chance: float
    slow: list[Slow]

    @property
    def holds(self) -> bool:
        """Whether the slow lines come at these places."""
        return (
            self.hits >= FEWEST_HITS
            and self.precision >= LEAST_PRECISION
            and self.recall >= LEAST_RECALL
            and self.chance < MOST_CHANCE
        )


def fit(
    slow: Sequence[Slow],
    ends: Sequence[float],
    around: tuple[float, float],
    places: Sequence[float],
    others: frozenset[int] = frozenset(),
) -> Fit:
    """Return how slow lines lie to places.

    Args:
        slow: In order.
        ends: What each line ends with: its step, or its stamp.
        around: How far before and behind a place the end of a line may lie to be hit.
        places: In the unit of ``ends``, in order.
        others: Slow lines that something else accounts for; they do not count against precision.
    """
    by_place = {one.place: one for one in slow}
    near: set[int] = set()
    hit = possible = 0
    for place in places:
        if not ends[0] <= place < ends[-1]:
            continue
        lines = range(bisect_left(ends, place - around[0]), bisect_right(ends, place + around[1]))
        near.update(lines)
        possible += 1
        hit += any(line in by_place for line in lines)
    at_places = [one for one in slow if one.place in near]
    rest = [one for one in slow if one.place not in near and one.place not in others]
    if not at_places:
        return Fit(0, possible, 0.0, 0.0, 1.0, [])
    seconds = sum(one.excess for one in at_places)
    precision = max(
        len(at_places) / (len(at_places) + len(rest)),
        seconds / (seconds + sum(one.excess for one in rest)),
    )
    chance = tail(len(at_places), len(slow), len(near) / len(ends))
    return Fit(hit, possible, precision, hit / possible, chance, at_places)


def period(slow: Sequence[Slow], ends: Sequence[float], span: float) -> tuple[float, float] | None:
    """Return the distance at which slow lines come back, and the first place, None without one.

    Args:
        slow: In order.
        ends: As for ``fit``.
        span: How much a line usually covers.
    """
    moments: list[float] = []
    for one in slow:
        if not moments or ends[one.place] - moments[-1] > 2 * span:
            moments.append(ends[one.place])
    apart = [late - early for early, late in pairwise(moments)]
    if len(apart) < FEWEST_HITS:
        return None
    usual = median(apart)
    same = [one for one in apart if abs(one - usual) <= span]
    if len(same) < SAME_GAPS * len(apart):
        return None
    distance = sum(same) / len(same)
    return distance, _phase(moments[:: -(-len(moments) // COMPARED)], distance)


def multiples(distance: float, first: float, ends: Sequence[float]) -> list[float]:
    """Return the places at equal distances within a series."""
    number = math.ceil((ends[0] - first) / distance)
    found = []
    while first + number * distance <= ends[-1]:
        found.append(first + number * distance)
        number += 1
    return found


def _phase(moments: Sequence[float], distance: float) -> float:
    """Return the place from which the moments lie at the least distances from multiples."""

    def rests(first: float) -> list[float]:
        turns = [(one - first) / distance for one in moments]
        return [(turn - round(turn)) * distance for turn in turns]

    first = min(moments, key=lambda one: median(map(abs, rests(one))))
    return first + median(rests(first))


def tail(hits: int, tries: int, share: float) -> float:
    """Return the chance of so many hits or more."""
    if share >= 1:
        return 1.0
    logs = [
        math.lgamma(tries + 1) - math.lgamma(one + 1) - math.lgamma(tries - one + 1)
        + one * math.log(share) + (tries - one) * math.log1p(-share)
        for one in range(hits, tries + 1)
    ]  # fmt: skip
    return min(1.0, sum(map(math.exp, logs)))
