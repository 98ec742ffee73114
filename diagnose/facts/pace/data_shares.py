"""The metric ``data_share``: the part of a step's time that went into waiting for data."""

from collections.abc import Iterator

from diagnose.model.event import Points


def data_shares(series: list[Points]) -> Iterator[Points]:
    """Yield the share of each step that was spent waiting for data.

    The first line of a later epoch is left out: its wait is the start of the loader's workers.
    """
    others = {
        (points.metric, *points.writer): points
        for points in series
        if points.metric in ("step_time", "epoch")
    }
    for points in series:
        if points.metric != "data_time":
            continue
        writer = points.writer
        whole = others.get(("step_time", *writer))
        if whole is None:
            continue
        epochs = others.get(("epoch", *writer))
        by_line = dict(zip(whole.lines, whole.values, strict=True))
        by_step = dict(zip(whole.steps, whole.values, strict=True))
        first = _first_lines(epochs) if epochs is not None else set()
        share = Points(metric="data_share", file=points.file, rank=points.rank, host=points.host,
                       attempt=points.attempt)  # fmt: skip
        for step, time, wait, line in zip(
            points.steps, points.times, points.values, points.lines, strict=True
        ):
            total = by_line.get(line) or by_step.get(step)
            if not total or not wait >= 0 or line in first or step == 0:
                continue
            share.steps.append(step)
            share.times.append(time)
            share.values.append(min(1.0, wait / total))
            share.lines.append(line)
        if share.values:
            yield share


def _first_lines(epochs: Points) -> set[int]:
    """Return the lines at which a further whole epoch begins."""
    pairs = list(zip(epochs.values, epochs.lines, strict=True))
    return {
        line
        for (before, _), (now, line) in zip(pairs, pairs[1:], strict=False)
        if now != before and now == int(now)
    }
