"""How much is done in a step: a larger batch or longer sequences are no slower job."""

from collections.abc import Sequence

from diagnose.facts.pace.segments import block_medians
from diagnose.facts.pace.steps import Pace
from diagnose.model.event import Points

CHANGES = 0.05
"""Share by which the work of a step must change to matter."""

BLOCKS = 20
"""Stretches of a run in which its work is compared."""


def work_of(
    lines: Sequence[int], seconds: Sequence[float], series: Sequence[Points], writer: Points
) -> list[float]:
    """Return the work of each step in samples or tokens, zeros where it is not known.

    Args:
        lines: Of the steps.
        seconds: That they take.
        series: Of the input.
        writer: Whose lines they are.
    """
    wanted = set(lines)

    def logged(metric: str) -> list[float]:
        by_line = {
            line: value
            for points in series
            if points.metric == metric and (points.file, points.rank) == (writer.file, writer.rank)
            for line, value in zip(points.lines, points.values, strict=True)
            if line in wanted
        }
        return [by_line.get(line, 0.0) for line in lines]

    lengths = logged("sequence_length")
    batches = logged("global_batch")
    if min(batches) > 0:
        each = lengths if min(lengths) > 0 else [1.0] * len(lines)
        return [batch * length for batch, length in zip(batches, each, strict=True)]
    for metric in ("tokens_per_s", "tokens_per_s_gpu"):
        rates = logged(metric)
        if min(rates) > 0:
            return [rate * taken for rate, taken in zip(rates, seconds, strict=True)]
    return lengths if min(lengths) > 0 else [0.0] * len(lines)


def compare_by_work(pace: Pace) -> None:
    """Count each step as long as it would take with the work of the last ones.

    Nothing changes where the work is the same throughout, apart from single steps.
    """
    if pace.metric != "step_time" or min(pace.work) <= 0:
        return
    levels, _ = block_medians(pace.work, BLOCKS)
    if changed(levels):
        usual = levels[-1]
        pace.seconds = [
            taken * usual / work for taken, work in zip(pace.seconds, pace.work, strict=True)
        ]


def changed(work: Sequence[float]) -> bool:
    """Return whether the work of some steps differs."""
    return min(work) > 0 and max(work) > (1 + CHANGES) * min(work)
