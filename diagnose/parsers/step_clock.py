"""The time of a step from the seconds since the start that a program logs beside the step.

Not a parser: readers of programs that log no time of a step, or a mean since the start, share it. The
time of a step is the difference of two readings over the steps between them, so a stall shows where it
was. Most such clocks count whole seconds; two readings count only where they are far enough apart.
"""

from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise

from diagnose.ingest.lazy import LazyPattern
from diagnose.parsers.metric_names import number

LEAST_SPAN = 20.0
"""Seconds between two readings of a clock of whole seconds: an error of 5 % at most."""

FEWEST, TOLERANCE = 5, 1.25
"""Readings, and how far their sum may be from what the stamps say."""

CLOCK = LazyPattern(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d)")
SPELT = LazyPattern(r"(?:(\d+)d ?)?(?:(\d+)h ?)?(?:(\d+)m ?)?(\d+)s")


def elapsed(columns: Mapping[str, object]) -> tuple[float, float] | None:
    """Return the seconds since the start that a record states, and the span two of them need.

    LLaMA-Factory's and ms-swift's ``elapsed_time`` counts whole seconds, W&B's ``_runtime`` does not.
    """
    runtime = number(columns.get("_runtime"))
    if runtime is not None:
        return runtime, 0.0
    text = columns.get("elapsed_time")
    if not isinstance(text, str):
        return None
    found = CLOCK.fullmatch(text.strip()) or SPELT.fullmatch(text.strip())
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds), LEAST_SPAN


def confirmed_unit(readings: Iterable[tuple[float | None, float, float]]) -> float | None:
    """Return the factor to seconds of times that state no unit, None where the stamps do not tell.

    Times of steps add up to what passes between the lines; clocks, totals and means over another
    stretch do not.

    Args:
        readings: Stamp in seconds, step and time of each line.
    """
    known = [(at, step, time) for at, step, time in readings if at is not None]
    span = known[-1][0] - known[0][0] if len(known) >= FEWEST else 0.0
    if span < LEAST_SPAN:
        return None
    total = sum(max(0.0, b[1] - a[1]) * b[2] for a, b in pairwise(known))
    ratios = ((unit, total * unit / span) for unit in (1.0, 1e-3))
    return next((u for u, ratio in ratios if 1 / TOLERANCE <= ratio <= TOLERANCE), None)


class StepClock:
    """The last reading of each writer."""

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[float, float]] = {}

    def step_time(
        self, writer: Hashable, step: float, seconds: float, least: float = LEAST_SPAN
    ) -> float | None:
        """Return the mean time of the steps since the last reading, None where it says nothing yet.

        A second reading at one step, as evaluations give, begins anew: what lies between is no step.

        Args:
            writer: Whose clock it is.
            step: Completed so far.
            seconds: Since the start.
            least: Seconds that must lie between two readings.
        """
        before = self._last.get(writer)
        if before is None or step <= before[0] or seconds < before[1]:
            self._last[writer] = step, seconds
            return None
        if seconds - before[1] < max(least, 1e-9):
            return None
        self._last[writer] = step, seconds
        return (seconds - before[1]) / (step - before[0])
