"""How much is done in a step: a larger batch or longer sequences are no slower job."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from diagnose.facts.pace.segments import block_medians
from diagnose.facts.pace.steps import Pace
from diagnose.model.event import Points

SIZES = ("sequence_length", "global_batch")
"""Metrics that state the work of a step."""

RATES = ("tokens_per_s", "tokens_per_s_gpu")
"""Metrics that tell it by the seconds that the step takes."""

CHANGES = 0.05
"""Share by which the work of a step must change to matter."""

BLOCKS = 20
"""Stretches of a run in which its work is compared."""


Beside = Mapping[tuple[str, str, int | None], Sequence[Points]]
"""Series by metric, file and rank."""


def beside(series: Iterable[Points]) -> Beside:
    """Return the series that may tell the work of steps, by whose they are."""
    found: dict[tuple[str, str, int | None], list[Points]] = defaultdict(list)
    for points in series:
        if points.metric in (*SIZES, *RATES):
            found[points.metric, points.file, points.rank].append(points)
    return found


def work_of(
    lines: Sequence[int], seconds: Sequence[float], series: Beside, writer: Points
) -> list[float]:
    """Return the work of each step in samples or tokens, zeros where it is not known.

    Args:
        lines: Of the steps, in order.
        seconds: That they take.
        series: Of the input.
        writer: Whose lines they are.
    """
    wanted = set(lines)

    def logged(metric: str) -> list[float]:
        by_line: dict[int, float] = {}
        for points in series.get((metric, writer.file, writer.rank), ()):
            begin, end = bisect_left(points.lines, lines[0]), bisect_right(points.lines, lines[-1])
            rows = zip(points.lines[begin:end], points.values[begin:end], strict=True)
            by_line |= {line: value for line, value in rows if line in wanted}
        return [by_line.get(line, 0.0) for line in lines]

    lengths, batches = map(logged, SIZES)
    if min(batches) > 0:
        each = lengths if min(lengths) > 0 else [1.0] * len(lines)
        return [batch * length for batch, length in zip(batches, each, strict=True)]
    for metric in RATES:
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
