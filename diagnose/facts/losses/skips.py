"""Which steps were skipped because gradients overflowed.

Counted are the column of skipped steps, a counter that adds them up, or single messages: whichever
a log holds, in this order.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnose.facts.attempts import Attempts, step_counters
from diagnose.facts.losses.runs import Run, find_runs
from diagnose.facts.points import step_before
from diagnose.model.event import Event, Points, Value
from diagnose.model.reading import Reading

COLUMNS = {"skipped_steps": "column", "skipped_steps_total": "counter"}

Key = tuple[str, int]
"""File and attempt."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Skipped steps.

    Args:
        step: The last of them.
        count: How many.
        line: Where they are reported.
    """

    step: float
    count: float
    line: int


@dataclass(frozen=True, slots=True)
class Skips:
    """What one run skipped.

    Args:
        points: A series of its writer.
        attempt: Start of the job.
        origin: Step behind which the program started.
        first: First step that was logged.
        last: Last step that is known.
        interval: Steps that one record stands for.
        skips: In order.
        shown_by: What was counted.
    """

    points: Points
    attempt: int
    origin: float
    first: float
    last: float
    interval: float
    skips: list[Skip]
    shown_by: str


def all_skips(
    reading: Reading, attempts: Attempts, loads: Mapping[str, Sequence[Event]]
) -> Iterator[Skips]:
    """Yield what each run skipped.

    Args:
        reading: With ranks, hosts and attempts completed.
        attempts: Of the input.
        loads: Of checkpoints, by file.
    """
    counted: set[str] = set()
    for metric, shown_by in COLUMNS.items():
        series = [
            one
            for one in reading.points
            if one.metric == metric and one.file not in counted and any(one.values)
        ]
        for run in find_runs(series, loads, attempts):
            skips = _of_counter(run) if shown_by == "counter" else _of_column(run)
            yield _skips(run, skips, shown_by)
        counted |= {one.file for one in series}
    counters = {
        (one.file, one.attempt): one
        for one in step_counters(reading.points)
        if one.file not in counted
    }
    events = _messages(reading.events, counters)
    for key, skips in events.items():
        for run in find_runs([counters[key]], loads, attempts):
            own = [one for one in skips if run.above < one.line < run.below]
            yield _skips(run, own, "messages")


def _skips(run: Run, skips: list[Skip], shown_by: str) -> Skips:
    steps = reversed(run.points.steps[run.begin : run.end])
    last = next(filter(math.isfinite, steps), math.nan)
    return Skips(
        run.points, run.attempt, run.origin, run.first, last, run.interval, skips, shown_by
    )


def _of_column(run: Run) -> list[Skip]:
    points = run.points
    return [
        Skip(points.steps[at], points.values[at], points.lines[at])
        for at in range(run.begin, run.end)
        if points.values[at] > 0
    ]


def _of_counter(run: Run) -> list[Skip]:
    points = run.points
    return [
        Skip(points.steps[at], points.values[at] - points.values[at - 1], points.lines[at])
        for at in range(run.begin + 1, run.end)
        if points.values[at] > points.values[at - 1]
    ]


def _messages(events: Iterable[Event], counters: Mapping[Key, Points]) -> dict[Key, list[Skip]]:
    found: dict[Key, dict[tuple[Value, ...], Skip]] = defaultdict(dict)
    for event in events:
        counter = counters.get((event.file, event.attempt))
        if event.name != "train.overflow" or counter is None:
            continue
        step = event.fields.get("step") or step_before(counter, event.line)
        if isinstance(step, int):
            # Ranks that share a file report the same step of the scale each.
            same = (step, event.fields.get("scale"), event.fields.get("new_scale"))
            skip = Skip(step, 1, event.line)
            found[event.file, event.attempt].setdefault(same, skip)
    return {key: list(skips.values()) for key, skips in found.items()}
