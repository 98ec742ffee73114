"""Ranks whose losses are the same digit for digit, in a job whose ranks have losses of their own.

``train.ranks_same_loss``
    ``ranks`` print one sequence of ``points`` losses; ``others`` is how many ranks have a sequence
    that no other has. Where most ranks share theirs, the loss is averaged or the model is split
    over them, and nothing is said.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from diagnose.facts.points import derived_event, point_at
from diagnose.model.event import Clock, Event, Points, Value

NAME = "train.ranks_same_loss"

COMPARED = 20
"""First points that are compared."""

FEWEST_RANKS = 4

ALONE = 0.5
"""Share of the ranks that must have losses of their own."""


def same_ranks(losses: Iterable[Points], by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the groups of ranks with the same losses.

    Args:
        losses: Series of the losses.
        by_file: What the stamps of each file are measured against.
    """
    groups: dict[tuple[tuple[float, float], ...], dict[int, Points]] = defaultdict(dict)
    for points in losses:
        pairs = zip(points.steps[:COMPARED], points.values[:COMPARED], strict=True)
        start = tuple((step, value) for step, value in pairs if math.isfinite(value))
        if points.rank is not None and len(start) == COMPARED:
            groups[start].setdefault(points.rank, points)
    alone = sum(len(group) == 1 for group in groups.values())
    total = sum(len(group) for group in groups.values())
    if total < FEWEST_RANKS or alone < ALONE * total:
        return
    for group in groups.values():
        if len(group) > 1:
            ranks = sorted(group)
            points = group[ranks[0]]
            point = point_at(points, 0)
            fields: dict[str, Value] = {"ranks": [*ranks], "others": alone, "points": COMPARED}
            yield derived_event(points, point, NAME, fields, by_file)
