"""The job's pace: one series of the seconds that a step takes, joined over attempts and ranks.

A step takes as long on all ranks of a synchronous job, so the series is that of one writer in each
attempt, its values the medians over the ranks that print the same steps. It is taken from the first
of these that the logs hold: the step time, a throughput, the stamps of numbered lines. Where the
work of a step changes (a batch that is ramped up), a step counts as long as it would take with the
work of the last ones. The steps of warm-up and those that were done again are left out.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from diagnose.facts.attempts import Attempts
from diagnose.facts.pace.segments import block_medians
from diagnose.facts.pace.stamps import gaps, known
from diagnose.facts.points import Point
from diagnose.model.event import Points

THROUGHPUTS = ("tokens_per_s", "tokens_per_s_gpu", "samples_per_s")

FEWEST = 30
"""Lines from which on the pace of a job can be judged."""

JOINED = 7
"""Ranks over which a step is joined; more would not change the median."""

AGREEING = 0.05
"""Share by which the levels of ranks of one job may differ."""

WORK_CHANGES = 0.05
"""Share by which the work of a step must change to matter."""

WORK_BLOCKS = 20
"""Stretches of a run in which its work is compared."""

WARM_UP_STEPS, WARM_UP_LINES, WARM_UP_SHARE = 5, 2, 4
"""Steps, or lines, of the start of an attempt that do not count; at most one line in four."""

SLOW_START, MOST_SLOW, START_COMPARED = 1.5, 50, 50
"""Further lines at the start of an attempt do not count while they are slower by this factor than
the median of so many lines behind them; at most so many."""

WHOLE_SPAN = 100.0
"""Seconds over which times in whole seconds are joined: a second is a hundredth of it."""


COLUMNS = ("steps", "spans", "seconds", "gaps", "times", "lines", "work", "attempts")


@dataclass(slots=True)
class Pace:
    """The series; all columns have one value for each line.

    Args:
        metric: What it is taken from; ``time`` where only stamps tell it.
        timed: Whether ``seconds`` are seconds; of a throughput without stamps they are shares.
        writers: By attempt, the series whose lines these are.
        steps: Steps, counted on where the program counts from zero in each epoch.
        spans: Steps since the line before, which it stands for.
        seconds: Of one step, the mean over those it stands for.
        gaps: Seconds since the line before that its steps do not account for; 0 where unknown.
        times: Stamps, NaN where unknown.
        lines: Where they stand.
        work: Of a step, in samples or tokens; 0 where it is the same throughout or not known.
        attempts: Of which start of the job they are.
        epochs: Steps at which the program's counter began anew.
    """

    metric: str
    timed: bool = True
    writers: dict[int, Points] = field(default_factory=dict)
    steps: list[float] = field(default_factory=list)
    spans: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, place: int) -> tuple[Points, Point]:
        """Return the series and the point of a line, for an event that stands there."""
        point = Point(self.steps[place], self.times[place], self.seconds[place], self.lines[place])
        return self.writers[self.attempts[place]], point

    @property
    def wall_time(self) -> float:
        """Seconds that the series covers, gaps included."""
        steps = sum(map(float.__mul__, self.seconds, self.spans))
        return steps + sum(gap for gap in self.gaps if gap > 0)


def pace_of(series: Sequence[Points], attempts: Attempts) -> Pace | None:
    """Return the pace of a job, None where the logs do not tell it."""
    for metric in ("step_time", *THROUGHPUTS, "loss"):
        told = [points for points in series if points.metric == metric]
        if max((len(points.lines) for points in told), default=0) >= FEWEST:
            found = _joined(_by_attempt(told, attempts), series)
            if found is not None:
                return found
    return None


def _by_attempt(series: Sequence[Points], attempts: Attempts) -> dict[int, list[Points]]:
    """Return the stretches of each attempt, the longest first."""
    found: dict[int, list[Points]] = {}
    for points in series:
        cuts = [bisect_left(points.lines, line) for line in attempts.starts.get(points.file, ())]
        for begin, end in pairwise([0, *cuts, len(points.lines)]):
            if begin < end:
                attempt = attempts.at(points.file, points.lines[begin], points.attempt)
                found.setdefault(attempt, []).append(_slice(points, begin, end))
    for stretches in found.values():
        stretches.sort(key=lambda one: (-len(one.lines), one.rank or 0, one.file))
    return dict(sorted(found.items()))


def _slice(points: Points, begin: int, end: int) -> Points:
    return Points(
        metric=points.metric, file=points.file, rank=points.rank, host=points.host,
        attempt=points.attempt, steps=points.steps[begin:end], times=points.times[begin:end],
        values=points.values[begin:end], lines=points.lines[begin:end],
    )  # fmt: skip


def _joined(by_attempt: dict[int, list[Points]], series: Sequence[Points]) -> Pace | None:
    """Return the attempts one behind the other."""
    whole: Pace | None = None
    for attempt, stretches in by_attempt.items():
        part = _part(attempt, stretches, series)
        if part is None:
            continue
        if whole is None:
            whole = part
        else:
            _append(whole, part)
    return whole if whole is not None and len(whole) >= FEWEST else None


def _append(whole: Pace, part: Pace) -> None:
    """Add an attempt; what it does again counts once."""
    kept = bisect_left(whole.steps, part.steps[0])
    for name in COLUMNS:
        column = getattr(whole, name)
        del column[kept:]
        column += getattr(part, name)
    whole.writers |= part.writers
    whole.epochs += part.epochs
    whole.timed = whole.timed and part.timed


def _part(attempt: int, stretches: list[Points], series: Sequence[Points]) -> Pace | None:
    spine = stretches[0]
    values = _over_ranks(spine, stretches[1:])
    steps, epochs = _counted_on(spine)
    metric = spine.metric if spine.metric != "loss" else "time"
    usable = [
        place for place, value in enumerate(values)
        if math.isfinite(value) and (value > 0 or metric == "time")
    ]  # fmt: skip
    if len(usable) < 2:
        return None
    rows = _forward(usable, steps)
    part = Pace(
        metric=metric, writers={attempt: spine},
        steps=[steps[row] for row in rows], times=[spine.times[row] for row in rows],
        lines=[spine.lines[row] for row in rows], work=[0.0] * len(rows),
        attempts=[attempt] * len(rows), epochs=epochs,
    )  # fmt: skip
    if len(part) < 2:
        return None
    apart = [late - early for early, late in pairwise(part.steps)]
    usual = median(apart)
    part.spans = [usual, *apart]
    taken = known(part.times, part.spans)
    values = [values[row] for row in rows]
    if metric == "time":
        if taken is None:
            return None
        part.seconds = taken
        part.gaps = [0.0] * len(part)
    else:
        _fill(part, values, taken, series, spine)
    _join_whole_seconds(part)
    return _without_warm_up(part)


def _fill(
    part: Pace, values: list[float], taken: list[float] | None, series: Sequence[Points],
    spine: Points,
) -> None:  # fmt: skip
    """Set the seconds of the steps, and the gaps between their lines."""
    if part.metric == "step_time":
        part.gaps = gaps(values, taken, part.spans)
        work = _work(part, values, series, spine)
        if work is None:
            part.seconds = values
        else:
            part.work = work
            part.seconds = [value * work[-1] / one for value, one in zip(values, work, strict=True)]
        return
    usual = median(values)
    part.timed = taken is not None
    scale = usual * (median(taken) if taken is not None else 1.0)
    part.seconds = [scale / value for value in values]
    part.gaps = gaps(part.seconds, taken, part.spans)


def _over_ranks(spine: Points, others: list[Points]) -> list[float]:
    """Return the values of a series, joined with those of ranks that print the same steps."""
    joined, ranks, level = [spine.values], {spine.rank}, median(spine.values)
    for other in others:
        if len(joined) == JOINED or len(other.values) < len(spine.values):
            break
        if other.rank in ranks or None in (other.rank, spine.rank) or other.steps != spine.steps:
            continue
        if abs(median(other.values) - level) <= AGREEING * abs(level):
            joined.append(other.values)
            ranks.add(other.rank)
    if len(joined) == 1:
        return list(spine.values)
    return [median(row) for row in zip(*joined, strict=True)]


def _counted_on(points: Points) -> tuple[list[float], list[float]]:
    """Return the steps, counted on over epochs, and where the counter began anew."""
    found, epochs = [], []
    offset, last, apart = 0.0, -math.inf, 1.0
    for place, step in enumerate(points.steps):
        if step != step:
            step = float(place)
        if step < last and step <= 2 * apart:
            offset += last + apart - step
            epochs.append(offset + step)
        elif step > last > -math.inf:
            apart = step - last
        last = step
        found.append(offset + step)
    return found, epochs


def _forward(rows: list[int], steps: list[float]) -> list[int]:
    """Return the rows whose step no later row does again."""
    kept: list[int] = []
    least = math.inf
    for row in reversed(rows):
        if steps[row] < least:
            kept.append(row)
            least = steps[row]
    return kept[::-1]


def _work(
    part: Pace, seconds: list[float], series: Sequence[Points], spine: Points
) -> list[float] | None:
    """Return the work of each step in samples or tokens, None if it is the same or unknown."""
    writer = spine.file, spine.rank
    for metric in ("global_batch", "tokens_per_s", "tokens_per_s_gpu"):
        told = [one for one in series if one.metric == metric and (one.file, one.rank) == writer]
        by_line = {
            line: value
            for one in told
            for line, value in zip(one.lines, one.values, strict=True)
            if value > 0
        }
        work = [by_line.get(line, 0.0) for line in part.lines]
        if metric != "global_batch":
            work = [rate * value for rate, value in zip(work, seconds, strict=True)]
        if not work or min(work) <= 0:
            continue
        levels, _ = block_medians(work, WORK_BLOCKS)
        return work if max(levels) > (1 + WORK_CHANGES) * min(levels) else None
    return None


def _join_whole_seconds(part: Pace) -> None:
    """Join neighbouring lines where times are counted in whole seconds, as progress bars do."""
    taken = [value * span for value, span in zip(part.seconds, part.spans, strict=True)]
    whole = all(abs(one - round(one)) < 1e-6 * max(1.0, one) for one in taken)
    if not whole or median(taken) >= WHOLE_SPAN or not part.timed or part.work[0]:
        return
    size = math.ceil(WHOLE_SPAN / max(1.0, median(taken)))
    ends = range(size - 1, len(part), size)
    groups = [range(end - size + 1, end + 1) for end in ends]
    part.spans, seconds = [sum(part.spans[one] for one in group) for group in groups], [
        sum(taken[one] for one in group) for group in groups
    ]  # fmt: skip
    part.seconds = [one / span for one, span in zip(seconds, part.spans, strict=True)]
    part.gaps = [sum(part.gaps[one] for one in group) for group in groups]
    for name in ("steps", "times", "lines", "work", "attempts"):
        column = getattr(part, name)
        setattr(part, name, [column[end] for end in ends])


def _without_warm_up(part: Pace) -> Pace | None:
    if not len(part):
        return None
    first = 0
    span = median(part.spans)
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


def stretches(pace: Pace) -> Iterator[tuple[int, int]]:
    """Yield first line and line behind the last of each attempt."""
    begin = 0
    for place in range(1, len(pace) + 1):
        if place == len(pace) or pace.attempts[place] != pace.attempts[begin]:
            yield begin, place
            begin = place
