"""What the records of saves say together with the steps around them.

=================== ==============================================================================
``ckpt.save``       A save that training waited for: ``lasted`` as stated, else between the stamps
                    of its start and its end; ``steps`` that would have fitted into it, and its
                    ``share`` of the time since the save before; ``awaited``, the rank that wrote
                    it, where its peers timed out and it did not
``ckpt.save_open``  A save that was begun and never reported as ended, with no step behind it
=================== ==============================================================================
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from diagnose.facts.attempts import step_counters
from diagnose.facts.clock import Clocks
from diagnose.facts.exits import waiting_ranks
from diagnose.facts.points import event_from
from diagnose.model.event import Event, Points, Value
from diagnose.model.reading import Reading

EVENTS = ("ckpt.save", "ckpt.save_open")

FEWEST_WAITING = 2
"""Ranks that must have timed out before the one that saved was late alone."""

FEWEST_WAITS = 3
"""Waits between step lines from which the usual one is known."""


def derive(reading: Reading, clocks: Clocks) -> Iterator[Event]:
    """Yield the saves that were waited for, and those without an end.

    Args:
        reading: With ranks, hosts and attempts completed.
        clocks: Of the input, repaired.
    """
    yield from saves(reading, clocks)
    yield from gaps(reading)
    yield from open_saves(reading, clocks)


def saves(reading: Reading, clocks: Clocks) -> Iterator[Event]:
    """Yield the saves that training waited for, with how long.

    An asynchronous save blocks only while it stages; its background part is left out.
    """
    ended = any(event.name == "ckpt.save_end" for event in reading.events)
    usual = usual_step_time(reading.points) if ended else None
    known: set[tuple[str, Value]] = set()
    said: dict[str, set[int]] = {}
    previous: dict[str, float] = {}
    starts: dict[tuple[str, int | None], Event] = {}
    scheduled: set[tuple[str, Value]] = set()
    waited = waiting_ranks(reading.events)
    told = (event for event in reading.events if event.name.startswith("ckpt.save_"))
    for event in sorted(told, key=lambda one: (one.file, one.line)):
        writer = event.file, event.rank
        if event.name == "ckpt.save_start":
            if writer not in starts:  # one save may announce each of its files
                starts[writer] = event
        elif event.name == "ckpt.save_scheduled":
            scheduled.add((event.file, event.fields.get("step")))
        elif event.name == "ckpt.save_end":
            start = starts.pop(writer, None)
            step = event.fields.get("step")
            if step is None and start is not None:
                step = start.fields.get("step")
            lasted = event.fields.get("lasted")
            if event.fields.get("part") == "async" or (event.file, step) in scheduled:
                continue
            if lasted is None and start is not None and _same_step(start, event):
                apart = clocks.apart(start, event)
                lasted = apart[0] if apart else None
            if not isinstance(lasted, int | float) or lasted <= 0:
                continue
            if (event.file, step) in known or event.line in said.get(event.file, ()):
                continue
            said.setdefault(event.file, set()).add(event.line)
            if step is not None:
                known.add((event.file, step))
            interval = None
            if isinstance(step, int):
                interval = step - previous.get(event.file, math.nan)
                previous[event.file] = step
            between = usual * interval if usual and interval and interval > 0 else None
            fields: dict[str, Value] = {
                "step": step,
                "path": event.fields.get("path") or (start.fields.get("path") if start else None),
                "lasted": lasted,
                "fastest": event.fields.get("fastest"),
                "step_time": usual,
                "steps": lasted / usual if usual else None,
                "share": lasted / (lasted + between) if between else None,
                "awaited": _awaited(event.rank, waited),
            }
            yield event_from(event, "ckpt.save", fields)


def _awaited(rank: int | None, waited: set[int | None]) -> int | None:
    """Return the rank of a save for which others waited; a program may print all on one rank."""
    return rank if len(waited) >= FEWEST_WAITING and rank not in waited else None


def _same_step(start: Event, end: Event) -> bool:
    steps = start.fields.get("step"), end.fields.get("step")
    return None in steps or steps[0] == steps[1]


def usual_step_time(series: Iterable[Points]) -> float | None:
    """Return the usual step time of the job in seconds, None if unknown."""
    times = [value for points in series if points.metric == "step_time" for value in points.values]
    return median(times) if times else None


def gaps(reading: Reading) -> Iterator[Event]:
    """Yield the saves whose end no line states: the wait until the next step line.

    Hugging Face and DeepSpeed print the start alone. What a step line usually takes is taken off; a
    gap that holds an evaluation says nothing of the save. Where lines have no stamps, the time that
    the next step states counts.
    """
    starts = _starts_alone(reading.events)
    waited = waiting_ranks(reading.events)
    evaluated: dict[str, list[int]] = {}
    for points in reading.points:
        if points.metric == "validation_loss":
            evaluated.setdefault(points.file, []).extend(points.lines)
    timed = [(points, False) for points in reading.points if points.metric == "step_time"]
    counted = [(points, True) for points in step_counters(reading.points)]
    for points, stamped in [*counted, *timed] if starts else ():
        waits = _waits(points, stamped=stamped)
        if len(waits) < FEWEST_WAITS or points.file not in starts:
            continue
        usual = median(wait for _, wait in waits)
        lines = [line for line, _ in waits]
        seen = -1
        for start in starts[points.file]:
            place = bisect_right(lines, start.line)
            if place == len(lines) or place == seen:
                continue
            seen = place
            held = range(start.line, lines[place])
            lasted = waits[place][1] - usual
            if lasted <= 0 or any(line in held for line in evaluated.get(points.file, [])):
                continue
            fields: dict[str, Value] = {
                "step": start.fields.get("step"),
                "path": start.fields.get("path"),
                "lasted": lasted,
                "awaited": _awaited(start.rank, waited),
            }
            yield event_from(start, "ckpt.save", fields)


def _starts_alone(events: Sequence[Event]) -> dict[str, list[Event]]:
    """Return the starts of saves of each file that states no end of any."""
    ended = {event.file for event in events if event.name == "ckpt.save_end"}
    found: dict[str, list[Event]] = {}
    for event in events:
        if event.name == "ckpt.save_start" and event.file not in ended:
            found.setdefault(event.file, []).append(event)
    return found


def _waits(points: Points, *, stamped: bool) -> list[tuple[int, float]]:
    """Return how long each line took, by the stamps or, where there are none, as it states."""
    rows = list(zip(points.lines, points.times, points.values, strict=True))
    known = [(line, time) for line, time, _ in rows if math.isfinite(time)]
    if stamped:
        return [(line, time - before) for (_, before), (line, time) in pairwise(known)]
    if known:
        return []
    return [(line, value) for line, _, value in rows if math.isfinite(value)]


def open_saves(reading: Reading, clocks: Clocks) -> Iterator[Event]:
    """Yield the saves that were begun, not ended, and followed by no step.

    Only where the program reports ends at all, or nothing else follows but errors. ``lead`` is how
    far apart the save and the call of the collective that timed out began, in seconds.
    """
    last_step: dict[str, int] = {}
    for points in reading.points:
        if points.lines:
            last_step[points.file] = max(points.lines[-1], last_step.get(points.file, 0))
    last_end = {
        event.file: event.line
        for event in reading.events
        if event.name in ("ckpt.save_end", "ckpt.save_scheduled", "train.exit")
    }
    starts = {event.file: event for event in reading.events if event.name == "ckpt.save_start"}
    timeouts = [event for event in reading.events if event.name == "c10d.watchdog_timeout"]
    for file, start in starts.items():
        if start.line > max(last_step.get(file, 0), last_end.get(file, 0)):
            fields = {name: start.fields.get(name) for name in ("step", "path")}
            yield event_from(
                start, "ckpt.save_open", {**fields, "lead": _lead(start, timeouts, clocks)}
            )


def _lead(start: Event, timeouts: list[Event], clocks: Clocks) -> float | None:
    """Return the seconds between a save and the nearest onset of a timeout, None if unknown."""
    leads: list[float] = []
    for event in timeouts:
        waited = event.fields.get("lasted") or event.fields.get("timeout")
        apart = clocks.apart(start, event)
        if apart is not None and isinstance(waited, int | float):
            leads.append(abs(apart[0] - waited))
    return min(leads, default=None)
