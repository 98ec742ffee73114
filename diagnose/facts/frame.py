"""The points of a metric as one frame: groups, order, replays and warm-up.

Polars is imported on first use only: the import takes longer than most diagnoses.

Points of several writers at one step are joined by their median. Where the step counter goes back
(a new epoch, a replay) the repeated steps stay separate points. The first steps of an attempt count
as warm-up only where the logs hold the start of it, and never more than a quarter of the points.
"""

from array import array
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

_KINDS = {
    "group": "q", "writer": "q", "attempt": "q", "line": "q",
    "step": "d", "time": "d", "value": "d",
}  # fmt: skip
"""Columns of the points and what they hold: whole or floating numbers."""

WARM_UP_SHARE = 4
"""One part in so many is the most that the warm-up takes from a series."""


def group_key(points: Points, by: By) -> Key | None:
    """Return the group that a series belongs to, None where its rank or host is unknown."""
    if by == "rank":
        return points.rank
    if by == "host":
        return points.host
    return points.file if by == "file" else JOB


def keys_of(case: Case, metric: str, by: By) -> list[Key]:
    """Return the keys of the groups of a metric, in order."""
    named = {group_key(points, by) for points in case.series(metric)}
    return sorted(
        (key for key in named if key is not None), key=lambda key: (isinstance(key, str), key)
    )


def frame_of(case: Case, metric: str, by: By) -> "pl.DataFrame":
    """Return the finite points of all groups in order; made once for all rules that ask.

    Columns: ``group`` (index of its key), ``attempt``, ``lap`` (how often the step counter went
    back), ``at`` (step, else position), and of the point itself ``step``, ``time``, ``value``,
    ``file``, ``host`` and ``line``.
    """
    if (metric, by) not in case.frames:
        case.frames[metric, by] = _frame(case, case.series(metric), keys_of(case, metric, by), by)
    return case.frames[metric, by]


def _frame(case: Case, series: Sequence[Points], keys: Sequence[Key], by: By) -> "pl.DataFrame":
    import polars as pl

    index = {key: number for number, key in enumerate(keys)}
    columns: dict[str, array[Any]] = {name: array(kind) for name, kind in _KINDS.items()}
    for writer, points in enumerate(series):
        key, count = group_key(points, by), len(points.values)
        if key is None:
            continue
        columns["group"] += array("q", [index[key]]) * count
        columns["writer"] += array("q", [writer]) * count
        columns["attempt"] += _attempts(case, points)
        columns["step"] += points.steps
        columns["time"] += points.times
        columns["value"] += points.values
        columns["line"] += points.lines
    known = pl.col("step").fill_nan(None)
    one = ["writer", "attempt"]
    frame = pl.DataFrame({name: pl.Series(column) for name, column in columns.items()})
    frame = frame.with_columns(
        lap=(known.diff().fill_null(0.0) < 0).cum_sum().over(one),
        at=known.fill_null(pl.int_range(pl.len()).cast(pl.Float64).over(one)),
    ).filter(pl.col("value").is_finite())
    first = pl.col("step", "time", "writer", "line").first()
    joined = frame.group_by(ORDER, maintain_order=True).agg(pl.col("value").median(), first)
    files = pl.Series([points.file for points in series], dtype=pl.String)
    hosts = pl.Series([points.host for points in series], dtype=pl.String)
    joined = joined.sort(ORDER)
    return joined.with_columns(
        file=files.gather(joined["writer"]), host=hosts.gather(joined["writer"])
    )


def _attempts(case: Case, points: Points) -> "array[int]":
    found = array("q")
    for attempt, begin, end in case.attempts.spans(points):
        found += array("q", [attempt]) * (end - begin)
    return found


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
