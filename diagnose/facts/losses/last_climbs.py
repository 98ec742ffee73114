"""A loss that climbs until it is no number any more.

``train.climb_to_nan``
    From its lowest level (``before``, the median of five values among the last hundred) the loss
    rose to ``peak``, the median of the last three finite values, at ``ratio`` of it and ``score``
    times the noise away, within ``points`` values; then it was no number at ``step``. Climbs of a
    dozen values are neither jumps nor lasting rises.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from diagnose.facts.losses.runs import Run
from diagnose.facts.points import derived_event, point_at, whole
from diagnose.facts.statistics import noise_of_steps
from diagnose.model.event import Clock, Event, Value

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
        end = next((one for one in ends.get(run.points.file, ()) if _within(one, run)), None)
        if end is None:
            continue
        points = run.points
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


def _within(event: Event, run: Run) -> bool:
    same = event.rank is None or run.points.rank is None or event.rank == run.points.rank
    return same and run.above < event.line < run.below


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
