"""How often and how far each rank's own work exceeds that of the others at the same step.

The excess of a rank at a step is its own work less the median of all ranks, as a share of it. It
is slow there if that is more than a floor and more than the noise. A rank stands out if it is slow
more often than it is fast by as much, and more often than chance and the habit of its peers
explain; the worst of a thousand ranks is no straggler for being the worst.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

from diagnose.facts.stragglers.table import STEP, Table

if TYPE_CHECKING:
    import polars as pl

FLOOR = 0.05
"""Least excess that counts: smaller ones cost nothing that could be told from noise."""

GATE = 5.0
"""Median absolute deviations that an excess must exceed."""

LEAST_SHARE = 0.05
"""Share of the steps in which a rank must be slow."""

HABIT = 0.01
"""Share of slow steps that any rank may have by chance."""

SIGMA = 1.4826
"""Median absolute deviations to standard deviations, for normal noise."""

CHANCE = 1e-3
"""Probability, over all ranks together, below which chance is out of the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What stands out of one rank.

    Args:
        rank: Global rank.
        share: Part of the steps in which it is slow, less those in which it is as much too fast.
        excess: Median excess of its slow steps.
        usual: Median excess of all its steps.
        apart: How far its slow steps lie above its others; 0 where it has no others.
        chance: Bound on the probability that one of so many equal ranks looks like this.
        own: Its own work in slow steps, seconds.
        peers: That of the median rank.
        by_data: Waiting for data makes more of the excess than computing does.
        wait_ratio: Its wait in slow steps over that of the median rank, None where not logged.
        file: Of the first slow step.
        line: Of the first slow step.
    """

    rank: int
    share: float
    excess: float
    usual: float
    apart: float
    chance: float
    own: float
    peers: float
    by_data: bool
    wait_ratio: float | None
    file: str
    line: int


def with_excess(table: Table) -> "pl.DataFrame":
    """Return the cells with ``level`` (of all ranks at the step) and ``excess``."""
    import polars as pl

    level = pl.col("own").quantile(0.5, "lower").over(STEP)
    base = pl.col("base").quantile(0.5, "lower").over(STEP)
    return table.cells.with_columns(level=level, scale=base).with_columns(
        excess=(pl.col("own") - pl.col("level")) / pl.col("scale")
    )


def usual(cells: "pl.DataFrame") -> dict[int, float]:
    """Return the median excess of each rank."""
    import polars as pl

    return dict(cells.group_by("rank").agg(pl.col("excess").median()).rows())


def less(cells: "pl.DataFrame", explained: Mapping[int, float]) -> "pl.DataFrame":
    """Return the cells with the excess that the roles of a rank explain taken off."""
    import polars as pl

    known = {rank: part for rank, part in explained.items() if part}
    if not known:
        return cells
    part = pl.col("rank").replace_strict(known, default=0.0, return_dtype=pl.Float64)
    return cells.with_columns(excess=pl.col("excess") - part)


def noise(cells: "pl.DataFrame") -> float:
    """Return the median deviation of the excess from that usual for the rank."""
    import polars as pl

    apart = (pl.col("excess") - pl.col("excess").median().over("rank")).abs()
    found = cells.select(apart.quantile(0.5, "lower")).item()
    return found if isinstance(found, float) else 0.0


def bound(noise: float, levels: Mapping[int, float]) -> float:
    """Return the excess from which on a step is slow.

    Args:
        noise: As of ``noise``.
        levels: The median excess of each rank.
    """
    spread = median_low(abs(one) for one in levels.values())
    return max(FLOOR, GATE * math.hypot(noise, spread))


def stand_out(cells: "pl.DataFrame", limit: float) -> list[Score]:
    """Return the ranks that are slow too often, the worst first.

    Args:
        cells: With ``excess``.
        limit: Excess from which on a step is slow.
    """
    import polars as pl

    slow = pl.col("excess") > limit
    median_wait = pl.col("wait").quantile(0.5, "higher").over(STEP)
    data, compute = (
        pl.col(name) - pl.col(name).quantile(0.5, "lower").over(STEP)
        for name in ("data", "compute")
    )
    by_rank = (
        cells.with_columns(
            slow=slow,
            fast=pl.col("excess") < -limit,
            wait_ratio=pl.col("wait") / pl.when(median_wait > 0).then(median_wait),
            more_data=data,
            more_compute=compute,
        )
        .group_by("rank", maintain_order=True)
        .agg(
            slow=pl.col("slow").sum(),
            fast=pl.col("fast").sum(),
            count=pl.len(),
            excess=pl.col("excess").filter("slow").median(),
            usual=pl.col("excess").median(),
            else_=pl.col("excess").filter(~pl.col("slow")).median(),
            own=pl.col("own").filter("slow").median(),
            peers=pl.col("level").filter("slow").median(),
            wait_ratio=pl.col("wait_ratio").filter("slow").median(),
            more_data=pl.col("more_data").filter("slow").mean(),
            more_compute=pl.col("more_compute").filter("slow").mean(),
            file=pl.col("file").filter("slow").first(),
            line=pl.col("line").filter("slow").first(),
        )
    )
    rows = by_rank.rows(named=True)
    shares = {row["rank"]: (row["slow"] - row["fast"]) / row["count"] for row in rows}
    habit = max(HABIT, median_low(shares.values()))
    found = []
    for row in rows:
        share = shares[row["rank"]]
        chance = min(1.0, len(rows) * binomial_bound(share, row["count"], habit))
        if share >= LEAST_SHARE and chance <= CHANCE:
            more = row["more_data"] or 0.0, row["more_compute"]
            found.append(
                Score(
                    rank=row["rank"], share=share, excess=row["excess"], usual=row["usual"],
                    apart=0.0 if row["else_"] is None else row["excess"] - row["else_"],
                    chance=chance,
                    own=row["own"], peers=row["peers"],
                    by_data=more[1] is None or more[0] > more[1],
                    wait_ratio=row["wait_ratio"], file=row["file"], line=row["line"],
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: (-one.excess * one.share, one.rank))


def binomial_bound(share: float, trials: int, expected: float) -> float:
    """Return Chernoff's bound on the probability of so large a share.

    Args:
        share: Of the trials, as found.
        trials: How many.
        expected: Probability of each, above 0 and below 1.
    """
    if share <= expected:
        return 1.0
    apart = share * math.log(share / expected)
    if share < 1:
        apart += (1 - share) * math.log((1 - share) / (1 - expected))
    return math.exp(-trials * apart)
