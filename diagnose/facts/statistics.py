"""Statistics of series, robust against the spikes that step times and losses have.

The functions on frames work on all groups at once: a Polars frame with the columns ``group``,
``row`` (its own row number) and ``value`` (finite), in order of group and time. The others take
plain numbers. A group or a result is left out where there are too few points to say anything.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

SIGMA = 1.4826
"""Median absolute deviations to standard deviations, for normal noise."""

NOISE_FLOOR = 0.01
"""Least noise assumed, as a share of the median: a quiet series has a deviation near zero."""

HISTORY = 200
"""Points before one against which it is judged."""

FEWEST_BEFORE = 8
"""Points that must come before one that is judged."""

FEWEST = 8
"""Points that a spread, a percentile or a trend needs."""

SHORTEST_WINDOW = 5
"""Points on either side of a change; the five behind it also verify it."""

FEWEST_AFTER = 3
"""Points that a level behind a pivot needs."""

CHANGE_GATE = 5.0
"""Median absolute deviations that a change must exceed to be one."""

SLOPE_POINTS = 200
"""Points that a Theil-Sen slope looks at: it compares every pair."""


def level_and_noise(values: Sequence[float]) -> tuple[float, float]:
    """Return the median of some values and their robust standard deviation about it.

    Args:
        values: At least one; few enough that Polars would not pay.
    """
    level = statistics.median(values)
    return level, SIGMA * statistics.median(abs(value - level) for value in values)


def noise_of_steps(values: Sequence[float]) -> float:
    """Return the noise of a series by the differences of neighbours, which a trend hardly changes.

    Args:
        values: At least two, in order.
    """
    apart = statistics.median(abs(late - early) for early, late in pairwise(values))
    return SIGMA * apart / math.sqrt(2)


def binomial_tail(hits: int, tries: int, share: float) -> float:
    """Return the chance of so many hits or more.

    Args:
        hits: As found.
        tries: How many.
        share: Chance of each, above 0.
    """
    if share >= 1:
        return 1.0
    logs = [
        math.lgamma(tries + 1) - math.lgamma(one + 1) - math.lgamma(tries - one + 1)
        + one * math.log(share) + (tries - one) * math.log1p(-share)
        for one in range(hits, tries + 1)
    ]  # fmt: skip
    return min(1.0, sum(map(math.exp, logs)))


@dataclass(frozen=True, slots=True)
class Shape:
    """What a statistic says of a series.

    Args:
        value: The statistic.
        row: Of the point where it shows.
        before: Level it is compared with: before that point, or of the peers.
        after: Level from that point on, or of the series itself.
    """

    value: float
    row: int
    before: float | None = None
    after: float | None = None


def level(stat: str) -> "pl.Expr":
    """Return the expression of ``median``, ``p95`` or ``cv`` over ``value``.

    ``cv`` is the robust spread as a share of the median.
    """
    import polars as pl

    value = pl.col("value")
    if stat == "median":
        return value.median()
    if stat == "p95":
        return value.quantile(0.95, "linear")
    spread = (value - value.median()).abs().median() * SIGMA
    return pl.when(value.median() != 0).then(spread / value.median().abs()).otherwise(None)


def fewest(stat: str) -> int:
    """Return how many points a level needs."""
    return 1 if stat == "median" else FEWEST


def with_scores(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return the points that can be judged, with ``level`` and ``score``.

    The score is how far a point lies from the points before it, in robust standard deviations. The
    level is the running median of the 200 points before; the noise is the running median of the
    distances of those points from the level of their own time, at least a hundredth of the level.
    Of each group the first eight points have no score.
    """
    import polars as pl

    half = FEWEST_BEFORE // 2
    value, middle, noise = pl.col("value"), pl.col("level"), pl.col("noise") * SIGMA
    earlier = value.shift(1).rolling_median(HISTORY, min_samples=half)
    distances = (value - middle).abs().shift(1).rolling_median(HISTORY, min_samples=half)
    scale = pl.max_horizontal(noise, middle.abs() * NOISE_FLOOR)
    return (
        frame.with_columns(level=earlier.over("group"))
        .with_columns(noise=distances.over("group"))
        .with_columns(score=pl.when(scale > 0).then((value - middle) / scale))
        .filter(pl.int_range(pl.len()).over("group") >= FEWEST_BEFORE)
        .drop_nulls("score")
    )


def changes(frame: "pl.DataFrame", window: int) -> dict[int, list[Shape]]:
    """Return the largest lasting rise and the largest lasting fall of the level of each group.

    The value is the difference of the medians of the windows behind and before a point, as a share
    of the one before. A change counts if it exceeds five median absolute deviations of the window
    before it and the next five points lie on its side of the middle. A group without one has the
    value 0, a group of less than ten points is left out.

    Args:
        frame: All groups.
        window: Points on either side, fewer at the ends of the series.
    """
    import polars as pl

    found: dict[int, list[Shape]] = {}
    first: dict[int, int] = {}
    for group, row, count in frame.group_by("group", maintain_order=True).agg(
        pl.col("row").first(), count=pl.len()
    ).rows():  # fmt: skip
        if count >= 2 * SHORTEST_WINDOW:
            found[group], first[group] = [], row
    candidates = _candidates(frame, window)
    for part in candidates.partition_by("group", maintain_order=True):
        group = part["group"][0]
        if group not in found:
            continue
        values = frame.filter(pl.col("group") == group)["value"].to_list()
        for sign in (1, -1):
            side = part.filter(pl.col("jump") * sign > 0)
            if len(side):
                top = side.row(side["jump"].abs().arg_max() or 0, named=True)
                found[group].append(_sharpest(top, values, window, first[group]))
    for group, shapes in found.items():
        if not shapes:
            shapes.append(Shape(0.0, first[group]))
    return found


def before_after(before: Sequence[float], after: Sequence[float]) -> Shape | None:
    """Return how far the level moved, in median absolute deviations of the points before.

    Args:
        before: Five points or more.
        after: Three points or more.
    """
    if len(before) < SHORTEST_WINDOW or len(after) < FEWEST_AFTER:
        return None
    old, new = statistics.median(before), statistics.median(after)
    spread = statistics.median(abs(one - old) for one in before)
    noise = max(spread, NOISE_FLOOR / SIGMA * abs(old))
    moved = (new - old) / noise if noise else math.copysign(math.inf, new) if new else 0.0
    return Shape(moved, 0, old, new)


def slope(values: Sequence[float]) -> float | None:
    """Return the change over the whole series that its trend makes, as a share of the median.

    The trend is Theil and Sen's: the median of the slopes between all pairs of points.
    """
    if len(values) < FEWEST or not (middle := statistics.median(values)):
        return None
    every = -(-len(values) // SLOPE_POINTS)
    thinned = list(enumerate(values))[::every]
    slopes = ((late - early) / (j - i) for (i, early), (j, late) in combinations(thinned, 2))
    return statistics.median(slopes) * (len(values) - 1) / abs(middle)


def _candidates(frame: "pl.DataFrame", window: int) -> "pl.DataFrame":
    """Return the points at which the level may change for good."""
    import polars as pl

    def median(values: "pl.Expr", size: int) -> "pl.Expr":
        return values.rolling_median(size, min_samples=SHORTEST_WINDOW)

    value, jump = pl.col("value"), pl.col("after") - pl.col("before")
    spread = (value - value.rolling_median(window, min_samples=1)).abs()
    return (
        frame.with_columns(
            before=median(value.shift(1), window).over("group"),
            after=median(value.reverse(), window).reverse().over("group"),
            next=median(value.reverse(), SHORTEST_WINDOW).reverse().over("group"),
            noise=median(spread.shift(1), window).over("group"),
        )
        .drop_nulls(["before", "after", "next", "noise"])
        .with_columns(
            jump=jump,
            middle=(pl.col("after") + pl.col("before")) / 2,
            least=pl.max_horizontal("noise", pl.col("before").abs() * (NOISE_FLOOR / SIGMA)),
        )
        .filter(
            (pl.col("jump").abs() > CHANGE_GATE * pl.col("least"))
            & (pl.col("before") != 0)
            & ((pl.col("next") - pl.col("middle")) * pl.col("jump").sign() > 0)
        )
    )


def _sharpest(top: dict[str, float], values: list[float], window: int, first: int) -> Shape:
    """Return a change at the point that leaves fewest values on the wrong side.

    Medians move long before and after the change itself, so the largest difference alone does not
    say where it is.
    """
    rises, middle, at = top["jump"] > 0, top["middle"], int(top["row"]) - first

    def misplaced(split: int) -> int:
        early: int = sum((x > middle) == rises for x in values[max(0, split - window) : split])
        late: int = sum((x > middle) != rises for x in values[split : split + window])
        return early + late

    last = len(values) - SHORTEST_WINDOW
    near = range(max(SHORTEST_WINDOW, at - window), min(last, at + window) + 1)
    split = min(near, key=misplaced)
    before = statistics.median(values[max(0, split - window) : split])
    after = statistics.median(values[split : split + window])
    share = (after - before) / abs(before) if before else 0.0
    return Shape(share, first + split, before, after)
