"""What a statistic says of a metric, per rank, host, file or for the whole job."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from diagnose.facts import statistics
from diagnose.facts.baseline.comparable import expected_of
from diagnose.facts.case import Case
from diagnose.facts.frame import ORDER, By, Key, counted, frame_of, keys_of
from diagnose.facts.statistics import Shape
from diagnose.model.event import Clock, Event

if TYPE_CHECKING:
    import polars as pl

__all__ = ["STATISTICS", "By", "Group", "Key", "SeriesResult", "SeriesView", "Spot", "evaluate"]

Predicate = Callable[[float], bool]

STATISTICS = frozenset(
    {
        "median", "p95", "cv", "slope", "mad_z", "step_change", "before_after", "ratio_to_peers",
        "ratio_to_baseline",
    }
)  # fmt: skip
"""What ``evaluate`` computes; the rest of the rule language's statistics have no result yet."""

FEWEST_WINDOWS = 5
"""Steps at which a group must be comparable with its peers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A value of the statistic and the place where it shows.

    Args:
        value: The statistic.
        ratio: Level there over the level it is compared with.
        before: Level it is compared with: before the change, or of the peers.
        after: Level there.
        step: Step of the point, if known.
        time: Its stamp as in ``Line.time``, if it has one; ``Case.file_clocks`` tells the clock.
        file: Where the point stands.
        line: Its line.
    """

    value: float
    ratio: float | None
    before: float | None
    after: float | None
    step: float | None
    time: float | None
    file: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One rank's, host's, file's or the job's result.

    Args:
        spots: One, or two where rise and fall are told apart.
        windows: The statistic over parts of the series, for the share that satisfies a bound.
        points: How many points it rests on.
    """

    spots: tuple[Spot, ...]
    windows: list[float]
    points: int

    def choose(self, predicate: Predicate, fraction: Predicate | None = None) -> Spot | None:
        """Return the spot that satisfies a bound, None if none does or too few windows do."""
        if fraction is not None:
            satisfied = sum(map(predicate, self.windows))
            if not self.windows or not fraction(satisfied / len(self.windows)):
                return None
        return next((spot for spot in self.spots if predicate(spot.value)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesView:
    """The groups that satisfy a bound, as templates see them (``series``).

    Args:
        metric: Its name.
        outliers: Keys of the groups, in order.
        value: The statistic of the farthest of them, to four digits.
        ratio: Its level over what it is compared with, likewise.
        before: The level it is compared with, likewise.
        after: Its level, likewise.
        at_step: Step where it shows.
        points: Points of all groups.
        evidence: File and line of each outlier, in the order of ``outliers``.
    """

    metric: str
    outliers: list[Key]
    value: float
    ratio: float | None
    before: float | None
    after: float | None
    at_step: int | float | None
    points: int
    evidence: list[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesResult:
    """A statistic of a metric, by group.

    Args:
        metric: Its name.
        by: What the groups are.
        stat: The statistic.
        by_key: The groups with enough points, in order of key.
    """

    metric: str
    by: By
    stat: str
    by_key: dict[Key, Group] = field(default_factory=dict)

    @property
    def groups(self) -> dict[Key, float]:
        """The statistic of each group."""
        return {key: group.spots[0].value for key, group in self.by_key.items()}

    def outliers(self, predicate: Predicate, fraction: Predicate | None = None) -> list[Key]:
        """Return the groups that satisfy a bound.

        Args:
            predicate: The bound of the statistic.
            fraction: The bound of the share of windows that satisfy ``predicate``.
        """
        chosen = (key for key, one in self.by_key.items() if one.choose(predicate, fraction))
        return list(chosen)

    def view(self, predicate: Predicate, fraction: Predicate | None = None) -> SeriesView | None:
        """Return the groups that satisfy a bound as templates see them, None if none does."""
        chosen = {
            key: spot
            for key, group in self.by_key.items()
            if (spot := group.choose(predicate, fraction)) is not None
        }
        if not chosen:
            return None
        farthest = max(chosen.values(), key=lambda spot: abs(spot.value))
        return SeriesView(
            metric=self.metric,
            outliers=list(chosen),
            value=_four_digits(farthest.value) or 0.0,
            ratio=_four_digits(farthest.ratio),
            before=_four_digits(farthest.before),
            after=_four_digits(farthest.after),
            at_step=_step(farthest.step),
            points=sum(group.points for group in self.by_key.values()),
            evidence=[(spot.file, spot.line) for spot in chosen.values()],
        )


def evaluate(
    case: Case,
    metric: str,
    *,
    by: By = "job",
    last: int | None = None,
    skip: int = 0,
    stat: str = "median",
    at: Event | None = None,
    window: int = 20,
) -> SeriesResult | None:
    """Return a statistic of a metric.

    Args:
        case: Whose series.
        metric: Canonical name.
        by: What gets a value of its own. Series of an unknown rank or host have none.
        last: Points at the end that count; None for all.
        skip: Steps of warm-up; for ``before_after`` the points right behind the pivot to leave out.
        stat: One of ``STATISTICS``.
        at: Pivot of ``before_after``.
        window: Points of one window, on either side of a change or of the pivot.

    Returns:
        None where the metric is not in the logs, or no group has enough points.
    """
    keys = keys_of(case, metric, by)
    if stat not in STATISTICS or not keys:
        return None
    if stat == "before_after":
        found = _before_after(case, frame_of(case, metric, by), at, skip, window)
    elif stat == "ratio_to_baseline":
        frame = counted(frame_of(case, metric, by), skip, last)
        found = _ratio_to_baseline(frame, expected_of(case, metric), window)
    else:
        found = _groups(counted(frame_of(case, metric, by), skip, last), stat, window)
    by_key = {keys[index]: found[index] for index in sorted(found)}
    return SeriesResult(metric=metric, by=by, stat=stat, by_key=by_key) if by_key else None


def _groups(frame: "pl.DataFrame", stat: str, window: int) -> dict[int, Group]:
    if stat == "ratio_to_peers":
        return _ratio_to_peers(frame)
    if stat == "mad_z":
        return _mad_z(frame)
    if stat == "slope":
        return _slope(frame)
    if stat == "step_change":
        counts = dict(frame.group_by("group").len().rows())
        return {
            group: _group(frame, shapes, [shapes[0].value], counts[group])
            for group, shapes in statistics.changes(frame, window).items()
        }
    return _level(frame, stat, window)


def _level(frame: "pl.DataFrame", stat: str, window: int) -> dict[int, Group]:
    """Compute the level of each group, and of its windows.

    A high quantile shows at the highest value, other levels at the last.
    """
    import polars as pl

    row = pl.col("row").sort_by("value", maintain_order=True) if stat == "p95" else pl.col("row")
    compute, fewest = statistics.level(stat).alias("stat"), statistics.fewest(stat)
    blocks = frame.with_columns(block=pl.int_range(pl.len()).over("group") // window)
    parts = blocks.group_by("group", "block", maintain_order=True).agg(compute, count=pl.len())
    parts = parts.filter(pl.col("count") >= fewest).drop_nulls("stat")
    windows = dict(parts.group_by("group").agg("stat").rows())
    whole = frame.group_by("group", maintain_order=True).agg(
        compute, row.last(), middle=pl.col("value").median(), count=pl.len()
    )
    whole = whole.filter(pl.col("count") >= fewest).drop_nulls("stat")
    return {
        group: _group(frame, [Shape(value, row, None, middle)], windows.get(group, [value]), count)
        for group, value, row, middle, count in whole.rows()
    }


def _slope(frame: "pl.DataFrame") -> dict[int, Group]:
    found: dict[int, Group] = {}
    for part in frame.partition_by("group", maintain_order=True):
        value = statistics.slope(part["value"].to_list())
        if value is not None:
            shape = Shape(value, part["row"][-1])
            found[part["group"][0]] = _group(frame, [shape], [value], len(part))
    return found


def _mad_z(frame: "pl.DataFrame") -> dict[int, Group]:
    import polars as pl

    counts = dict(frame.group_by("group").len().rows())
    scored = statistics.with_scores(frame)
    found: dict[int, Group] = {}
    for part in scored.partition_by("group", maintain_order=True):
        ends = part.sort(pl.col("score").abs(), descending=True, maintain_order=True)
        shapes = [
            Shape(row["score"], row["row"], row["level"], row["value"])
            for side in (ends.filter(pl.col("score") >= 0), ends.filter(pl.col("score") < 0))
            for row in side.head(1).rows(named=True)
        ]
        shapes.sort(key=lambda shape: -abs(shape.value))
        group = part["group"][0]
        found[group] = _group(frame, shapes, part["score"].to_list(), counts[group])
    return found


def _ratio_to_peers(frame: "pl.DataFrame") -> dict[int, Group]:
    """Compare each group with the median of all at the same step; of two, with the other one."""
    import polars as pl

    step = ORDER[1:]
    together, value = pl.len().over(step), pl.col("value")
    other = value.sum().over(step) - value
    compared = (
        frame.with_columns(
            peers=pl.when(together == 2).then(other).otherwise(value.median().over(step)),
            together=together,
        )
        .filter((pl.col("together") > 1) & (pl.col("peers") != 0))
        .with_columns(ratio=value / pl.col("peers"))
    )
    whole = compared.group_by("group", maintain_order=True).agg(
        pl.col("ratio").median().alias("stat"),
        pl.col("row").sort_by("ratio", maintain_order=True).last(),
        pl.col("peers").median(),
        value.median(),
        pl.col("ratio"),
        pl.len().alias("count"),
    )
    return {
        group: _group(frame, [Shape(stat, row, peers, own)], windows, count)
        for group, stat, row, peers, own, windows, count in whole.rows()
        if count >= FEWEST_WINDOWS
    }


def _ratio_to_baseline(
    frame: "pl.DataFrame", expected: float | None, window: int
) -> dict[int, Group]:
    """Compare the median of each group, and of its windows, with what a baseline expects."""
    if expected is None:
        return {}
    return {
        key: Group(
            spots=tuple(_against(spot, expected) for spot in group.spots),
            windows=[value / expected for value in group.windows],
            points=group.points,
        )
        for key, group in _level(frame, "median", window).items()
    }


def _against(spot: Spot, expected: float) -> Spot:
    ratio = spot.value / expected
    return replace(spot, value=ratio, ratio=ratio, before=expected, after=spot.value)


def _before_after(
    case: Case, frame: "pl.DataFrame", pivot: Event | None, skip: int, window: int
) -> dict[int, Group]:
    """Compare the level before an event with the level behind it.

    Steps of the old attempt that were done again after the event do not count: their work is lost.
    """
    import polars as pl

    found: dict[int, Group] = {}
    frame = frame.with_row_index("row")
    for part in frame.partition_by("group", maintain_order=True):
        split = None if pivot is None else _split(case, part, pivot)
        if split is None:
            continue
        before, after = part.head(split), part.slice(split)
        resumed = after["step"].fill_nan(None).drop_nulls()
        if len(resumed):
            before = before.filter(~(pl.col("step") >= resumed[0]))
        before, after = before.tail(window), after.slice(skip, window)
        shape = statistics.before_after(before["value"].to_list(), after["value"].to_list())
        if shape is not None:
            shape = replace(shape, row=after["row"][0])
            count = len(before) + len(after)
            found[part["group"][0]] = _group(frame, [shape], [shape.value], count)
    return found


def _split(case: Case, part: "pl.DataFrame", pivot: Event) -> int | None:
    """Return how many points lie before the pivot, None if nothing tells."""
    moment = case.clocks.of(pivot)
    rows = part.select("attempt", "file", "line", "time", "host").rows()

    def is_after(row: tuple[int, str, int, float, str | None]) -> bool | None:
        attempt, file, line, time, host = row
        if file == pivot.file:
            return line > pivot.line
        clock = case.file_clocks.get(file, Clock.NONE)
        instant = case.clocks.instant(time, clock, host=host, file=file)
        if moment is not None and instant is not None:
            apart = case.clocks.difference(moment, instant)
            if apart is not None:
                return apart[0] > 0
        return attempt > pivot.attempt if attempt != pivot.attempt else None

    if is_after(rows[0]) is None or is_after(rows[-1]) is None:
        return None
    return bisect_left(rows, True, key=lambda row: bool(is_after(row)))


def _group(
    frame: "pl.DataFrame", shapes: Sequence[Shape], windows: list[float], points: int
) -> Group:
    spots = tuple(_spot(frame, shape) for shape in shapes)
    return Group(spots=spots, windows=windows, points=points)


def _spot(frame: "pl.DataFrame", shape: Shape) -> Spot:
    step, time, file, line = (frame[name][shape.row] for name in ("step", "time", "file", "line"))
    ratio = None
    if shape.before and shape.after is not None:
        ratio = shape.after / shape.before
    return Spot(
        value=shape.value,
        ratio=ratio,
        before=shape.before,
        after=shape.after,
        step=None if math.isnan(step) else step,
        time=None if math.isnan(time) else time,
        file=file,
        line=line,
    )


def _four_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _step(step: float | None) -> int | float | None:
    return int(step) if step is not None and step.is_integer() else step
