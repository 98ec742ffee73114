"""The time of each save that some programs print among the numbers of its step."""

from collections.abc import Iterator
from math import nan
from statistics import median

from diagnose.facts.points import Point, derived_event, points_of, whole
from diagnose.model.event import Clock, Event, Points, Value
from diagnose.model.reading import Reading


def saves(reading: Reading, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield ``ckpt.save`` for each save whose time stands in the series ``checkpoint_time``.

    It has the fields of the saves that messages tell. Where such messages state the ends of saves,
    nothing is added to them.

    Args:
        reading: The input.
        by_file: What the stamps of each file are measured against.
    """
    if any(event.name == "ckpt.save_end" for event in reading.events):
        return
    times = [
        one for points in reading.points if points.metric == "step_time" for one in points.values
    ]
    usual = median(times) if times else None
    last: dict[int, float] = {}
    for (attempt, step), (points, point) in sorted(_longest(reading.points).items()):
        interval = step - last.get(attempt, nan)
        last[attempt] = step
        between = usual * interval if usual and interval > 0 else None
        fields: dict[str, Value] = {
            "step": whole(step),
            "lasted": point.value,
            "step_time": usual,
            "steps": point.value / usual if usual else None,
            "share": point.value / (point.value + between) if between else None,
        }
        event = derived_event(points, point, "ckpt.save", fields, by_file)
        event.rank = event.host = None  # all ranks wait
        yield event


def _longest(series: list[Points]) -> dict[tuple[int, float], tuple[Points, Point]]:
    """Return the save of each attempt and step, of several ranks the one that took longest.

    A time that stands on line after line is that of the last save.
    """
    found: dict[tuple[int, float], tuple[Points, Point]] = {}
    for points in series:
        if points.metric != "checkpoint_time":
            continue
        before = nan
        for point in points_of(points):
            key = points.attempt, point.step
            is_new = point.value > 0 and point.value != before and point.step == point.step
            if is_new and (key not in found or point.value > found[key][1].value):
                found[key] = points, point
            before = point.value
    return found
