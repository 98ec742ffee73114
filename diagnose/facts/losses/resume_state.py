"""What else than the loss differs across a resume, each against what should have come next.

================= ================================================================================
``norm_ratio``    Gradient norm of the first steps over that before
``rate_change``   Learning rate of the first step over what the schedule gives there, less one.
                  The schedule is what the run before had at that step (``rate_exact``), else the
                  course of its last steps; ``rate_before``, ``rate_after``, ``rate_due``
``rate_warms``    The learning rate rises again though it did not before
``scale_ratio``   Highest loss scale of the first steps over the last one before; ``scale_before``,
                  ``scale_after``; ``skips`` counts skipped steps among the first fifty
``batch_ratio``   Global batch size over that before; ``batch_before``, ``batch_after``
``samples_behind``Steps by which the counter of samples lies behind what it should show
``chance``        Loss of guessing, ln of the vocabulary, where the arguments state it;
                  ``of_chance`` is the first loss over it
``guess``         Where they do not: loss of guessing in a common vocabulary, if the first loss is
                  that to 3 %
``start``         Loss of the first step of the job, where the logs hold it; ``of_start`` likewise
================= ================================================================================

All are None where the logs do not show them.
"""

import math
from collections.abc import Iterable, Sequence
from heapq import nlargest
from statistics import median

from diagnose.facts.losses.continuations import Resumed
from diagnose.facts.losses.courses import Placed
from diagnose.facts.losses.runs import Run, Series, writer
from diagnose.facts.points import Point
from diagnose.facts.settings import arguments
from diagnose.model.event import Event, Points, Value

NEAR = 50
"""Points before, and steps behind, that are looked at."""

VERY_FIRST, FIRST = 3, 10
"""Points of the loss, and of the gradient norm, at the start of a run."""

VOCABULARIES = ("padded_vocab_size", "vocab_size")

COMMON_SIZES = (32_000, 50_257, 100_277, 128_256, 151_936)
"""Tokens of vocabularies in wide use."""

LIKE_GUESSING = 0.03
"""Share by which a loss may be off that of guessing."""


class State:
    """The series of an input, to be asked what differs across a resume."""

    def __init__(self, series: Series, events: Iterable[Event]) -> None:
        self._series = series
        stated = arguments(events)
        sizes = (stated.get(name) for name in VOCABULARIES)
        size = next((one for one in sizes if isinstance(one, int) and one > 1), None)
        self.chance = math.log(size) if size else None

    def across(self, resumed: Resumed) -> dict[str, Value]:
        """Return the fields of a resume."""
        run, earlier = resumed.run, resumed.earlier
        now = median(run.points.values[run.begin : min(run.end, run.begin + VERY_FIRST)])
        first = resumed.start
        start = None if first is None else first.points.values[first.begin]
        return {
            **self._norm(run, earlier),
            **self._rate(run, earlier),
            **self._scale(run, earlier),
            **self._batch(run, earlier),
            "samples_behind": self._samples_behind(run, earlier),
            "chance": self.chance,
            "of_chance": now / self.chance if self.chance else None,
            "guess": None if self.chance else _guess(now),
            "start": start,
            "of_start": now / start if start else None,
            "loaded": run.load is not None,
        }

    def rate_after(self, run: Run) -> tuple[Points, Point] | None:
        """Return the series of a run's learning rate and its first point there."""
        points = self._series.by_writer.get(("learning_rate", writer(run.points)))
        after = self._after("learning_rate", run)
        return (points, after[0]) if points is not None and after else None

    def _before(self, metric: str, run: Run, earlier: Sequence[Placed]) -> list[Point]:
        """Return the last points of a metric before the first step of a run."""
        shown: dict[int, list[Point]] = {}
        floor, steps = -math.inf, set[float]()
        below = (one for one in earlier if one.lowest < run.first)
        for one in sorted(below, key=lambda one: one.highest, reverse=True):
            if one.highest < floor:
                break
            points = self._series.beside(one.run, metric, -math.inf, run.first - 0.5, NEAR)
            shown[one.place] = points
            if new := {point.step for point in points} - steps:
                steps |= new
                floor = nlargest(NEAR, steps)[-1] if len(steps) >= NEAR else floor
        latest = {point.step: point for place in sorted(shown) for point in shown[place]}
        return [latest[step] for step in sorted(latest)][-NEAR:]

    def _again(self, metric: str, step: float, earlier: Sequence[Placed]) -> Point | None:
        """Return the point that the first run through a step had there."""
        found = (self._series.beside(one.run, metric, step, step, 1) for one in reversed(earlier))
        return next((points[0] for points in found if points), None)

    def _after(self, metric: str, run: Run) -> list[Point]:
        return self._series.beside(run, metric, -math.inf, math.inf, -NEAR)

    def _norm(self, run: Run, earlier: Sequence[Placed]) -> dict[str, Value]:
        before = [point.value for point in self._before("grad_norm", run, earlier)]
        after = [point.value for point in self._after("grad_norm", run)][:FIRST]
        if len(before) < 3 or len(after) < 3 or not (level := median(before)):
            return {"norm_before": None, "norm_after": None, "norm_ratio": None}
        now = median(after)
        return {"norm_before": level, "norm_after": now, "norm_ratio": now / level}

    def _rate(self, run: Run, earlier: Sequence[Placed]) -> dict[str, Value]:
        before = self._before("learning_rate", run, earlier)
        after = self._after("learning_rate", run)
        fields: dict[str, Value] = {
            "rate_before": None, "rate_after": None, "rate_due": None, "rate_exact": None,
            "rate_change": None, "rate_warms": None,
        }  # fmt: skip
        if not before or not after:
            return fields
        now, again = after[0], self._again("learning_rate", after[0].step, earlier)
        low, high = (again.value, again.value) if again else _due(before, now.step)
        due = float(f"{min(max(now.value, low), high):.6g}")
        rises = len(after) > 3 and after[-1].value > 1.01 * now.value
        rose = len(before) > 3 and before[-1].value > before[0].value
        return {
            "rate_before": before[-1].value,
            "rate_after": now.value,
            "rate_due": due,
            "rate_exact": again is not None,
            "rate_change": round(now.value / due - 1, 5) if due else None,
            "rate_warms": rises and not rose,
        }

    def _scale(self, run: Run, earlier: Sequence[Placed]) -> dict[str, Value]:
        before = self._before("loss_scale", run, earlier)
        after = [one for one in self._after("loss_scale", run) if one.step <= run.first + NEAR]
        skipped = self._after("skipped_steps", run)
        skips = sum(one.value for one in skipped if one.step <= run.first + NEAR)
        known = bool(before and after and before[-1].value > 0)
        return {
            "scale_before": before[-1].value if known else None,
            "scale_after": max(one.value for one in after) if known else None,
            "scale_ratio": max(one.value for one in after) / before[-1].value if known else None,
            "skips": int(skips) if skipped else None,
        }

    def _batch(self, run: Run, earlier: Sequence[Placed]) -> dict[str, Value]:
        before = self._before("global_batch", run, earlier)
        after = self._after("global_batch", run)
        known = bool(before and after and before[-1].value)
        return {
            "batch_before": before[-1].value if known else None,
            "batch_after": after[0].value if known else None,
            "batch_ratio": after[0].value / before[-1].value if known else None,
        }

    def _samples_behind(self, run: Run, earlier: Sequence[Placed]) -> float | None:
        before = self._before("consumed_samples", run, earlier)
        after = self._after("consumed_samples", run)
        if len(before) < 2 or not after or before[-1].step <= before[0].step:
            return None
        each = (before[-1].value - before[0].value) / (before[-1].step - before[0].step)
        due = before[-1].value + each * (after[0].step - before[-1].step)
        return (due - after[0].value) / each if each > 0 else None


def _guess(loss: float) -> float | None:
    """Return the loss of guessing in a common vocabulary that a loss looks like."""
    losses = (math.log(size) for size in COMMON_SIZES)
    nearest = min(losses, key=lambda one: abs(one - loss))
    return nearest if abs(loss / nearest - 1) <= LIKE_GUESSING else None


def _due(before: Sequence[Point], step: float) -> tuple[float, float]:
    """Return the bounds of what a schedule gives at a step: its last value, or its course on."""
    last = before[-1]
    if len(before) < 2 or last.step <= before[0].step:
        return last.value, last.value
    first = before[max(0, len(before) - 10)]
    slope = (last.value - first.value) / (last.step - first.step)
    ahead = max(0.0, last.value + slope * (step - last.step))
    return min(last.value, ahead), max(last.value, ahead)
