"""How the job's pace is taken from what the logs print.

A step takes as long on all ranks of a synchronous job, so the series is that of one writer in each
attempt, its values the medians over the ranks that print the same steps. It is taken from the first
of these that the logs hold: the step time, a throughput, the stamps of numbered lines. Where the
work of a step changes (a batch that is ramped up), a step counts as long as it would take with the
work of the last ones. The steps of warm-up and those that were done again are left out.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import pairwise
from statistics import median

from diagnose.facts.attempts import Attempts
from diagnose.facts.pace.stamps import are_whole, gaps, is_steady, per_step
from diagnose.facts.pace.steps import COLUMNS, Pace
from diagnose.facts.pace.work import Beside, beside, compare_by_work, work_of
from diagnose.facts.pace.writers import by_attempt, counted_on, forward, joined_values, thinned
from diagnose.model.event import Points

METRICS = ("step_time", "tokens_per_s", "tokens_per_s_gpu", "samples_per_s", "loss")
"""What the pace is taken from, the first that is there; of losses only the stamps of the lines."""

FEWEST = 30
"""Lines from which on the pace of a job can be judged."""

WARM_UP_STEPS, WARM_UP_LINES, WARM_UP_SHARE = 5, 2, 4
"""Steps, or lines, of the start of an attempt that do not count; at most one line in four."""

SLOW_START, MOST_SLOW, START_COMPARED = 1.5, 50, 50
"""Further lines at the start of an attempt do not count while they are slower by this factor than
the median of so many lines behind them; at most so many."""

WHOLE_SPAN = 100.0
"""Seconds over which times in whole seconds are joined: a second is a hundredth of it."""


def pace_of(
    series: Sequence[Points], attempts: Attempts, single: Collection[str] = ()
) -> Pace | None:  # fmt: skip
    """Return the pace of a job, None where the logs do not tell it.

    Args:
        series: Of the input.
        attempts: Of the input.
        single: Files whose step times are those of the last step of a line alone.
    """
    sizes = beside(series)
    for metric in METRICS:
        told = [points for points in series if points.metric == metric]
        if max((len(points.lines) for points in told), default=0) < FEWEST:
            continue
        whole: Pace | None = None
        for attempt, stretches in by_attempt(told, attempts).items():
            part = _part(attempt, stretches, sizes)
            if whole is None:
                whole = part
            elif part is not None and part.timed == whole.timed:
                _append(whole, part)
        if whole is not None and len(whole) >= FEWEST:
            compare_by_work(whole)
            files = {writer.file for writer in whole.writers.values()}
            whole.is_single = whole.metric == "step_time" and files <= set(single)
            return whole
    return None


def _append(whole: Pace, part: Pace) -> None:
    """Add an attempt; what it does again counts once."""
    kept = bisect_left(whole.steps, part.steps[0])
    for name in COLUMNS:
        column = getattr(whole, name)
        del column[kept:]
        column += getattr(part, name)
    whole.writers |= part.writers
    whole.epochs += part.epochs


def _part(attempt: int, stretches: Sequence[Points], sizes: Beside) -> Pace | None:
    """Return the pace of one attempt."""
    spine, values = thinned(stretches[0]), joined_values(stretches)
    metric = "time" if spine.metric == "loss" else spine.metric
    steps, epochs = counted_on(spine)
    usable = [
        row
        for row, value in enumerate(values)
        if metric == "time" or (math.isfinite(value) and value > 0)
    ]
    rows = forward(usable, steps)
    if len(rows) <= WARM_UP_LINES:
        return None
    part = Pace(
        metric=metric, writers={attempt: spine}, steps=[steps[row] for row in rows],
        times=[spine.times[row] for row in rows], lines=[spine.lines[row] for row in rows],
        attempts=[attempt] * len(rows), epochs=epochs,
    )  # fmt: skip
    apart = [late - early for early, late in pairwise(part.steps)]
    part.spans = [median(apart), *apart]
    taken = per_step(part.times, part.spans)
    if taken is not None and metric != "step_time" and not is_steady(taken):
        taken = None
    if metric == "time":
        if taken is None:
            return None
        part.seconds = taken
    elif metric == "step_time":
        part.seconds = [values[row] for row in rows]
    else:
        part.timed = taken is not None
        scale = 1.0 if taken is None else median(taken) * median(values[row] for row in rows)
        part.seconds = [scale / values[row] for row in rows]
    part.gaps = gaps(part.seconds, taken, part.spans, whole=are_whole(part.times))
    part.work = work_of(part.lines, part.seconds, sizes, spine)
    _join_whole_seconds(part)
    return _without_warm_up(part)


def _join_whole_seconds(part: Pace) -> None:
    """Join neighbouring lines where times are counted in whole seconds, as progress bars do."""
    taken = [value * span for value, span in zip(part.seconds, part.spans, strict=True)]
    whole = all(abs(one - round(one)) < 1e-6 * max(1.0, one) for one in taken)
    if not whole or not part.timed or len(set(taken)) == 1:
        return
    size = min(math.ceil(WHOLE_SPAN / max(1.0, median(taken))), len(part) // FEWEST)
    if size <= 1:
        return
    groups = [slice(at, at + size) for at in range(0, len(part) - size + 1, size)]
    part.spans = [sum(part.spans[group]) for group in groups]
    part.gaps = [sum(part.gaps[group]) for group in groups]
    part.seconds = [
        sum(taken[group]) / span for group, span in zip(groups, part.spans, strict=True)
    ]
    for name in ("steps", "times", "lines", "work", "attempts"):
        column = getattr(part, name)
        setattr(part, name, [column[group][-1] for group in groups])


def _without_warm_up(part: Pace) -> Pace | None:
    """Leave out the first lines of an attempt; None if nothing remains."""
    if not len(part):
        return None
    first, span = 0, median(part.spans)
    if part.attempts[0] > 0 or part.steps[0] <= max(WARM_UP_STEPS, span):
        lines = max(WARM_UP_LINES, math.ceil(WARM_UP_STEPS / span))
        first = min(lines, len(part) // WARM_UP_SHARE)
    last = min(first + MOST_SLOW, len(part) - 1)
    while first < last:
        following = median(part.seconds[first + 1 : first + 1 + START_COMPARED])
        if part.seconds[first] <= SLOW_START * following:
            break
        first += 1
    for name in COLUMNS:
        del getattr(part, name)[:first]
    part.gaps[0] = 0.0
    return part
