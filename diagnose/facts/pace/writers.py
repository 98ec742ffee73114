"""Who prints the steps of an attempt, and the numbers of one writer made ready for the pace."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from diagnose.facts.attempts import Attempts
from diagnose.model.event import Points

JOINED = 7
"""Ranks over which a step is joined; more would not change the median."""

AGREEING = 0.05
"""Share by which the levels of ranks of one job may differ."""

MOST = 20_000
"""Lines of an attempt that are looked at; of more, neighbours count as one, as in a log with a
longer interval."""


def by_attempt(series: Sequence[Points], attempts: Attempts) -> dict[int, list[Points]]:
    """Return the stretches of each attempt, the longest first.

    Args:
        series: Of one metric.
        attempts: Of the input.
    """
    found: dict[int, list[Points]] = {}
    for points in series:
        cuts = [bisect_left(points.lines, line) for line in attempts.starts.get(points.file, ())]
        for begin, end in pairwise([0, *cuts, len(points.lines)]):
            if begin < end:
                attempt = attempts.at(points.file, points.lines[begin], points.attempt)
                found.setdefault(attempt, []).append(_slice(points, begin, end))
    for stretches in found.values():
        stretches.sort(key=lambda one: (-len(one.lines), one.rank or 0, one.file))
    return dict(sorted(found.items()))


def _slice(points: Points, begin: int, end: int) -> Points:
    if end - begin == len(points.lines):
        return points
    return Points(
        metric=points.metric, file=points.file, rank=points.rank, host=points.host,
        attempt=points.attempt, steps=points.steps[begin:end], times=points.times[begin:end],
        values=points.values[begin:end], lines=points.lines[begin:end],
    )  # fmt: skip


def thinned(points: Points) -> Points:
    """Return a series of at most ``MOST`` lines, each the mean of so many neighbours."""
    size = -(-len(points.lines) // MOST)
    if size <= 1:
        return points
    whole = len(points.lines) // size * size
    means = [sum(points.values[at : at + size]) / size for at in range(0, whole, size)]
    last = slice(size - 1, whole, size)
    return Points(
        metric=points.metric, file=points.file, rank=points.rank, host=points.host,
        attempt=points.attempt, steps=points.steps[last], times=points.times[last],
        values=type(points.values)("d", means), lines=points.lines[last],
    )  # fmt: skip


def joined_values(stretches: Sequence[Points]) -> list[float]:
    """Return the values of the first series, joined with those of ranks that print the same steps.

    Args:
        stretches: Of one attempt, the longest first.
    """
    spine = thinned(stretches[0])
    columns, ranks, level = [spine.values], {spine.rank}, _level(spine)
    for other in stretches[1:]:
        if len(columns) == JOINED or len(other.lines) < len(stretches[0].lines):
            break
        if other.rank in ranks or None in (other.rank, spine.rank):
            continue
        beside = thinned(other)
        if beside.steps == spine.steps and abs(_level(beside) - level) <= AGREEING * abs(level):
            columns.append(beside.values)
            ranks.add(other.rank)
    if len(columns) == 1:
        return list(spine.values)
    return [median(row) for row in zip(*columns, strict=True)]


def _level(points: Points) -> float:
    finite = [value for value in points.values if math.isfinite(value)]
    return median(finite) if finite else math.nan


def counted_on(points: Points) -> tuple[list[float], list[float]]:
    """Return the steps, counted on over epochs, and where the counter began anew."""
    found, epochs = [], []
    offset, last, apart = 0.0, -math.inf, 1.0
    for place, step in enumerate(points.steps):
        if step != step:
            step = float(place)
        if step < last and step <= 2 * apart:
            offset += last + apart - step
            epochs.append(offset + step)
        elif step > last > -math.inf:
            apart = step - last
        last = step
        found.append(offset + step)
    return found, epochs


def forward(rows: Sequence[int], steps: Sequence[float]) -> list[int]:
    """Return the rows whose step no later row does again."""
    kept: list[int] = []
    least = math.inf
    for row in reversed(rows):
        if steps[row] < least:
            kept.append(row)
            least = steps[row]
    return kept[::-1]
