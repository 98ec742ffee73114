"""The time of a step from the seconds since the start that a program logs beside the step.

Not a parser: readers of programs that log no time of a step, or a mean since the start, share it. The
time of a step is the difference of two readings over the steps between them, so a stall shows where it
was. Most such clocks count whole seconds; two readings count only where they are far enough apart.
"""

from collections.abc import Hashable, Mapping

from diagnose.ingest.lazy import LazyPattern
from diagnose.parsers.metric_names import number

LEAST_SPAN = 20.0
"""Seconds between two readings of a clock of whole seconds: an error of 5 % at most."""

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
