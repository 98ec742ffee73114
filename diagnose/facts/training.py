"""What follows from training records taken together and stands in no single line.

========================= ========================================================================
``train.loss_jump``       A loss far above the losses before it, and whether it came back
``train.gradient_jump``   The same of the gradient norm
``train.scale_fall``      A loss scale that fell by several halvings within few steps, not at the
                          start, where a scaler looks for its range
``train.pipeline_bubble`` The idle share (p-1)/(v*m+p-1) of a pipeline of p stages, m micro-batches
                          and v chunks a stage
``data_share``            A metric: the part of a step's time that went into waiting for data
========================= ========================================================================

Excerpts of five to ten step lines are common, so a jump needs only two points before it; the more
there are, the more the noise of the series counts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.facts import (
    call_sites,
    checkpoints,
    collectives,
    comparison,
    data_waits,
    differences,
    ended_workers,
    endpoints,
    exits,
    fabric,
    fingerprints,
    index_failures,
    inits,
    nccl_calls,
    overflow_runs,
    repeated_jumps,
    settings,
    several_jobs,
    stacks,
    variable_values,
    variables,
    waiting,
)
from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Clocks
from diagnose.facts.points import Point, derived_event, runs_of, whole
from diagnose.facts.statistics import level_and_noise
from diagnose.model.event import Clock, Event, Nature, Points, Value
from diagnose.model.reading import Reading

DERIVED = (
    "train.loss_jump",
    "train.gradient_jump",
    "train.scale_fall",
    "train.pipeline_bubble",
    *checkpoints.EVENTS,
    *collectives.EVENTS,
    *comparison.EVENTS,
    *fabric.EVENTS,
    *data_waits.EVENTS,
    *call_sites.EVENTS,
    *differences.EVENTS,
    *endpoints.EVENTS,
    *ended_workers.EVENTS,
    *exits.EVENTS,
    *fingerprints.EVENTS,
    *index_failures.EVENTS,
    *inits.EVENTS,
    *nccl_calls.EVENTS,
    *repeated_jumps.EVENTS,
    *several_jobs.EVENTS,
    *stacks.EVENTS,
    *variable_values.EVENTS,
    *variables.EVENTS,
    *waiting.EVENTS,
)

WARM_UP = 10
"""Steps at the start of a run in which a loss may do anything."""

UNNUMBERED = 3
"""Points before one whose step is not known."""

HISTORY = 100
"""Points before one against which it is judged."""

ABOVE_RECENT = 1.2
"""Least ratio of a jump to the highest of the ``LONG`` points before it."""

LONG = 20
"""Points from which on the noise of a series is known."""

NOISY = 0.25
"""Share of the level from which on noise makes single points leap; then the next must agree."""

AFTER = 3
"""Points behind a jump that are needed to say whether the level came back."""

SCALE_WARM_UP = 500
"""Steps in which a loss scaler may still look for its range (Megatron starts at 2**32)."""

FALL_STEPS = 100
"""Steps within which the halvings of a fall count together."""

FALL_HALVINGS = 3
"""Halvings that make a fall; one or two are how a scaler works."""


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


def derive(reading: Reading, attempts: Attempts, clocks: Clocks, by_file: dict[str, Clock]) -> None:
    """Add the derived events and series to a reading.

    Args:
        reading: With ranks, hosts and attempts completed; changed in place.
        attempts: Of the input.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file are measured against.
    """
    reading.points.extend(data_shares(reading.points))
    nccl = settings.versions(reading.events)["nccl"]
    nccl_calls.count_repeats(reading.events)
    stacks.name_pids(reading.events)
    found_jumps = list(jumps(reading, attempts, by_file))
    for event in found_jumps:
        event.attempt = attempts.at(event.file, event.line, event.attempt)
    found = [
        *checkpoints.saves(reading, clocks),
        *checkpoints.gaps(reading),
        *checkpoints.open_saves(reading, clocks),
        *checkpoints.resumes(reading, clocks, by_file),
        *found_jumps,
        *repeated_jumps.derive(
            [jump for jump in found_jumps if jump.name == "train.loss_jump"], clocks
        ),
        *data_waits.stalls(reading.points, by_file),
        *data_waits.epoch_starts(reading.points, by_file),
        *scale_falls(reading, attempts, by_file),
        *overflow_runs.falls(reading),
        *bubbles(reading),
        *comparison.derive(reading.events),
        *fabric.derive(reading.events, clocks),
        *call_sites.derive(reading.events),
        *differences.derive(reading.events),
        *endpoints.derive(reading.events),
        *ended_workers.derive(reading.events),
        *exits.derive(reading.events, clocks),
        *fingerprints.derive(reading.events),
        *index_failures.derive(reading),
        *nccl_calls.derive(reading.events),
        *several_jobs.derive(reading.events),
        *variables.names(reading.events, nccl),
        *variable_values.values(reading.events, nccl),
        *stacks.derive(reading.events),
    ]
    for event in found:
        event.attempt = attempts.at(event.file, event.line, event.attempt)
    insert(reading, found)


def insert(reading: Reading, found: list[Event]) -> None:
    """Add derived events to a reading, in the order of sources and lines."""
    if not found:
        return
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


def jumps(reading: Reading, attempts: Attempts, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield the first jump of each attempt's losses and gradient norms."""
    for points in reading.points:
        kind = {"loss": ("train.loss_jump", LOSS), "grad_norm": ("train.gradient_jump", GRADIENT)}
        if points.metric not in kind:
            continue
        name, limits = kind[points.metric]
        for run in runs_of(points, attempts):
            finite = [point for point in run if math.isfinite(point.value) and point.value > 0]
            values = [point.value for point in finite]
            for place in range(2, len(finite)):
                # Hardly any point stands out of the few before it; only those are worth medians.
                if values[place] < ABOVE_RECENT * max(values[max(0, place - LONG) : place]):
                    continue
                level, noise = _level(finite, place)
                if not _is_jump(finite, place, level, noise, limits):
                    continue
                yield derived_event(
                    points, finite[place], name, _jump(finite, place, level, noise), by_file
                )
                break


def _level(run: list[Point], place: int) -> tuple[float, float]:
    level, noise = level_and_noise([point.value for point in run[max(0, place - HISTORY) : place]])
    return level, max(noise, 0.005 * level)


def _is_jump(run: list[Point], place: int, level: float, noise: float, limits: Limits) -> bool:
    point = run[place]
    if point.step < WARM_UP:
        return False
    if point.step != point.step and (place < UNNUMBERED or run[0].value > 1.5 * level):
        return False  # the head of a run falls steeply
    rise = point.value - level
    if point.value < limits.ratio * level or rise < limits.least:
        return False
    if place >= LONG and rise < limits.score * noise:
        return False
    if point.value >= limits.clear * level and noise < NOISY * level:
        return True
    following = run[place + 1 : place + 1 + AFTER]
    return len(following) >= 1 and min(one.value for one in following) >= level + rise / 2


def _jump(run: list[Point], place: int, level: float, noise: float) -> dict[str, Value]:
    point, after = run[place], run[place + 1 :]
    bound = level + max(3 * noise, 0.1 * level)
    back = next((one for one in after if one.value <= bound), None)
    recovered = back is not None if back is not None or len(after) >= AFTER else None
    return {
        "step": whole(point.step),
        "before": level,
        "after": point.value,
        "ratio": point.value / level,
        "peak": max(one.value for one in run[place:]),
        "last": run[-1].value,
        "last_step": whole(run[-1].step),
        "recovered": recovered,
        "recovered_step": None if back is None else whole(back.step),
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
                yield derived_event(points, low, "train.scale_fall", fields, by_file)


def bubbles(reading: Reading) -> Iterator[Event]:
    """Yield the idle share of the pipeline that the printed arguments make."""
    arguments: dict[str, float] = {}
    last: Event | None = None
    for event in reading.events:
        value = event.fields.get("value")
        if event.name == "job.argument" and isinstance(value, int | float) and value > 0:
            name = str(event.fields.get("name"))
            arguments.setdefault(name, value)
            if name == "pipeline_model_parallel_size":
                last = event
    stages, batch = (
        arguments.get("pipeline_model_parallel_size"),
        arguments.get("global_batch_size"),
    )
    micro, replicas = arguments.get("micro_batch_size"), arguments.get("data_parallel_size")
    if last is None or not stages or stages < 2 or not (batch and micro and replicas):
        return
    rounds = batch / micro / replicas
    if rounds < 1:
        return
    chunks = arguments.get("virtual_pipeline_model_parallel_size", 1.0)
    fields: dict[str, Value] = {
        "stages": int(stages),
        "micro_batches": int(rounds),
        "chunks": int(chunks),
        "share": (stages - 1) / (chunks * rounds + stages - 1),
    }
    yield Event(
        name="train.pipeline_bubble", nature=Nature.MEASUREMENT, file=last.file, line=last.line,
        end_line=last.end_line, text=last.text, fields=fields, time=last.time, clock=last.clock,
        rank=last.rank, host=last.host, attempt=last.attempt,
    )  # fmt: skip
