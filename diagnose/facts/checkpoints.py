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
from collections.abc import Iterator
from statistics import median

from diagnose.facts.attempts import step_counters
from diagnose.facts.clock import Clocks
from diagnose.facts.exits import waiting_ranks
from diagnose.facts.points import points_of
from diagnose.model.event import Event, Nature, Points, Value
from diagnose.model.reading import Reading

EVENTS = ("ckpt.save", "ckpt.save_open")

FEWEST_WAITING = 2
"""Ranks that must have timed out before the one that saved was late alone."""

FEWEST_WAITS = 3
"""Waits between step lines from which the usual one is known."""


def saves(reading: Reading, clocks: Clocks) -> Iterator[Event]:
    """Yield the saves that training waited for, with how long.

    An asynchronous save blocks only while it stages; its background part is left out.
    """
    ended = any(event.name == "ckpt.save_end" for event in reading.events)
    usual = _usual(reading.points) if ended else None
    known: set[tuple[str, Value]] = set()
    said: dict[str, set[int]] = {}
    previous: dict[str, float] = {}
    starts: dict[tuple[str, int | None], Event] = {}
    scheduled: set[tuple[str, Value]] = set()
    waited = waiting_ranks(reading.events)
    for event in sorted(reading.events, key=lambda one: (one.file, one.line)):
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
            yield _at(event, "ckpt.save", fields)


def _awaited(rank: int | None, waited: set[int | None]) -> int | None:
    """Return the rank of a save for which others waited; a program may print all on one rank."""
    return rank if len(waited) >= FEWEST_WAITING and rank not in waited else None


def _same_step(start: Event, end: Event) -> bool:
    steps = start.fields.get("step"), end.fields.get("step")
    return None in steps or steps[0] == steps[1]


def _usual(series: list[Points]) -> float | None:
    """Return the usual step time of the job."""
    times = [value for points in series if points.metric == "step_time" for value in points.values]
    return median(times) if times else None


def gaps(reading: Reading) -> Iterator[Event]:
    """Yield the saves whose end no line states: the wait until the next step line.

    Hugging Face and DeepSpeed print the start alone. What a step line usually takes is taken off; a
    gap that holds an evaluation says nothing of the save.
    """
    ended = {event.file for event in reading.events if event.name == "ckpt.save_end"}
    waited = waiting_ranks(reading.events)
    starts: dict[str, list[Event]] = {}
    for event in reading.events:
        if event.name == "ckpt.save_start" and event.time is not None and event.file not in ended:
            starts.setdefault(event.file, []).append(event)
    evaluated: dict[str, list[int]] = {}
    for points in reading.points:
        if points.metric == "validation_loss":
            evaluated.setdefault(points.file, []).extend(points.lines)
    for points in step_counters(reading.points) if starts else ():
        known = [point for point in points_of(points) if math.isfinite(point.time)]
        waits = [late.time - early.time for early, late in zip(known, known[1:], strict=False)]
        if len(waits) < FEWEST_WAITS:
            continue
        usual = median(waits)
        seen = -1
        for start in starts.get(points.file, []):
            following = next((point for point in known if point.line > start.line), None)
            if following is None or start.time is None or following.line == seen:
                continue
            seen = following.line
            held = range(start.line, following.line)
            lasted = following.time - start.time - usual
            if lasted <= 0 or any(line in held for line in evaluated.get(points.file, [])):
                continue
            fields: dict[str, Value] = {
                "step": start.fields.get("step"),
                "path": start.fields.get("path"),
                "lasted": lasted,
                "awaited": _awaited(start.rank, waited),
            }
            yield _at(start, "ckpt.save", fields)


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
            yield _at(start, "ckpt.save_open", {**fields, "lead": _lead(start, timeouts, clocks)})


def _lead(start: Event, timeouts: list[Event], clocks: Clocks) -> float | None:
    """Return the seconds between a save and the nearest onset of a timeout, None if unknown."""
    leads: list[float] = []
    for event in timeouts:
        waited = event.fields.get("lasted") or event.fields.get("timeout")
        apart = clocks.apart(start, event)
        if apart is not None and isinstance(waited, int | float):
            leads.append(abs(apart[0] - waited))
    return min(leads, default=None)


def _at(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return Event(
        name=name, nature=Nature.MEASUREMENT, file=event.file, line=event.line,
        end_line=event.end_line, text=event.text, fields=fields, time=event.time,
        clock=event.clock, rank=event.rank, local_rank=event.local_rank, host=event.host,
        attempt=event.attempt,
    )  # fmt: skip
