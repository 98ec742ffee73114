"""Gradient norms that are NaN, or exactly 0, at many steps in a row.

``train.gradients_nan``, ``train.gradients_zero``
    ``points`` norms in a row from ``step`` to ``last_step``, ``since_start`` steps behind the first
    that was logged; ``goes_on`` where the series ends with them. ``scale_before`` and
    ``scale_after`` are the loss scales above and at their end, ``scales`` counts the different
    ones among them; ``loss`` is the level of the loss in their second half and ``loss_change``
    that over the first half, less one. All of these are None where the logs do not show them.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from statistics import median

from diagnose.facts.losses.runs import Run, Series
from diagnose.facts.points import derived_event, point_at, whole
from diagnose.model.event import Clock, Event, Value

FEWEST = 3
"""Norms in a row that are worth an event."""

MOST = 1000
"""Points of loss and loss scale beside them that are looked at."""

KINDS: dict[str, Callable[[float], bool]] = {
    "train.gradients_nan": lambda norm: norm != norm,
    "train.gradients_zero": lambda norm: norm == 0,
}

EVENTS = tuple(KINDS)


def gradient_rows(
    norms: Iterable[Run], series: Series, by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Yield the longest row of each kind of each run.

    Args:
        norms: Runs of the gradient norm.
        series: Of the input.
        by_file: What the stamps of each file are measured against.
    """
    for run in norms:
        for name, is_one in KINDS.items():
            if (row := _longest(run, is_one)) is not None:
                yield _event(run, *row, name, series, by_file)


def _longest(run: Run, is_one: Callable[[float], bool]) -> tuple[int, int] | None:
    values, at, best = run.points.values[run.begin : run.end], run.begin, (0, 0)
    if 0.0 not in values and math.isfinite(sum(values)):
        return None  # nearly every run: told at a hundredth of the cost
    for found, group in groupby(values, key=is_one):
        length = sum(1 for _ in group)
        if found and length > best[1] - best[0]:
            best = at, at + length
        at += length
    return best if best[1] - best[0] >= FEWEST else None


def _event(
    run: Run, begin: int, end: int, name: str, series: Series, by_file: dict[str, Clock]
) -> Event:
    points = run.points
    first, last = points.steps[begin], points.steps[end - 1]
    losses = [one.value for one in series.beside(run, "loss", first, last, MOST)]
    half = len(losses) // 2
    early, late = (median(losses[:half]), median(losses[half:])) if half else (None, None)
    scales = [one.value for one in series.beside(run, "loss_scale", first, last, MOST)]
    before = series.beside(run, "loss_scale", run.first, first - 0.5, MOST)
    fields: dict[str, Value] = {
        "step": whole(first),
        "last_step": whole(last),
        "points": end - begin,
        "since_start": whole(first - run.first),
        "goes_on": end == run.end,
        "scale_before": max((one.value for one in before), default=None),
        "scale_after": scales[-1] if scales else None,
        "scales": len(set(scales)) if scales else None,
        "loss": late,
        "loss_change": late / early - 1 if early and late is not None else None,
    }
    point = point_at(points, begin)
    event = derived_event(points, point, name, fields, by_file)
    event.attempt = run.attempt
    return event
