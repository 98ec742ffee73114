"""What the records of saves and loads say together with the steps around them.

=================== ==============================================================================
``ckpt.save``       A save that training waited for: ``lasted`` as stated, else between the stamps
                    of its start and its end; ``steps`` that would have fitted into it, and its
                    ``share`` of the time since the save before; ``awaited``, the rank that wrote
                    it, where its peers timed out and it did not
``ckpt.save_open``  A save that was begun and never reported as ended, with no step behind it
``train.replay``    Steps done again after a load: how far their loss is from the first time
``train.resume``    The level of the loss before and after a load
=================== ==============================================================================

A run that was resumed into another file counts, where rank and host are the same.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

from diagnose.facts.attempts import step_counters
from diagnose.facts.clock import Clocks
from diagnose.facts.exits import waiting_ranks
from diagnose.facts.points import Point, derived_event, points_of
from diagnose.facts.statistics import level_and_noise
from diagnose.model.event import Clock, Event, Nature, Points, Value
from diagnose.model.reading import Reading

EVENTS = ("ckpt.save", "ckpt.save_open", "train.replay", "train.resume")

RUNS_APART = 10.0
"""Seconds by which a step must lie before a load to belong to an earlier run."""

COMPARED = 100
"""Replayed steps that are compared."""

BEFORE, SETTLING, AFTER = 20, 2, 20
"""Points of the level before a load, left out behind it, and of the level behind that."""

FEWEST_WAITING = 2
"""Ranks that must have timed out before the one that saved was late alone."""

FEWEST_BEFORE, FEWEST_AFTER = 5, 3
FEWEST_WAITS = 3
"""Waits between step lines from which the usual one is known."""


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


def saves(reading: Reading, clocks: Clocks) -> Iterator[Event]:
    """Yield the saves that training waited for, with how long.

    An asynchronous save blocks only while it stages; its background part is left out.
    """
    usual = _usual(reading.points)
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
                moments = clocks.of(start), clocks.of(event)
                if moments[0] is not None and moments[1] is not None:
                    apart = clocks.difference(moments[0], moments[1])
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
    for points in step_counters(reading.points):
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
    began = clocks.of(start)
    leads: list[float] = []
    for event in timeouts:
        waited = event.fields.get("lasted") or event.fields.get("timeout")
        ended = clocks.of(event)
        apart = clocks.difference(began, ended) if began and ended else None
        if apart is not None and isinstance(waited, int | float):
            leads.append(abs(apart[0] - waited))
    return min(leads, default=None)


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


def _at(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return Event(
        name=name, nature=Nature.MEASUREMENT, file=event.file, line=event.line,
        end_line=event.end_line, text=event.text, fields=fields, time=event.time,
        clock=event.clock, rank=event.rank, local_rank=event.local_rank, host=event.host,
        attempt=event.attempt,
    )  # fmt: skip
