"""The series behind an event, small enough to be shown."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from statistics import median

from diagnose.facts.points import whole
from diagnose.model.event import Event, Points, Value
from diagnose.model.report import Curve

STRETCHES = 60
"""Values that a curve keeps at most."""

SAMPLE = 200
"""Points of a stretch, evenly spaced, that its median is taken of at most."""

FEWEST = 5
"""Points that make a curve."""

DIGITS = 6
"""Significant digits of a value."""

WARM_UP, LONG, PART = 50, 1.5, 4
"""Points at the start that are left out at most, how many times the median makes them long, and the
part of a series that they may be. The compilation of the first step would flatten all others."""

STATISTIC = "series."
"""Beginning of the name of an event that a condition on a series makes; its metric follows."""

UNITS = {
    "step_time": "s", "data_time": "s", "compute_time": "s", "comm_time": "s",
    "optimizer_time": "s", "checkpoint_time": "s", "data_share": "share", "mfu": "share",
    "tokens_per_s": "tokens/s", "tokens_per_s_gpu": "tokens/s", "samples_per_s": "samples/s",
    "tflops": "TFLOP/s", "memory_allocated": "bytes", "memory_reserved": "bytes",
    "memory_peak": "bytes", "memory_used": "bytes",
}  # fmt: skip
"""By metric; what is not listed has none."""


def metric_of(event: Event) -> str | None:
    """Return the metric that an event rests on, None if it rests on none."""
    if event.name.startswith(STATISTIC):
        return event.name.removeprefix(STATISTIC)
    metric = event.fields.get("metric")
    return metric if isinstance(metric, str) else None


def curve_of(event: Event, series: Sequence[Points]) -> Curve | None:
    """Return the series that an event rests on, None where it is not there or has few points.

    Args:
        event: It stands at a point of the series.
        series: All series of its metric.
    """
    points = _behind(event, series)
    if points is None or len(points.values) < FEWEST:
        return None
    place = _place(points, event.line)
    begin = _warmed_up(points, place)
    shown = points.values[begin:] if begin else points.values
    finite = [value for value in shown if math.isfinite(value)]
    low, high = min(finite, default=None), max(finite, default=None)
    values, mark = _stretches(shown, None if place is None else place - begin, low, high)
    return Curve(
        metric=points.metric,
        unit=UNITS.get(points.metric),
        file=points.file,
        rank=points.rank,
        host=points.host,
        first_step=whole(points.steps[begin]),
        last_step=whole(points.steps[-1]),
        low=_rounded(low),
        high=_rounded(high),
        before=_level(event.fields.get("before"), low, high),
        after=_level(event.fields.get("after"), low, high),
        values=values,
        mark=mark,
        step=None if place is None else whole(points.steps[place]),
    )


def _behind(event: Event, series: Sequence[Points]) -> Points | None:
    """Return the series of the event's writer, else the one that has a point at its line."""
    here = [points for points in series if points.file == event.file]
    own = [points for points in here if (points.rank, points.host) == (event.rank, event.host)]
    exact = [points for points in own or here if _place(points, event.line) is not None]
    return next(iter(exact or own or here), None)


def _place(points: Points, line: int) -> int | None:
    place = bisect_left(points.lines, line)
    return place if place < len(points.lines) and points.lines[place] == line else None


def _warmed_up(points: Points, place: int | None) -> int:
    """Return the first point of a series of times behind the long ones at its start."""
    if UNITS.get(points.metric) != "s":
        return 0
    values = points.values
    bound = LONG * median(values[:: -(-len(values) // (STRETCHES * SAMPLE))])
    most = min(WARM_UP, len(values) // PART, len(values) if place is None else place)
    return next((begin for begin in range(most) if values[begin] <= bound), most)


def _stretches(
    values: Sequence[float], place: int | None, low: float | None, high: float | None
) -> tuple[list[float | None], int | None]:
    """Return one value for each stretch of points, and the stretch that holds a place."""
    count = min(len(values), STRETCHES)
    kept: list[float | None] = []
    mark: int | None = None
    extremes = {value for value in (low, high) if value is not None}
    for number in range(count):
        begin, end = number * len(values) // count, (number + 1) * len(values) // count
        if place is not None and begin <= place < end:
            mark = number
            kept.append(_rounded(values[place]))
            continue
        stretch = [value for value in values[begin:end] if math.isfinite(value)]
        if 2 * len(stretch) <= end - begin:
            kept.append(None)
            continue
        shown = next((value for value in stretch if value in extremes), None)
        extremes -= {shown}
        sample = stretch[:: max(1, len(stretch) // SAMPLE)]
        kept.append(_rounded(median(sample) if shown is None else shown))
    return kept, mark


def _level(value: Value, low: float | None, high: float | None) -> float | None:
    """Return a level that an event states, None where it cannot be one of this series."""
    if isinstance(value, bool) or not isinstance(value, int | float) or low is None or high is None:
        return None
    return _rounded(value) if low <= value <= high else None


def _rounded(value: float | None) -> float | None:
    """Return a value as it is kept; None where it is no finite number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")
