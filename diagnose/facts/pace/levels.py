"""Steps that take longer from some moment on, and steps that take longer and longer.

``train.level_shift``
    A rise of the seconds of a step: ``step``, ``before`` and ``after`` (of a throughput without
    stamps only their ``ratio``), ``rise`` as a share, ``gain`` of the split, ``noise`` as a share,
    ``points`` behind it. ``recovered``: the level came back down, at ``recovered_step``; ``shifts``
    counts all changes of level. ``restart``: a start of the job lies within three lines, at
    ``restart_step``, with the ``new_hosts`` and ``settings`` that changed there,
    ``settings_changed`` in number. Likewise ``evaluation``, and ``work_changed``: batch or sequence
    length, though steps are compared by their work. ``data_part`` is the share of the rise that
    went into waiting for data, where that is printed.
``train.drift``
    Where a line fits better than a change of level: ``change`` over the run as a share, ``p``,
    ``before`` and ``after``, ``data_part``, the share of a step that went into waiting for data at
    first and at last (``data_before``, ``data_after``), and the ``memory`` whose level rose by the
    share ``memory_change``.
"""

from collections.abc import Iterator, Sequence
from math import isfinite, log
from statistics import median

from diagnose.facts.pace.beside import beside, rise_of
from diagnose.facts.pace.events import job_event
from diagnose.facts.pace.restarts import Restart, restarts
from diagnose.facts.pace.segments import Segment, block_medians, noise
from diagnose.facts.pace.steps import Pace
from diagnose.facts.pace.trend import MOST, Trend, trend
from diagnose.facts.pace.work import changed
from diagnose.facts.points import whole
from diagnose.model.event import Clock, Event, Value
from diagnose.model.reading import Reading

EVENTS = ("train.level_shift", "train.drift")

NEAR = 3
"""Lines around a change of level in which its reason is looked for."""

BACK = 1 / 3
"""Share of a rise that may be left where the level has come back."""

BETWEEN_FIFTHS = 0.8
"""Part of a steady rise that lies between the medians of the first and the last fifth."""

MEMORY = ("memory_allocated", "memory_reserved", "memory_used", "memory_peak")


def changes(
    reading: Reading, pace: Pace, found: Sequence[Segment], by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Yield the rises of the level of a job's steps, or their drift.

    Args:
        reading: The input.
        pace: Of the job.
        found: Its stretches of one level.
        by_file: What the stamps of each file are measured against.
    """
    line = trend(pace.seconds, found)
    if len(found) > 1 and not line.is_line:
        yield from _shifts(reading, pace, found, by_file)
    elif line.change > 0:
        yield job_event(pace, len(pace) - 1, EVENTS[1], _drift(reading, pace, line), by_file)


def _shifts(
    reading: Reading, pace: Pace, found: Sequence[Segment], by_file: dict[str, Clock]
) -> Iterator[Event]:
    logs = [log(value) for value in block_medians(pace.seconds, MOST * 10)[0]]
    scatter = noise(logs)
    waits = beside(pace, reading.points, "data_time")
    begun = restarts(reading, pace)
    evaluated = [
        step for points in reading.points if points.metric == "validation_loss"
        for step in points.steps
    ]  # fmt: skip
    for number, (early, late) in enumerate(zip(found, found[1:], strict=False), start=1):
        if late.level <= early.level:
            continue
        near = range(max(0, late.start - NEAR), min(len(pace), late.start + NEAR + 1))
        first, last = pace.steps[near[0]], pace.steps[near[-1]]
        work = pace.work[near[0] : near[-1] + 1]
        restart = next((one for one in begun if one.place in near), None)
        fields: dict[str, Value] = {
            "step": whole(pace.steps[late.start]),
            **_levels(pace, early.level, late.level),
            "rise": late.level / early.level - 1,
            "gain": late.gain,
            "noise": scatter,
            "points": late.end - late.start,
            "shifts": len(found) - 1,
            **_recovery(pace, early, late, found[number + 1 :]),
            **_restart(pace, restart),
            "evaluation": any(first <= step <= last for step in evaluated),
            "work_changed": changed(work),
            "data_part": rise_of(waits, early, late, late.level - early.level),
        }
        yield job_event(pace, late.start, EVENTS[0], fields, by_file)


def _levels(pace: Pace, before: float, after: float) -> dict[str, Value]:
    return {
        "before": before if pace.timed else None,
        "after": after if pace.timed else None,
        "ratio": after / before,
    }


def _recovery(
    pace: Pace, early: Segment, late: Segment, following: Sequence[Segment]
) -> dict[str, Value]:
    bound = early.level + BACK * (late.level - early.level)
    back = next((one for one in following if one.level <= bound), None)
    step = None if back is None else whole(pace.steps[back.start])
    return {"recovered": back is not None, "recovered_step": step}


def _restart(pace: Pace, restart: Restart | None) -> dict[str, Value]:
    """Return what is known of a restart; its first step may be one of warm-up."""
    if restart is None:
        return {
            "restart": False, "restart_step": None, "new_hosts": None, "settings": None,
            "settings_changed": 0,
        }  # fmt: skip
    first = pace.writers[pace.attempts[restart.place]].steps[0]
    return {
        "restart": True,
        "restart_step": whole(first),
        "new_hosts": list(restart.new_hosts),
        "settings": list(restart.settings),
        "settings_changed": len(restart.settings),
    }


def _drift(reading: Reading, pace: Pace, line: Trend) -> dict[str, Value]:
    fifth = max(1, len(pace) // 5)
    ends = Segment(0, fifth, line.start, 0.0), Segment(len(pace) - fifth, len(pace), line.end, 0.0)
    waits = beside(pace, reading.points, "data_time")
    fields: dict[str, Value] = {
        **_levels(pace, line.start, line.end),
        "change": line.change,
        "p": line.p,
        "data_part": rise_of(waits, *ends, BETWEEN_FIFTHS * (line.end - line.start)),
        "data_before": _data_share(pace, waits[:fifth], 0),
        "data_after": _data_share(pace, waits[-fifth:], len(pace) - fifth),
        "memory": None,
        "memory_change": None,
    }
    for metric in MEMORY:
        held = [one for one in beside(pace, reading.points, metric)[:fifth] if isfinite(one)]
        if not held:
            continue
        change = rise_of(beside(pace, reading.points, metric), *ends, median(held))
        if change is not None:
            return fields | {"memory": metric, "memory_change": change}
    return fields


def _data_share(pace: Pace, waits: Sequence[float], first: int) -> float | None:
    """Return the usual share of waiting in the steps from a line on, None where it is not known."""
    taken = pace.seconds[first : first + len(waits)]
    shares = [wait / whole for wait, whole in zip(waits, taken, strict=True) if isfinite(wait)]
    return median(shares) if shares and pace.timed else None
