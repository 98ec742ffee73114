"""Losses that come back number for number, and counters of samples that do not go on.

``train.losses_repeat``
    ``equal`` losses in a row are those of ``lag`` steps before, digit for digit, from ``step`` on;
    or ``alike`` says how the losses about their trend correlate with those of ``lag`` steps before.
    ``off_epoch`` is how far the lag is from whole epochs, as a share of one, None where the log
    shows no epochs.
``train.samples_still``
    The counter of consumed samples stands still for ``steps`` steps from ``step`` on.
``train.epoch_stairs``
    At ``stairs`` of ``epochs`` boundaries the loss steps down, by ``drop`` in the middle, as a
    share; ``step`` is the first.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from statistics import correlation, median

from diagnose.facts.losses.discontinuities import discontinuity
from diagnose.facts.losses.runs import Run, Series, writer
from diagnose.facts.points import Point, derived_event
from diagnose.model.event import Clock, Event, Value

EVENTS = ("train.losses_repeat", "train.samples_still", "train.epoch_stairs")

FEWEST_EQUAL = 5
"""Equal losses in a row that are no chance: one in ten thousand each."""

MOST, MOST_CORRELATED = 20_000, 4_000
"""Points at the end of a run that are compared digit by digit, and by correlation."""

TREND = 25
"""Points on either side that make the trend from which a loss is measured."""

SMOOTHED, LEAST_LAG, OVERLAP = 5, 50, 200
"""Points up to which means over steps resemble each other; of the shortest lag, since tasks in turn
repeat at short ones; and of the comparison."""

UNEVEN, LEAST_NOISE = 0.15, 0.001
"""Share of points by which the two sides of the trend may differ, and least noise as a share."""

AGREEING = 0.66
"""Share of points on the same side of the trend from which on a correlation is computed: 0.6 gives
0.70."""

FEWEST_STILL = 5
"""Points over which a counter has to stand still."""

STAIR = 2.0
"""Standard errors by which the loss has to fall at the boundary of an epoch."""

Found = tuple[Point, dict[str, Value]] | None


def repeats(runs: Sequence[Run], series: Series, by_file: dict[str, Clock]) -> Iterator[Event]:
    """Yield what the runs of each writer say twice.

    Args:
        runs: Of the losses, those of a writer in order.
        series: Of the input.
        by_file: What the stamps of each file are measured against.
    """
    numbered = (run for run in runs if run.first == run.first)
    for _, own in groupby(numbered, key=lambda run: writer(run.points)):
        of_writer = list(own)
        last = of_writer[-1]
        points = [one for run in of_writer for one in _all(series, run, "loss")][-MOST:]
        borders = _borders(_all(series, last, "epoch"))
        equal = _equal(points, borders)
        for name, found in (
            (EVENTS[0], equal or _alike(_all(series, last, "loss"), borders)),
            (EVENTS[1], _still(_all(series, last, "consumed_samples"))),
            (EVENTS[2], _stairs(_all(series, last, "loss"), borders)),
        ):
            if found is not None:
                event = derived_event(last.points, found[0], name, found[1], by_file)
                event.attempt = last.attempt
                yield event


def _all(series: Series, run: Run, metric: str) -> list[Point]:
    return series.beside(run, metric, -math.inf, math.inf, MOST)


def _borders(epochs: Sequence[Point]) -> list[float]:
    """Return the steps at which epochs begin."""
    return [
        two.step for one, two in pairwise(epochs) if math.floor(two.value) > math.floor(one.value)
    ]


def _off_epoch(lag: float, borders: Sequence[float]) -> float | None:
    if len(borders) < 2:
        return None
    epochs = lag / median(two - one for one, two in pairwise(borders))
    return abs(epochs - round(epochs)) if epochs >= 0.5 else 1.0


def _equal(points: Sequence[Point], borders: Sequence[float]) -> Found:
    """Return the longest row of losses that came before, at other steps."""
    values = [round(point.value, 5) for point in points]
    if all(value == round(value, 2) for value in values):
        return None  # printed with too few digits to be told apart
    rows: dict[tuple[float, ...], int] = {}
    length, first, at, place = 0, 0, 0, 0
    while place + FEWEST_EQUAL <= len(values):
        row = tuple(values[place : place + FEWEST_EQUAL])
        known = rows.setdefault(row, place)
        if points[known].step == points[place].step or len(set(row)) < FEWEST_EQUAL:
            place += 1
            continue
        equal = FEWEST_EQUAL
        while place + equal < len(values) and values[place + equal] == values[known + equal]:
            equal += 1
        periodic = place - known < LEAST_LAG and equal >= 2 * (place - known)
        if equal > length and not periodic:
            length, first, at = equal, known, place
        place += equal
    if not length:
        return None
    lag = points[at].step - points[first].step
    fields: dict[str, Value] = {
        "step": int(points[at].step),
        "equal": length,
        "lag": int(lag),
        "first_step": int(points[first].step),
        "alike": None,
        "off_epoch": _off_epoch(abs(lag), borders),
    }
    return points[at], fields


def _alike(points: Sequence[Point], borders: Sequence[float]) -> Found:
    """Return the lag at which the losses about their trend correlate best."""
    points = points[-MOST_CORRELATED:]
    if len(points) < OVERLAP + LEAST_LAG:
        return None
    rest = _about_trend([point.value for point in points])
    above = sum(one > 0 for one in rest) / len(rest)
    level = median(abs(point.value) for point in points)
    if abs(above - 0.5) > UNEVEN or median(map(abs, rest)) < LEAST_NOISE * level:
        return None  # a curve without noise resembles itself
    # The sides of the trend as the bits of one number: all lags cost less than one correlation.
    count, sides = len(rest), int("".join("1" if one > 0 else "0" for one in rest), 2)

    def agreeing(lag: int) -> float:
        differ = (sides ^ (sides >> lag)) & ((1 << (count - lag)) - 1)
        return 1 - differ.bit_count() / (count - lag)

    lag = max(range(LEAST_LAG, count - OVERLAP + 1), key=agreeing)
    if agreeing(lag) < AGREEING or max(map(agreeing, range(SMOOTHED, LEAST_LAG))) >= AGREEING:
        return None
    apart = points[lag].step - points[0].step
    fields: dict[str, Value] = {
        "step": int(points[lag].step),
        "equal": 0,
        "lag": int(apart),
        "first_step": int(points[0].step),
        "alike": correlation(rest[:-lag], rest[lag:]),
        "off_epoch": _off_epoch(apart, borders),
    }
    return points[lag], fields


def _about_trend(values: Sequence[float]) -> list[float]:
    """Return values less the mean of their neighbourhood."""
    sums = [0.0, *accumulate(values)]
    rest = []
    for place, value in enumerate(values):
        low, high = max(0, place - TREND), min(len(values), place + TREND + 1)
        rest.append(value - (sums[high] - sums[low]) / (high - low))
    return rest


def _still(samples: Sequence[Point]) -> Found:
    """Return the first stretch over which a counter stands still though steps do not."""
    begin = 0
    for at, point in enumerate(samples):
        if point.value != samples[begin].value:
            begin = at
        elif at - begin >= FEWEST_STILL and point.step > samples[begin].step:
            first = samples[begin]
            end = next((one for one in samples[at:] if one.value != first.value), samples[-1])
            fields: dict[str, Value] = {
                "step": int(first.step),
                "steps": int(end.step - first.step),
                "samples": first.value,
            }
            return first, fields
    return None


def _stairs(points: Sequence[Point], borders: Sequence[float]) -> Found:
    """Return how often the loss steps down where an epoch begins."""
    drops = []
    for place, border in enumerate(borders):
        low = borders[place - 1] if place else -math.inf
        high = borders[place + 1] if place + 1 < len(borders) else math.inf
        found = discontinuity(
            [(one.step, one.value) for one in points if low <= one.step < border],
            [(one.step, one.value) for one in points if border <= one.step < high],
        )
        if found is not None and found.score <= -STAIR:
            drops.append((border, -found.change))
    if not drops:
        return None
    fields: dict[str, Value] = {
        "step": int(drops[0][0]),
        "stairs": len(drops),
        "epochs": len(borders),
        "drop": median(drop for _, drop in drops),
    }
    return next(one for one in points if one.step >= drops[0][0]), fields
