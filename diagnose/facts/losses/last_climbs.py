"""A loss that climbs until it is no number any more.

``train.climb_to_nan``
    From its lowest level (``before``, the median of five values among the last hundred) the loss
    rose to ``peak``, the median of the last three finite values, at ``ratio`` of it and ``score``
    times the noise away, within ``points`` values; then it was no number at ``step``. Climbs of a
    dozen values are neither jumps nor lasting rises.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from diagnose.facts.losses.runs import Run
from diagnose.facts.points import derived_event, point_at, whole
from diagnose.facts.statistics import noise_of_steps
from diagnose.model.event import Clock, Event, Points, Value

NAME = "train.climb_to_nan"

HISTORY = 100
"""Values before the end that are looked at."""

LEVEL, LAST = 5, 3
"""Values of the lowest level, and of the end."""


def climbs(
    runs: Iterable[Run], events: Iterable[Event], by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Yield what the losses before the first NaN of each run do.

    Args:
        runs: Of the losses.
        events: All of the input.
        by_file: What the stamps of each file are measured against.
    """
    ends: dict[str, list[Event]] = {}
    for event in events:
        if event.name == "train.nan_loss":
            ends.setdefault(event.file, []).append(event)
    for run in runs:
        points = run.points
        own = ends.get(points.file, [])
        begin, behind = (
            bisect_right(own, run.above, key=_line),
            bisect_left(own, run.below, key=_line),
        )
        end = next((one for one in own[begin:behind] if _by(one, points)), None)
        if end is None:
            continue
        behind = bisect_left(points.lines, end.line, run.begin, run.end)
        places = [
            at for at in range(run.begin, behind)
            if math.isfinite(points.values[at]) and points.values[at] > 0
        ][-HISTORY:]  # fmt: skip
        fields = _climb([points.values[at] for at in places])
        if fields is None:
            continue
        at = places[-1]
        point = point_at(points, at)
        event = derived_event(
            points, point, NAME, {"step": whole(points.steps[at]), **fields}, by_file
        )
        event.attempt = run.attempt
        yield event


def _line(event: Event) -> int:
    return event.line


def _by(event: Event, points: Points) -> bool:
    return event.rank is None or points.rank is None or event.rank == points.rank


def _climb(values: Sequence[float]) -> dict[str, Value] | None:
    """Return how far the last values lie above the lowest level, None if it comes last."""
    if len(values) < LEVEL + LAST:
        return None
    levels = [median(values[at : at + LEVEL]) for at in range(len(values) - LEVEL - LAST + 1)]
    lowest = min(range(len(levels)), key=levels.__getitem__)
    quiet = values[: lowest + LEVEL]
    noise = noise_of_steps(quiet)
    level, peak = levels[lowest], median(values[-LAST:])
    return {
        "before": level,
        "peak": peak,
        "ratio": peak / level,
        "score": (peak - level) / max(noise, 0.005 * level),
        "points": len(values) - lowest - LEVEL,
    }
