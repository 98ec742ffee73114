"""Stalls that come back, and what they come with.

``train.periodic_stall``
    Slow steps, or pauses between steps, that come where something happens or at equal distances.
    ``matches`` says what: ``save``, ``evaluation``, ``epoch``, ``garbage collection``, ``logging``,
    ``accumulation`` (of gradients, where each part is a step), ``workers`` (of the loader: the
    distance is their number or twice it), ``wall clock`` or ``unknown``; ``shown``, whether the
    logs show it happening or an argument announces it. ``period`` is their distance in steps,
    ``period_s`` in seconds, ``phase`` the step of the first; ``hits``, ``places``, ``precision``,
    ``recall`` and ``p`` as in ``recurrence``. ``excess`` are the seconds a stall takes beyond the
    usual step (the median), ``total`` of all, ``share`` their part of the wall time, ``paused`` the
    part of the seconds that lies between the stamps of lines and in no step time.
``train.irregular_stalls``
    Slow steps that fit none of these: their ``count``, ``total`` seconds and ``share``; ``late`` is
    the share of them in the second half of the run, ``p`` the chance of that many there.
"""

import math
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from diagnose.facts.pace import recurrence
from diagnose.facts.pace.events import job_event
from diagnose.facts.pace.places import Places, places, workers
from diagnose.facts.pace.recurrence import Fit, fit, multiples, period
from diagnose.facts.pace.slow_steps import Slow, slow_steps
from diagnose.facts.pace.steps import Pace
from diagnose.facts.points import whole
from diagnose.model.event import Clock, Event, Value
from diagnose.model.reading import Reading

EVENTS = ("train.periodic_stall", "train.irregular_stalls")

MINUTES = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1440)
"""Distances at which timers of hosts go off."""

ORDER = ("accumulation", "evaluation", "save", "epoch", "garbage collection", "logging")
"""What is believed first where two kinds lie at the same steps: the harmless one."""

FEWEST_IRREGULAR = 4

Around = tuple[float, float]


def stalls(reading: Reading, pace: Pace, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the stalls of a job.

    Args:
        reading: The input.
        pace: Of the job.
        by_file: What the stamps of each file are measured against.
    """
    slow = slow_steps(pace)
    if len(slow) < recurrence.FEWEST_HITS:
        return
    span = median(pace.spans)
    around = (span if span <= 1 else 0.0, span)
    known = places(reading, pace)
    taken: frozenset[int] = frozenset()
    while True:
        chosen = _best(known, slow, pace, around, taken)
        if chosen is None:
            break
        kind, found = chosen
        taken |= {one.place for one in found.slow}
        others = [one.steps for one in known if one.kind != kind.kind and one.shown]
        alone = _alone(found.slow, others, pace, around)
        fields = _fields(pace, found, alone, kind.kind, kind.every or _distance(kind.steps))
        yield job_event(
            pace, found.slow[0].place, EVENTS[0], fields | {"shown": kind.shown}, by_file
        )
    rest = [one for one in slow if one.place not in taken]
    unnamed = _unnamed(rest, slow, pace, span, around, taken)
    if unnamed is not None:
        found, kind_name, distance = unnamed
        if kind_name == "unknown" and distance is not None:
            kind_name = _named_by_distance(distance, known, workers(reading), span)
        fields = _fields(pace, found, found.slow, kind_name, distance)
        yield job_event(pace, found.slow[0].place, EVENTS[0], fields | {"shown": False}, by_file)
    elif len(rest) >= FEWEST_IRREGULAR:
        yield job_event(pace, rest[-1].place, EVENTS[1], _irregular(pace, rest), by_file)


def _best(
    known: list[Places], slow: list[Slow], pace: Pace, around: Around, taken: frozenset[int]
) -> tuple[Places, Fit] | None:
    """Return the kind of place that accounts for most of what is left."""
    found = []
    for kind in known:
        one = fit(slow, pace.steps, around, kind.steps, taken)
        if one.holds and not taken.issuperset(slow.place for slow in one.slow):
            rank = (round(one.precision * one.recall, 2), kind.shown, -ORDER.index(kind.kind))
            found.append((rank, kind, one))
    return max(found, key=lambda row: row[0])[1:] if found else None


def _alone(
    hits: list[Slow], others: list[list[float]], pace: Pace, around: Around
) -> list[Slow]:  # fmt: skip
    """Return the hits at which nothing else happens, all of them if they are too few."""
    steps = sorted(step for one in others for step in one)
    shared = {one.place for one in fit(hits, pace.steps, around, steps).slow} if steps else set()
    alone = [one for one in hits if one.place not in shared]
    return alone if len(alone) >= recurrence.FEWEST_HITS else hits


def _unnamed(
    rest: list[Slow],
    slow: list[Slow],
    pace: Pace,
    span: float,
    around: Around,
    taken: frozenset[int],
) -> tuple[Fit, str, float | None] | None:
    """Return stalls at equal distances of steps or of time, the kind, and the distance in steps."""
    by_step = by_clock = None
    steps: float | None = None
    if (found := period(rest, pace.steps, span)) is not None:
        steps = round(found[0] / span) * span
        at = multiples(steps, found[1], pace.steps) if steps > span else []
        by_step = fit(slow, pace.steps, around, at, taken)
    if all(map(math.isfinite, pace.times)):
        by_clock = _by_clock(rest, slow, pace, taken)
    one = _sure(by_step)
    other = _sure(by_clock)
    if other is not None and (one is None or other.recall > one.recall):
        return other, "wall clock", None
    return None if one is None else (one, "unknown", steps)


def _sure(found: Fit | None) -> Fit | None:
    if found is None or not found.holds or found.hits < recurrence.UNNAMED_HITS:
        return None
    return found if found.chance < recurrence.UNNAMED_CHANCE else None


def _by_clock(
    rest: list[Slow], slow: list[Slow], pace: Pace, taken: frozenset[int]
) -> Fit | None:  # fmt: skip
    """Return how slow lines lie to a timer of whole minutes, by when they would have ended."""
    usual = median(pace.seconds) * median(pace.spans)
    ends = [pace.times[0], *(early + usual for early in pace.times[:-1])]
    if any(late < early for early, late in pairwise(ends)):
        return None
    found = period(rest, ends, usual)
    if found is None:
        return None
    distance = min((60.0 * one for one in MINUTES), key=lambda one: abs(one - found[0]))
    if abs(distance - found[0]) > usual or distance < 4 * usual:
        return None
    return fit(slow, ends, (usual, usual), multiples(distance, found[1], ends), taken)


def _named_by_distance(
    distance: float, known: list[Places], workers: set[int], span: float
) -> str:  # fmt: skip
    """Return what happens at that distance, though it was not seen where the stalls are."""
    if distance in workers:
        return "workers"
    for kind in known:
        if abs((kind.every or _distance(kind.steps) or 0.0) - distance) < span / 2:
            return kind.kind
    return "unknown"


def _distance(steps: list[float]) -> float | None:
    apart = [late - early for early, late in pairwise(steps)]
    return median(apart) if apart else None


def _fields(
    pace: Pace, found: Fit, alone: list[Slow], matches: str, distance: float | None
) -> dict[str, Value]:  # fmt: skip
    excess = median(one.excess for one in alone)
    total = min(excess * len(found.slow), sum(one.excess for one in found.slow))
    times = [pace.times[one.place] for one in found.slow]
    apart = [late - early for early, late in pairwise(times) if math.isfinite(late - early)]
    return {
        "matches": matches,
        "period": None if distance is None else whole(distance),
        "period_s": median(apart) if apart else None,
        "phase": whole(pace.steps[found.slow[0].place]),
        "hits": found.hits,
        "places": found.places,
        "precision": found.precision,
        "recall": found.recall,
        "p": found.chance,
        "excess": excess if pace.timed else None,
        "total": total if pace.timed else None,
        "share": total / pace.wall_time,
        "paused": _paused(pace, found.slow),
        "step_time": median(pace.seconds) if pace.timed else None,
    }


def _paused(pace: Pace, slow: list[Slow]) -> float:
    """Return which part of stalls no step time holds, all of it where only stamps are known."""
    if pace.metric == "time":
        return 1.0
    return sum(one.pause for one in slow) / sum(one.excess for one in slow)


def _irregular(pace: Pace, rest: list[Slow]) -> dict[str, Value]:
    late = sum(one.place >= len(pace) / 2 for one in rest)
    total = sum(one.excess for one in rest)
    return {
        "count": len(rest),
        "total": total if pace.timed else None,
        "excess": median(one.excess for one in rest) if pace.timed else None,
        "share": total / pace.wall_time,
        "late": late / len(rest),
        "p": recurrence.tail(late, len(rest), 0.5),
    }
