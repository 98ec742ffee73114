"""Stalls that come back, and what they come with.

``train.periodic_stall``
    Slow steps, or pauses between steps, that come where something happens or at equal distances.
    ``matches`` says what: ``save``, ``evaluation``, ``epoch``, ``garbage collection``, ``logging``,
    ``accumulation`` (of gradients, where each part is a step), ``workers`` (of the loader: the
    distance is their number or twice it), ``wall clock`` or ``unknown``; ``shown``, whether the
    logs show it happening or an argument announces it. ``period`` is their distance in steps,
    ``period_s`` in seconds, ``phase`` the step of the first; ``hits``, ``places``, ``precision``,
    ``recall`` and ``p`` as in ``recurrence``. ``excess`` are the seconds a stall takes beyond the
    usual step (the median), ``steps`` how many usual steps that is, ``total`` of all, ``share``
    their part of the wall time, ``paused`` the part of the seconds that lies between the stamps of
    lines and in no step time, ``data_part`` the part that went into waiting for data, where that is
    printed.
``train.irregular_stalls``
    Slow steps that fit none of these: their ``count``, ``total`` seconds and ``share``; ``late`` is
    the share of them in the second half of the run, ``p`` the chance of that many there.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from diagnose.facts.pace import recurrence
from diagnose.facts.pace.beside import beside
from diagnose.facts.pace.events import job_event
from diagnose.facts.pace.places import Places, places, workers
from diagnose.facts.pace.recurrence import Axis, Fit
from diagnose.facts.pace.segments import Segment
from diagnose.facts.pace.slow_steps import Slow, slow_steps
from diagnose.facts.pace.steps import Pace
from diagnose.facts.pace.unnamed import unnamed
from diagnose.facts.points import whole
from diagnose.facts.statistics import binomial_tail
from diagnose.model.event import Clock, Event, Value
from diagnose.model.reading import Reading

EVENTS = ("train.periodic_stall", "train.irregular_stalls")

ORDER = ("accumulation", "evaluation", "save", "epoch", "garbage collection", "logging")
"""What is believed first where two kinds lie at the same steps: the harmless one."""

FEWEST_IRREGULAR = 4


def stalls(
    reading: Reading, pace: Pace, levels: Sequence[Segment], by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Yield the stalls of a job.

    Args:
        reading: The input.
        pace: Of the job.
        levels: Its stretches of one level.
        by_file: What the stamps of each file are measured against.
    """
    slow = slow_steps(pace, levels)
    if len(slow) < recurrence.FEWEST_HITS:
        return
    span = median(pace.spans)
    axis = Axis(slow, pace.steps, span, span if span <= 1 else 0.0)
    known = places(reading, pace)
    waits = beside(pace, reading.points, "data_time")
    taken: frozenset[int] = frozenset()
    while (chosen := _best(axis, known, taken)) is not None:
        kind, found = chosen
        taken |= {one.place for one in found.slow}
        alone = _alone(axis, found, [one for one in known if one.shown and one is not kind])
        fields = _fields(pace, found, alone, kind.kind, kind.distance) | {
            "shown": kind.shown,
            "data_part": _data_part(pace, found.slow, waits),
        }
        yield job_event(pace, found.slow[0].place, EVENTS[0], fields, by_file)
    other = unnamed(axis, pace, taken, known, workers(reading))
    rest = [one for one in slow if one.place not in taken]
    if other is not None:
        found = other.fit
        fields = _fields(pace, found, found.slow, other.kind, other.distance) | {
            "shown": False,
            "data_part": _data_part(pace, found.slow, waits),
        }
        yield job_event(pace, found.slow[0].place, EVENTS[0], fields, by_file)
    elif len(rest) >= FEWEST_IRREGULAR:
        yield job_event(pace, rest[-1].place, EVENTS[1], _irregular(pace, rest), by_file)


def _best(
    axis: Axis, known: Sequence[Places], taken: frozenset[int]
) -> tuple[Places, Fit] | None:  # fmt: skip
    """Return the kind of place that accounts for most of what is left."""
    found = []
    for kind in known:
        one = axis.fit(kind.steps, taken)
        if one.holds() and not taken.issuperset(slow.place for slow in one.slow):
            rank = (round(one.precision * one.recall, 2), kind.shown, -ORDER.index(kind.kind))
            found.append((rank, kind, one))
    return max(found, key=lambda row: row[0])[1:] if found else None


def _alone(axis: Axis, found: Fit, others: Sequence[Places]) -> list[Slow]:
    """Return the hits at which nothing else happens, all of them if they are too few."""
    steps = sorted(step for one in others for step in one.steps)
    shared = {one.place for one in axis.fit(steps).slow}
    alone = [one for one in found.slow if one.place not in shared]
    return alone if len(alone) >= recurrence.FEWEST_HITS else found.slow


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
        "steps": excess / median(pace.seconds),
        "total": total if pace.timed else None,
        "share": total / pace.wall_time,
        "paused": _paused(pace, found.slow),
        "step_time": median(pace.seconds) if pace.timed else None,
    }


def _data_part(pace: Pace, slow: list[Slow], waits: Sequence[float]) -> float | None:
    """Return which part of what the steps took beyond the usual ones went into waiting for data."""
    known = [one for one in waits if math.isfinite(one)]
    here = [one.place for one in slow if math.isfinite(waits[one.place])]
    usual = median(pace.seconds)
    whole = sum(pace.seconds[place] - usual for place in here)
    if whole <= 0:
        return None
    return sum(waits[place] - median(known) for place in here) / whole


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
        "p": binomial_tail(late, len(rest), 0.5),
    }
