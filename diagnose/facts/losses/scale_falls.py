"""A loss scale that fell by several halvings within few steps, read from its column.

Not at the start, where a scaler looks for its range.
"""

import math
from collections.abc import Iterator

from diagnose.facts.attempts import Attempts
from diagnose.facts.losses.overflow_runs import FALL
from diagnose.facts.points import Point, derived_event, runs_of
from diagnose.model.event import Clock, Event, Value
from diagnose.model.reading import Reading

SCALE_WARM_UP = 500
"""Steps in which a loss scaler may still look for its range (Megatron starts at 2**32)."""

FALL_STEPS = 100
"""Steps within which the halvings of a fall count together."""

FALL_HALVINGS = 3
"""Halvings that make a fall; one or two are how a scaler works."""


def scale_falls(reading: Reading, attempts: Attempts, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the largest fall of each attempt's loss scale behind the search of its range."""
    loads = {
        event.file: event.line for event in reading.events if event.name.startswith("ckpt.load")
    }
    for points in reading.points:
        if points.metric != "loss_scale" or len(set(points.values)) < 2:
            continue
        for run in runs_of(points, attempts):
            known = [point for point in run if point.value > 0 and point.step == point.step]
            loaded = loads.get(points.file)
            since = [p.step for p in known if loaded is not None and p.line > loaded]
            begin = max(SCALE_WARM_UP, min(since, default=0) + FALL_STEPS)
            best: tuple[float, Point, Point] | None = None
            first = 0
            for place, low in enumerate(known):
                while low.step - known[first].step > FALL_STEPS:
                    first += 1
                falls = place > first and low.value < known[place - 1].value
                if low.step < begin or not falls:
                    continue
                high = max(known[first:place], key=lambda one: one.value)
                halvings = math.log2(high.value / low.value)
                if halvings >= FALL_HALVINGS and (best is None or halvings > best[0]):
                    best = halvings, high, low
            if best is not None:
                halvings, high, low = best
                later = [point.value for point in known if point.line > low.line]
                fields: dict[str, Value] = {
                    "step": int(low.step),
                    "before": high.value,
                    "after": low.value,
                    "halvings": round(halvings),
                    "within": int(low.step - high.step),
                    "recovered": max(later) >= high.value / 2 if later else None,
                }
                yield derived_event(points, low, FALL, fields, by_file)
