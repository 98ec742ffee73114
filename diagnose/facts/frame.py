"""The points of a metric as one frame: groups, order, replays and warm-up.

Polars is imported on first use only: the import takes longer than most diagnoses.

Points of several writers at one step are joined by their median. Where the step counter goes back
(a new epoch, a replay) the repeated steps stay separate points. The first steps of an attempt count
as warm-up only where the logs hold the start of it, and never more than a quarter of the points.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from diagnose.facts.case import Case
from diagnose.model.event import Points

if TYPE_CHECKING:
    import polars as pl

By = Literal["rank", "host", "job", "file"]
Key = int | str

JOB = "job"
"""Key of the one group of ``by: job``."""

ORDER = ["group", "attempt", "lap", "at"]
"""What tells one point from another, and their order."""

_TYPES = {
    "group": "Int64",
    "writer": "Int64",
    "file": "String",
    "host": "String",
    "attempt": "Int64",
    "step": "Float64",
    "time": "Float64",
    "value": "Float64",
    "line": "Int64",
}

WARM_UP_SHARE = 4
"""One part in so many is the most that the warm-up takes from a series."""


def group_key(points: Points, by: By) -> Key | None:
    """Return the group that a series belongs to, None where its rank or host is unknown."""
    if by == "rank":
        return points.rank
    if by == "host":
        return points.host
    return points.file if by == "file" else JOB


def in_order(key: Key) -> tuple[bool, Key]:
    """Return what keys are sorted by."""
    return isinstance(key, str), key


def frame_of(case: Case, series: Sequence[Points], keys: Sequence[Key], by: By) -> "pl.DataFrame":
    """Return the finite points of all groups in order.

    Columns: ``group`` (index of its key), ``attempt``, ``lap`` (how often the step counter went
    back), ``at`` (step, else position), and of the point itself ``step``, ``time``, ``value``,
    ``file``, ``host`` and ``line``.
    """
    import polars as pl

    index = {key: number for number, key in enumerate(keys)}
    columns: dict[str, list[Any]] = {name: [] for name in _TYPES}
    for writer, points in enumerate(series):
        key, count = group_key(points, by), len(points.values)
        if key is None:
            continue
        columns["group"] += [index[key]] * count
        columns["writer"] += [writer] * count
        columns["file"] += [points.file] * count
        columns["host"] += [points.host] * count
        columns["attempt"] += _attempts(case, points)
        columns["step"] += points.steps
        columns["time"] += points.times
        columns["value"] += points.values
        columns["line"] += points.lines
    schema = {name: getattr(pl, kind) for name, kind in _TYPES.items()}
    known = pl.col("step").fill_nan(None)
    one = ["writer", "attempt"]
    frame = pl.DataFrame(columns, schema=schema).with_columns(
        lap=(known.diff().fill_null(0.0) < 0).cum_sum().over(one),
        at=known.fill_null(pl.int_range(pl.len()).cast(pl.Float64).over(one)),
    )
    joined = frame.filter(pl.col("value").is_finite()).group_by(ORDER, maintain_order=True)
    return joined.agg(
        pl.col("value").median(), pl.col("step", "time", "file", "host", "line").first()
    ).sort(ORDER)


def _attempts(case: Case, points: Points) -> list[int]:
    if points.file not in case.attempts.starts:
        return [case.attempts.at(points.file, 0, points.attempt)] * len(points.lines)
    return [case.attempts.at(points.file, line, points.attempt) for line in points.lines]


def counted(frame: "pl.DataFrame", skip: int, last: int | None) -> "pl.DataFrame":
    """Leave out warm-up and all but the last points; number the rows.

    Warm-up are the first steps of each attempt of which the logs hold the start.
    """
    import polars as pl

    if skip:
        one = ["group", "attempt"]
        first = pl.col("at").first().over(one)
        started = (pl.col("attempt") > 0) | (first <= skip)
        early = started & (pl.col("lap") == 0) & (pl.col("at") - first < skip)
        most = pl.len().over(one) // WARM_UP_SHARE
        frame = frame.filter(~(early & (pl.int_range(pl.len()).over(one) < most)))
    if last is not None:
        frame = frame.filter(pl.len().over("group") - pl.int_range(pl.len()).over("group") <= last)
    return frame.with_row_index("row")
