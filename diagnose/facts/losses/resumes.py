"""How the losses behind a load compare with those of the run before it.

================ =================================================================================
``train.replay`` Steps done again after a load: how far their loss is from the first time
``train.resume`` The level of the loss before and after a load
================ =================================================================================

A run that was resumed into another file counts, where rank and host are the same.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

from diagnose.facts.clock import Clocks
from diagnose.facts.points import Point, derived_event, points_of
from diagnose.facts.statistics import level_and_noise
from diagnose.model.event import Clock, Event, Points, Value
from diagnose.model.reading import Reading

EVENTS = ("train.replay", "train.resume")

RUNS_APART = 10.0
"""Seconds by which a step must lie before a load to belong to an earlier run."""

COMPARED = 100
"""Replayed steps that are compared."""

BEFORE, SETTLING, AFTER = 20, 2, 20
"""Points of the level before a load, left out behind it, and of the level behind that."""

FEWEST_BEFORE, FEWEST_AFTER = 5, 3


@dataclass(frozen=True, slots=True)
class Resumed:
    """A series that goes on behind a load.

    Args:
        points: The series.
        after: Its points behind the load.
        before: Points of the run that was interrupted, each with its file.
    """

    points: Points
    after: list[Point]
    before: list[tuple[Point, str]]


def resumes(reading: Reading, clocks: Clocks, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield how the losses behind each load compare with those of the run before."""
    for resumed in _resumed(reading, clocks, by_file):
        yield from _replay(resumed, by_file)
        yield from _level(resumed, by_file)


def _resumed(reading: Reading, clocks: Clocks, by_file: dict[str, Clock]) -> Iterator[Resumed]:
    losses = [points for points in reading.points if points.metric == "loss"]
    loads = {
        event.file: event
        for event in reading.events
        if event.name in ("ckpt.load_start", "ckpt.load_end")
    }
    for points in losses:
        load = loads.get(points.file)
        if load is None:
            continue
        after = [point for point in _known(points) if point.line > load.line]
        if not after:
            continue
        first = min(point.step for point in after)
        before = [
            (point, other.file)
            for other in losses
            for point in _before(other, points, load, first, clocks, by_file)
        ]
        if before:
            yield Resumed(points, after, sorted(before, key=lambda pair: pair[0].step))


def _replay(resumed: Resumed, by_file: dict[str, Clock]) -> Iterator[Event]:
    earlier = {point.step: (point, file) for point, file in resumed.before if point.value}
    pairs = [(earlier[new.step], new) for new in resumed.after if new.step in earlier][:COMPARED]
    if not pairs:
        return
    changes = [(new.value - old.value) / abs(old.value) for (old, _), new in pairs]
    (old, file), new = pairs[0]
    fields: dict[str, Value] = {
        "step": int(new.step),
        "steps": len(pairs),
        "before": old.value,
        "after": new.value,
        "change": fmean(changes),
        "difference": median(abs(change) for change in changes),
        "first_file": file,
        "first_line": old.line,
    }
    yield derived_event(resumed.points, new, "train.replay", fields, by_file)


def _level(resumed: Resumed, by_file: dict[str, Clock]) -> Iterator[Event]:
    first = min(point.step for point in resumed.after)
    before = [point.value for point, _ in resumed.before if point.step < first][-BEFORE:]
    after = resumed.after[SETTLING : SETTLING + AFTER]
    if len(before) < FEWEST_BEFORE or len(after) < FEWEST_AFTER:
        return
    old, spread = level_and_noise(before)
    new = median(point.value for point in after)
    noise = max(spread, 0.005 * abs(old))
    if not old or not noise:
        return
    fields: dict[str, Value] = {
        "step": int(first),
        "before": old,
        "after": new,
        "change": (new - old) / abs(old),
        "score": (new - old) / noise,
        "last": resumed.after[-1].value,
    }
    yield derived_event(resumed.points, resumed.after[0], "train.resume", fields, by_file)


def _known(points: Points) -> list[Point]:
    return [
        point
        for point in points_of(points)
        if math.isfinite(point.step) and math.isfinite(point.value)
    ]


def _before(
    other: Points,
    points: Points,
    load: Event,
    first: float,
    clocks: Clocks,
    by_file: dict[str, Clock],
) -> Iterator[Point]:
    """Yield the points of the run that was interrupted, of the same rank and host."""
    if other.rank != points.rank or other.host != points.host:
        return
    found = _known(other)
    if other.file == points.file:
        yield from (point for point in found if point.line < load.line)
        return
    moment = clocks.of(load)
    clock = by_file.get(other.file, Clock.NONE)
    begins_earlier = min((point.step for point in found), default=first) < first
    for point in found:
        seen = clocks.instant(point.time, clock, host=other.host, file=other.file)
        # As printed: two runs that reach the same step look like two clocks of one moment.
        if seen is not None and moment is not None and seen.domain.family == moment.domain.family:
            if moment.seconds - seen.seconds > RUNS_APART:
                yield point
        elif begins_earlier:
            yield point
