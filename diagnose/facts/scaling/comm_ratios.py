"""The metric ``comm_ratio``: time in collectives over time in forward and backward, step by step.

Of a table with the shortest and the longest time over ranks the shortest communication counts: the
longest holds the wait for late ranks.
"""

from collections.abc import Iterable, Iterator

from diagnose.model.event import Points

METRIC = "comm_ratio"


def comm_ratios(series: Iterable[Points]) -> Iterator[Points]:
    """Yield the ratio for each writer that logs both times.

    Args:
        series: Of the input.
    """
    series = [one for one in series if one.metric in ("compute_time", "comm_time", "comm_time_min")]
    times = {(one.metric, *one.writer): one for one in series}
    for compute in series:
        if compute.metric != "compute_time":
            continue
        writer = compute.writer
        talk = times.get(("comm_time_min", *writer)) or times.get(("comm_time", *writer))
        if talk is None:
            continue
        by_line = dict(zip(talk.lines, talk.values, strict=True))
        by_step = dict(zip(talk.steps, talk.values, strict=True))
        ratio = Points(
            metric=METRIC, file=compute.file, rank=compute.rank, host=compute.host,
            attempt=compute.attempt,
        )  # fmt: skip
        for step, time, work, line in zip(
            compute.steps, compute.times, compute.values, compute.lines, strict=True
        ):
            spent = by_line.get(line, by_step.get(step))
            if spent is None or not work > 0 or not spent >= 0:
                continue
            ratio.steps.append(step)
            ratio.times.append(time)
            ratio.values.append(spent / work)
            ratio.lines.append(line)
        if ratio.values:
            yield ratio
