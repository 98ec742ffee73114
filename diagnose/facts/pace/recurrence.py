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
from diagnose.facts.statistics import binomial_tail

FEWEST_HITS = 3
LEAST_PRECISION = 0.6
LEAST_RECALL = 0.7
MOST_CHANCE = 0.01
"""Bounds between a match and chance: in 1,000 simulated steps with ten saves and four other stalls
only the true period passes, in 800 random series none."""

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

    def holds(self, hits: int = FEWEST_HITS, chance: float = MOST_CHANCE) -> bool:
        """Return whether the slow lines come at these places.

        Args:
            hits: Least places that must be hit.
            chance: That this must lie under.
        """
        return (
            self.hits >= hits
            and self.precision >= LEAST_PRECISION
            and self.recall >= LEAST_RECALL
            and self.chance < chance
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """Slow lines by step or by moment.

    Args:
        slow: In order.
        ends: What each line ends with: its step, or its stamp.
        span: How much a line usually covers.
        before: How far before a place the end of a line may lie to be hit; behind it ``span``.
    """

    slow: Sequence[Slow]
    ends: Sequence[float]
    span: float
    before: float

    def fit(self, places: Sequence[float], others: frozenset[int] = frozenset()) -> Fit:
        """Return how the slow lines lie to places.

        Args:
            places: In the unit of ``ends``, in order.
            others: Slow lines that something else accounts for; they do not count against
                precision.
        """
        slow = {one.place for one in self.slow}
        near: set[int] = set()
        hits = possible = 0
        for place in places:
            if not self.ends[0] <= place < self.ends[-1]:
                continue
            lines = range(
                bisect_left(self.ends, place - self.before),
                bisect_right(self.ends, place + self.span),
            )
            near.update(lines)
            possible += 1
            hits += any(line in slow for line in lines)
        here = [one for one in self.slow if one.place in near]
        rest = [one for one in self.slow if one.place not in near and one.place not in others]
        if not here:
            return Fit(0, possible, 0.0, 0.0, 1.0, [])
        seconds = sum(one.excess for one in here)
        precision = max(
            len(here) / (len(here) + len(rest)),
            seconds / (seconds + sum(one.excess for one in rest)),
        )
        chance = binomial_tail(len(here), len(self.slow), len(near) / len(self.ends))
        return Fit(hits, possible, precision, hits / possible, chance, here)

    def period(self, others: frozenset[int]) -> tuple[float, float] | None:
        """Return the distance at which slow lines come back, and the first place.

        Args:
            others: Slow lines that something else accounts for.

        Returns:
            None where most distances differ.
        """
        moments: list[float] = []
        for one in self.slow:
            end = self.ends[one.place]
            if one.place not in others and (not moments or end - moments[-1] > 2 * self.span):
                moments.append(end)
        apart = [late - early for early, late in pairwise(moments)]
        if len(apart) < FEWEST_HITS:
            return None
        usual = median(apart)
        same = [one for one in apart if abs(one - usual) <= self.span]
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
