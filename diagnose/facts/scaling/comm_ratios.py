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
    by_writer = {
        (points.metric, points.file, points.rank, points.host, points.attempt): points
        for points in series
        if points.metric in ("compute_time", "comm_time", "comm_time_min")
    }
    for (metric, *writer), compute in by_writer.items():
        if metric != "compute_time":
            continue
        file, rank, host, attempt = writer
        key = (file, rank, host, attempt)
        talk = by_writer.get(("comm_time_min", *key)) or by_writer.get(("comm_time", *key))
        if talk is None:
            continue
        by_line = dict(zip(talk.lines, talk.values, strict=True))
        by_step = dict(zip(talk.steps, talk.values, strict=True))
        ratio = Points(metric=METRIC, file=file, rank=rank, host=host, attempt=attempt)
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
