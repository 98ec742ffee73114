"""Waits for data that shares of single steps do not show.

``train.data_stalls``
    Of the time that the lines of one writer show, ``share`` went into waiting for data; ``worst``
    is the share of the longest wait's step, ``wait`` its seconds, ``stalls`` the steps that waited
    for half of their time or more. ``at_start``: the only such step is the first one shown, where
    the workers of the loader may just have been started. Only of series that are too short for
    their percentiles to mean much.
``train.epoch_start_wait``
    The first batch of every later epoch comes after ``wait`` seconds (the median); ``share`` of an
    epoch's time is that wait, for its ``steps`` take ``rest`` seconds at their usual pace.
"""

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from diagnose.facts.points import Point, derived_event, points_of, whole
from diagnose.model.event import Clock, Event, Points, Value

EVENTS = ("train.data_stalls", "train.epoch_start_wait")

FEWEST, MOST = 5, 25
"""Points between which a series is judged here."""

STALL = 0.5
"""Share of its time from which on a step stalled."""


FEWEST_EPOCHS = 2
"""Later epochs whose first batch is shown."""


def stalls(series: list[Points], by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield one event for each short series of waits that holds a stall.

    Args:
        series: With the shares of waiting.
        by_file: What the stamps of each file are measured against.
    """
    times = {points.writer: points for points in series if points.metric == "step_time"}
    for points in series:
        if points.metric != "data_share" or not FEWEST <= len(points.values) < MOST:
            continue
        total = times[points.writer]
        taken = dict(zip(total.lines, total.values, strict=True))
        waits = [(point, taken.get(point.line, 0.0)) for point in points_of(points)]
        stalled = [(point, time) for point, time in waits if point.value >= STALL]
        if stalled and sum(time for _, time in waits):
            worst = max(stalled, key=lambda pair: pair[0].value * pair[1])
            yield derived_event(
                points, worst[0], EVENTS[0], _fields(waits, stalled, worst), by_file
            )


def _fields(
    waits: list[tuple[Point, float]], stalled: list[tuple[Point, float]], worst: tuple[Point, float]
) -> dict[str, Value]:
    point, time = worst
    return {
        "share": sum(one.value * taken for one, taken in waits) / sum(taken for _, taken in waits),
        "worst": point.value,
        "wait": point.value * time,
        "step": whole(point.step),
        "stalls": len(stalled),
        "points": len(waits),
        "at_start": len(stalled) == 1 and point.line == waits[0][0].line,
    }


def epoch_starts(series: list[Points], by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield one event for each writer whose epochs begin with a wait.

    Args:
        series: Of the input.
        by_file: What the stamps of each file are measured against.
    """
    named = {
        (points.metric, *points.writer): points
        for points in series
        if points.metric in ("step_time", "epoch")
    }
    for points in series:
        writer = points.writer
        times, epochs = named.get(("step_time", *writer)), named.get(("epoch", *writer))
        if points.metric != "data_time" or times is None or epochs is None:
            continue
        begins = _begins(points, dict(zip(epochs.lines, epochs.values, strict=True)))
        lines = {point.line for point in begins}
        usual = [
            one for one, line in zip(times.values, times.lines, strict=True) if line not in lines
        ]
        lengths = {late.step - early.step for early, late in pairwise(begins)}
        if len(begins) <= FEWEST_EPOCHS or len(lengths) != 1 or not usual:
            continue
        later = begins[1:]
        wait, length = median(one.value for one in later), lengths.pop()
        rest = median(usual) * length
        if not wait > 0 < rest:
            continue
        fields: dict[str, Value] = {
            "wait": wait, "rest": rest, "share": wait / (wait + rest), "epochs": len(later),
            "steps": whole(length),
        }  # fmt: skip
        yield derived_event(points, later[0], EVENTS[1], fields, by_file)


def _begins(points: Points, epochs: dict[int, float]) -> list[Point]:
    """Return the first point of each epoch."""
    found: list[Point] = []
    last: float | None = None
    for point in points_of(points):
        epoch = epochs.get(point.line)
        if epoch is not None and epoch == int(epoch) and epoch != last:
            found.append(point)
            last = epoch
    return found
