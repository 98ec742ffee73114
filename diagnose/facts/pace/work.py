"""How much is done in a step: a batch that is ramped up makes steps longer, not the job slower."""

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
    for metric in ("global_batch", "tokens_per_s", "tokens_per_s_gpu"):
        by_line = {
            line: value
            for points in series
            if points.metric == metric and (points.file, points.rank) == (writer.file, writer.rank)
            for line, value in zip(points.lines, points.values, strict=True)
            if line in wanted
        }
        work = [by_line.get(line, 0.0) for line in lines]
        if metric != "global_batch":
            work = [rate * taken for rate, taken in zip(work, seconds, strict=True)]
        if min(work) > 0:
            return work
    return [0.0] * len(lines)


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
