"""Memory of a GPU or a process that grows step by step, said before it fails.

``train.memory_growth``
    ``growth`` bytes a step (or a record, ``growth_per``) by the straight line through the
    ``growth_points`` records of ``growth_of``, R² ``growth_fit``; ``grown`` bytes in all, on top of
    ``level``. ``steady`` is the growth of the second half over that of the first: near 1 for a
    leak, near 0 where an allocator only fills its pools. ``capacity`` of the device, where the logs
    state it; it is full at ``full_at`` and in ``left`` seconds, if all goes on like this.

Of a rank that ran out of memory ``gpu_memory`` says this.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from diagnose.facts.gpu_memory import GROWING, MOST_POINTS, line
from diagnose.facts.points import derived_event, point_at
from diagnose.model.event import Clock, Event, Points, Value
from diagnose.model.reading import Reading

EVENTS = ("train.memory_growth",)

HOST = "host_memory"
"""Memory of the process on its host, as scripts print it."""

FEWEST_POINTS = 50
"""Points that show a slow leak."""

LEAST = 0.005
"""Growth from the second to the last quarter, as a share, that is worth a look."""

SETTLING = 0.1
"""Share of the points at the start in which memory may do anything."""


def growths(reading: Reading, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the growth of each rank's memory.

    Args:
        reading: With ranks and hosts completed.
        by_file: What the stamps of each file are measured against.
    """
    metrics: dict[tuple[str, int | None], dict[str, Points]] = defaultdict(dict)
    for points in reading.points:
        if points.metric in (*GROWING, HOST) and len(points.values) >= FEWEST_POINTS:
            metrics[points.file, points.rank].setdefault(points.metric, points)
    sizes = [
        float(size)
        for event in reading.events
        if isinstance(size := event.fields.get("memory_total"), int | float)
    ]
    for found in metrics.values():
        of_gpu = next((found[metric] for metric in GROWING if metric in found), None)
        if of_gpu is not None:
            yield from _growth(of_gpu, min(sizes, default=None), by_file)
        if HOST in found:
            yield from _growth(found[HOST], None, by_file)


def _growth(points: Points, capacity: float | None, by_file: dict[str, Clock]) -> Iterator[Event]:
    count = len(points.values)
    quarter = count // 4
    if median(points.values[-quarter:]) <= (1 + LEAST) * median(
        points.values[quarter : 2 * quarter]
    ):
        return
    begin = max(int(SETTLING * count), count - MOST_POINTS)
    known = [point_at(points, at) for at in range(begin, count) if math.isfinite(points.values[at])]
    numbered = all(b.step > a.step for a, b in zip(known, known[1:], strict=False))
    pairs = [(one.step if numbered else float(place), one.value) for place, one in enumerate(known)]
    if len(pairs) < FEWEST_POINTS // 2:
        return
    slope, fit = line(pairs)
    if slope <= 0:
        return
    half = len(pairs) // 2
    early, late = line(pairs[:half])[0], line(pairs[half:])[0]
    first, last = known[0], known[-1]
    span = pairs[-1][0] - pairs[0][0]
    seconds = (last.time - first.time) / span
    room = None if capacity is None else max(0.0, capacity - last.value) / slope
    fields: dict[str, Value] = {
        "step": int(last.step) if numbered else None,
        "growth": slope,
        "growth_fit": fit,
        "growth_points": len(pairs),
        "growth_of": points.metric,
        "growth_per": "step" if numbered else "record",
        "grown": slope * span,
        "level": first.value,
        "steady": late / early if early > 0 else None,
        "capacity": capacity,
        "full_at": round(last.step + room) if numbered and room is not None else None,
        "left": room * seconds if room is not None and math.isfinite(seconds) else None,
    }
    yield derived_event(points, last, EVENTS[0], fields, by_file)
