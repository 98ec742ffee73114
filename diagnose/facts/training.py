"""What follows from training records taken together and stands in no single line.

======================  ==========================================================================
``ckpt.save``           A save that training waited for: ``lasted`` as stated, else between the
                        stamps of its start and end; ``steps`` that would have fitted into it
``train.replay``        Steps done again after a load: how far their loss is from the first time
``train.loss_jump``     A loss far above the losses before it, and whether it came back
``train.gradient_jump`` The same of the gradient norm
``train.scale_fall``    A loss scale that fell by several halvings within few steps, not at the
                        start, where a scaler looks for its range
``data_share``          A metric: the part of a step's time that went into waiting for data
======================  ==========================================================================

Excerpts of five to ten step lines are common, so a jump needs only two points before it; the more
there are, the more the noise of the series counts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Clocks
from diagnose.model.event import Clock, Event, Nature, Points, Value
from diagnose.model.reading import Reading

DERIVED = (
    "ckpt.save",
    "train.replay",
    "train.loss_jump",
    "train.gradient_jump",
    "train.scale_fall",
)

SIGMA = 1.4826
WARM_UP = 10
"""Steps at the start of a run in which a loss may do anything."""

HISTORY = 100
"""Points before one against which it is judged."""

LONG = 20
"""Points from which on the noise of a series is known."""

AFTER = 3
"""Points behind a jump that are needed to say whether the level came back."""

SCALE_WARM_UP = 500
"""Steps in which a loss scaler may still look for its range (Megatron starts at 2**32)."""

FALL_STEPS = 100
"""Steps within which the halvings of a fall count together."""

FALL_HALVINGS = 3
RUNS_APART = 10.0
"""Seconds by which a step must lie before a load to belong to an earlier run."""

RESTORED_STEPS = 100
"""Replayed steps that are compared."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What makes a point a jump.

    Args:
        ratio: Least ratio to the median before it.
        clear: Ratio from which on the next point need not agree.
        least: Least difference.
        score: Least distance in robust standard deviations where the noise is known.
    """

    ratio: float
    clear: float
    least: float
    score: float


LOSS = Limits(ratio=1.25, clear=2.0, least=0.3, score=8.0)
GRADIENT = Limits(ratio=10.0, clear=10.0, least=0.0, score=8.0)


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a series."""

    step: float
    time: float
    value: float
    line: int


def derive(reading: Reading, attempts: Attempts, clocks: Clocks, by_file: dict[str, Clock]) -> None:
    """Add the derived events and series to a reading.

    Args:
        reading: With ranks, hosts and attempts completed; changed in place.
        attempts: Of the input.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file are measured against.
    """
    reading.points.extend(data_shares(reading.points))
    found = [
        *saves(reading, clocks),
        *replays(reading, clocks, by_file),
        *jumps(reading, attempts, by_file),
        *scale_falls(reading, attempts, by_file),
    ]
    if not found:
        return
    for event in found:
        event.attempt = attempts.at(event.file, event.line, event.attempt)
    place = {source.name: number for number, source in enumerate(reading.sources)}
    reading.events.extend(found)
    reading.events.sort(key=lambda one: (place.get(one.file, len(place)), one.file, one.line))


def data_shares(series: list[Points]) -> Iterator[Points]:
    """Yield the share of each step that was spent waiting for data.

    The first line of a later epoch is left out: its wait is the start of the loader's workers.
    """
    others = {
        (points.metric, points.file, points.rank, points.host, points.attempt): points
        for points in series
        if points.metric in ("step_time", "epoch")
    }
    for points in series:
        if points.metric != "data_time":
            continue
        writer = points.file, points.rank, points.host, points.attempt
        whole = others.get(("step_time", *writer))
        if whole is None:
            continue
        epochs = others.get(("epoch", *writer))
        by_line = dict(zip(whole.lines, whole.values, strict=True))
        by_step = dict(zip(whole.steps, whole.values, strict=True))
        first = _first_lines(epochs) if epochs is not None else set()
        share = Points(metric="data_share", file=points.file, rank=points.rank, host=points.host,
                       attempt=points.attempt)  # fmt: skip
        for step, time, wait, line in zip(
            points.steps, points.times, points.values, points.lines, strict=True
        ):
            total = by_line.get(line) or by_step.get(step)
            if not total or not wait >= 0 or line in first or step == 0:
                continue
            share.steps.append(step)
            share.times.append(time)
            share.values.append(min(1.0, wait / total))
            share.lines.append(line)
        if share.values:
            yield share


def _first_lines(epochs: Points) -> set[int]:
    """Return the lines at which a further whole epoch begins."""
    pairs = list(zip(epochs.values, epochs.lines, strict=True))
    return {
        line
        for (before, _), (now, line) in zip(pairs, pairs[1:], strict=False)
        if now != before and now == int(now)
    }


def saves(reading: Reading, clocks: Clocks) -> Iterator[Event]:
    """Yield the saves that training waited for, with how long.

    An asynchronous save blocks only while it stages; its background part is left out.
    """
    step_time = _usual(reading.points)
    known: set[tuple[str, Value]] = set()
    starts: dict[tuple[str, int | None], Event] = {}
    scheduled: set[tuple[str, Value]] = set()
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
            if not isinstance(lasted, int | float) or lasted <= 0 or (event.file, step) in known:
                continue
            if step is not None:
                known.add((event.file, step))
            usual = step_time.get(event.file)
            fields: dict[str, Value] = {
                "step": step,
                "path": event.fields.get("path") or (start.fields.get("path") if start else None),
                "lasted": lasted,
                "fastest": event.fields.get("fastest"),
                "step_time": usual,
                "steps": lasted / usual if usual else None,
            }
            yield _from(event, "ckpt.save", fields)


def _same_step(start: Event, end: Event) -> bool:
    steps = start.fields.get("step"), end.fields.get("step")
    return None in steps or steps[0] == steps[1]


def _usual(series: list[Points]) -> dict[str, float]:
    """Return the usual step time by file, of the whole job where a file has none."""
    times = [points for points in series if points.metric == "step_time" and points.values]
    whole = [value for points in times for value in points.values if value > 0]
    if not whole:
        return {}
    usual = median(whole)
    return {points.file: usual for points in series}


def replays(reading: Reading, clocks: Clocks, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield, for each load, how the losses of steps done again differ from the first time."""
    losses = [points for points in reading.points if points.metric == "loss"]
    loads: dict[str, Event] = {}
    for event in reading.events:
        if event.name in ("ckpt.load_start", "ckpt.load_end"):
            loads[event.file] = event
    for points in losses:
        load = loads.get(points.file)
        if load is None:
            continue
        resumed = [p for p in _points(points) if p.line > load.line and p.step == p.step]
        if not resumed:
            continue
        first = min(point.step for point in resumed)
        earlier: dict[float, tuple[Point, str]] = {}
        for other in losses:
            for point in _before(other, points, load, first, clocks, by_file):
                earlier[point.step] = point, other.file
        pairs = [(earlier[p.step], p) for p in resumed if p.step in earlier][:RESTORED_STEPS]
        pairs = [pair for pair in pairs if pair[0][0].value and math.isfinite(pair[1].value)]
        if not pairs:
            continue
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
        yield _at(points, new, "train.replay", fields, by_file)


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
    found = [point for point in _points(other) if point.step == point.step]
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


def jumps(reading: Reading, attempts: Attempts, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the first jump of each attempt's losses and gradient norms."""
    for points in reading.points:
        kind = {"loss": ("train.loss_jump", LOSS), "grad_norm": ("train.gradient_jump", GRADIENT)}
        if points.metric not in kind:
            continue
        name, limits = kind[points.metric]
        for run in _runs(points, attempts):
            finite = [point for point in run if math.isfinite(point.value) and point.value > 0]
            for place in range(2, len(finite)):
                level, noise = _level(finite, place)
                if not _is_jump(finite, place, level, noise, limits):
                    continue
                yield _at(points, finite[place], name, _jump(finite, place, level, noise), by_file)
                break


def _level(run: list[Point], place: int) -> tuple[float, float]:
    before = [point.value for point in run[max(0, place - HISTORY) : place]]
    level = median(before)
    spread = median(abs(value - level) for value in before)
    return level, max(SIGMA * spread, 0.005 * level)


def _is_jump(run: list[Point], place: int, level: float, noise: float, limits: Limits) -> bool:
    point = run[place]
    if point.step < WARM_UP or (point.step != point.step and place < WARM_UP):
        return False
    rise = point.value - level
    if point.value < limits.ratio * level or rise < limits.least:
        return False
    recent = max(one.value for one in run[max(0, place - LONG) : place])
    if point.value < 1.2 * recent or (place >= LONG and rise < limits.score * noise):
        return False
    if point.value >= limits.clear * level:
        return True
    following = run[place + 1 : place + 1 + AFTER]
    return len(following) >= 1 and min(one.value for one in following) >= level + rise / 2


def _jump(run: list[Point], place: int, level: float, noise: float) -> dict[str, Value]:
    point, after = run[place], run[place + 1 :]
    bound = level + max(3 * noise, 0.1 * level)
    back = next((one for one in after if one.value <= bound), None)
    recovered = back is not None if back is not None or len(after) >= AFTER else None
    return {
        "step": _whole(point.step),
        "before": level,
        "after": point.value,
        "ratio": point.value / level,
        "peak": max(one.value for one in run[place:]),
        "last": run[-1].value,
        "last_step": _whole(run[-1].step),
        "recovered": recovered,
        "recovered_step": None if back is None else _whole(back.step),
        "points_before": place,
        "points_after": len(after),
    }


def scale_falls(reading: Reading, attempts: Attempts, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the largest fall of each attempt's loss scale behind the search of its range."""
    loads = {
        event.file: event.line for event in reading.events if event.name.startswith("ckpt.load")
    }
    for points in reading.points:
        if points.metric != "loss_scale":
            continue
        for run in _runs(points, attempts):
            known = [point for point in run if point.value > 0 and point.step == point.step]
            loaded = loads.get(points.file)
            since = [p.step for p in known if loaded is not None and p.line > loaded]
            begin = max(SCALE_WARM_UP, min(since, default=0) + FALL_STEPS)
            best: tuple[float, Point, Point] | None = None
            for place, low in enumerate(known):
                near = [p for p in known[:place] if low.step - p.step <= FALL_STEPS]
                if low.step < begin or not near:
                    continue
                high = max(near, key=lambda one: one.value)
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
                yield _at(points, low, "train.scale_fall", fields, by_file)


def _runs(points: Points, attempts: Attempts) -> Iterator[list[Point]]:
    """Yield the points of each attempt; a step counter that goes back begins another run."""
    run: list[Point] = []
    last: tuple[int, float] | None = None
    for point in _points(points):
        attempt = attempts.at(points.file, point.line, points.attempt)
        if run and last is not None and (attempt != last[0] or point.step < last[1]):
            yield run
            run = []
        run.append(point)
        last = attempt, point.step
    if run:
        yield run


def _points(points: Points) -> list[Point]:
    columns = points.steps, points.times, points.values, points.lines
    return [Point(*row) for row in zip(*columns, strict=True)]


def _whole(step: float) -> int | None:
    return int(step) if math.isfinite(step) else None


def _at(
    points: Points, point: Point, name: str, fields: dict[str, Value], by_file: dict[str, Clock]
) -> Event:
    clock = by_file.get(points.file, Clock.NONE)
    timed = math.isfinite(point.time) and clock is not Clock.NONE
    shown = ", ".join(
        f"{key} {value:.6g}"
        for key, value in fields.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    return Event(
        name=name, nature=Nature.MEASUREMENT, file=points.file, line=point.line,
        end_line=point.line, text=f"{points.metric}: {shown}", fields=fields,
        time=point.time if timed else None, clock=clock if timed else Clock.NONE,
        rank=points.rank, host=points.host, attempt=points.attempt,
    )  # fmt: skip


def _from(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return Event(
        name=name, nature=Nature.MEASUREMENT, file=event.file, line=event.line,
        end_line=event.end_line, text=event.text, fields=fields, time=event.time,
        clock=event.clock, rank=event.rank, local_rank=event.local_rank, host=event.host,
        attempt=event.attempt,
    )  # fmt: skip
