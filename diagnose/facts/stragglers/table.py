"""What each rank did in each step: its own work, and its wait for the others.

Own work is computing and waiting for data; where only the wait is logged it is the rest of the
step. A maximum over ranks that one of them prints is not its own time and is left out.
"""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diagnose.facts.attempts import Attempts
from diagnose.model.event import Points

if TYPE_CHECKING:
    import polars as pl

PHASES = ("compute_time", "data_time", "comm_time", "step_time")

TOKENS = "step_tokens"

MOST_STEPS = 2000
"""Steps that are looked at; of more, every n-th."""

WARM_UP = 5
"""First steps of an attempt that do not count, if they are not more than a quarter of it."""

COMPLETE = 0.75
"""Share of the ranks that must have logged a step for it to count."""

FEWEST_STEPS = 5
"""Steps below which nobody is compared."""

STEP = ["attempt", "at"]


@dataclass(frozen=True, slots=True)
class Table:
    """One row a rank and step.

    Args:
        cells: Columns ``rank``, ``attempt``, ``at`` (the step, else the position), ``own``,
            ``compute``, ``data``, ``wait``, ``whole`` (seconds, null where unknown), ``base``
            (what an excess is a share of), ``tokens`` (of its batch), ``file`` and ``line``.
        steps: How many there are.
        ranks: In order.
        by_data: Only the wait for data is known of the own work.
    """

    cells: "pl.DataFrame"
    steps: int
    ranks: list[int]
    by_data: bool


def own_series(series: Iterable[Points]) -> list[Points]:
    """Return the times of steps that a rank states of itself."""
    wanted = (*PHASES, TOKENS, "compute_time_min")
    series = [one for one in series if one.metric in wanted]
    over_ranks = {(one.file, one.rank) for one in series if one.metric == "compute_time_min"}
    return [
        one
        for one in series
        if one.metric != "compute_time_min"
        and one.rank is not None
        and not ((one.file, one.rank) in over_ranks and one.metric != "step_time")
    ]


def read(series: Iterable[Points], attempts: Attempts) -> Table | None:
    """Return what the ranks did, None where fewer than two of them say it.

    Args:
        series: As of ``own_series``.
        attempts: Of the input.
    """
    series = list(series)
    known = _ranks_by_metric(series)
    ranks = known["compute_time"] | (known["comm_time"] & known["step_time"])
    by_data = len(ranks) < 2
    if by_data:
        ranks = known["data_time"] & known["step_time"]
    if len(ranks) < 2:
        return None
    cells = _complete(_own(_joined(series, attempts), by_data=by_data))
    steps = cells.select(STEP).n_unique()
    found = sorted(cells["rank"].unique().to_list())
    if steps < FEWEST_STEPS or len(found) < 2:
        return None
    return Table(cells, steps, found, by_data)


def _ranks_by_metric(series: Iterable[Points]) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = {metric: set() for metric in (*PHASES, TOKENS)}
    for points in series:
        if points.rank is not None and len(points.values) >= FEWEST_STEPS:
            found[points.metric].add(points.rank)
    return found


def _joined(series: list[Points], attempts: Attempts) -> "pl.DataFrame":
    """Return the points with one column a metric."""
    import polars as pl

    every = max(1, -(-max(len(points.values) for points in series) // MOST_STEPS))
    metrics = [
        pl.col("value").filter(pl.col("metric") == metric).last().alias(metric)
        for metric in (*PHASES, TOKENS)
    ]
    position = pl.int_range(pl.len()).over("writer").cast(pl.Float64)
    frame = _points(series, attempts).with_columns(
        at=pl.col("at").fill_nan(None).fill_null(position)
    )
    return (
        (frame if every == 1 else frame.filter(pl.col("at") % every == 0))
        .filter(pl.col("value").is_finite())
        .group_by("rank", *STEP, maintain_order=True)
        .agg(*metrics, pl.col("file", "line").first())
    )


def _points(series: list[Points], attempts: Attempts) -> "pl.DataFrame":
    """Return all points; ``writer`` is the number of their series."""
    import polars as pl

    steps, values, lines = array("d"), array("d"), array("q")
    writers, starts = array("q"), array("q")
    for number, points in enumerate(series):
        count = len(points.values)
        steps.extend(points.steps)
        values.extend(points.values)
        lines.extend(points.lines)
        writers.extend(array("q", [number]) * count)
        starts.extend(_attempts(points, attempts))
    reals = {"at": steps, "value": values}
    numbers = {"line": lines, "writer": writers, "attempt": starts}
    frame = pl.DataFrame(
        {name: pl.Series(column, dtype=pl.Float64) for name, column in reals.items()}
        | {name: pl.Series(column, dtype=pl.Int64) for name, column in numbers.items()}
    )
    return frame.with_columns(
        rank=pl.Series([one.rank for one in series], dtype=pl.Int64).gather(frame["writer"]),
        metric=pl.Series([one.metric for one in series]).gather(frame["writer"]),
        file=pl.Series([one.file for one in series]).gather(frame["writer"]),
    )


def _attempts(points: Points, attempts: Attempts) -> "array[int]":
    if points.file not in attempts.starts:
        return array("q", [attempts.at(points.file, 0, points.attempt)]) * len(points.lines)
    return array("q", [attempts.at(points.file, line, points.attempt) for line in points.lines])


def _own(frame: "pl.DataFrame", *, by_data: bool) -> "pl.DataFrame":
    """Add own work, wait, and what an excess is a share of."""
    import polars as pl

    whole, data = pl.col("step_time"), pl.col("data_time")
    rest = whole - pl.col("comm_time") - data.fill_null(0.0)
    compute = pl.coalesce("compute_time", rest)
    own = data if by_data else compute + data.fill_null(0.0)
    return (
        frame.with_columns(
            own=own,
            compute=compute,
            data=data,
            wait=pl.col("comm_time"),
            whole=whole,
            tokens=pl.col(TOKENS),
        )
        .filter(pl.col("own") >= 0)
        .with_columns(base=pl.col("whole" if by_data else "own"))
        .drop(*PHASES, TOKENS)
        .drop_nulls("base")
    )


def _complete(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Leave out warm-up and steps that too few ranks have logged."""
    import polars as pl

    most = frame["rank"].n_unique()
    frame = frame.filter(pl.len().over(STEP) >= COMPLETE * most).filter(pl.len().over(STEP) > 1)
    steps = frame.select(STEP).unique().sort(STEP)
    nth, count = pl.int_range(pl.len()).over("attempt"), pl.len().over("attempt")
    kept = steps.filter((nth >= WARM_UP) | (nth >= count // 4))
    return frame.join(kept, on=STEP).sort(*STEP, "rank")
