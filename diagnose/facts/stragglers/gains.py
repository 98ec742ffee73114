"""What the job would gain: the step is as long as its slowest rank and what all pay for talking."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diagnose.facts.stragglers.table import STEP

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Gains:
    """What the steps would be shorter by.

    Args:
        each: For each of those asked for, the share of the step that it costs where the others are
            mended: two that are equally slow cost the same.
        together: The share that all of them cost.
        rest: Share of the step that then is still lost to others, beyond noise.
    """

    each: list[float]
    together: float
    rest: float

    @property
    def explained(self) -> float:
        """The part of all that is lost that those asked for account for."""
        lost = self.together + self.rest
        return self.together / lost if lost else 0.0


def gains(cells: "pl.DataFrame", groups: Sequence[Collection[int]], noise: float) -> Gains:
    """Return what the job would gain if groups of ranks worked like the median rank.

    Args:
        cells: With ``excess`` less what roles explain, and ``scale``.
        groups: Ranks of each.
        noise: Standard deviation of the excess of a healthy rank.
    """
    import polars as pl

    everybody = {rank for group in groups for rank in group}
    excess = pl.col("excess").clip(0)

    def step(mended: Collection[int]) -> "pl.Expr":
        own = pl.col("own") - pl.col("scale") * excess
        if_so = pl.when(pl.col("rank").is_in(list(mended))).then(own).otherwise(pl.col("own"))
        return if_so.max()

    calm = noise * math.sqrt(2 * math.log(max(2, cells["rank"].n_unique())))
    others = excess.filter(~pl.col("rank").is_in(list(everybody))).max().fill_null(0.0)
    total = pl.coalesce(
        pl.col("whole").median(), pl.col("own").max() + pl.col("wait").min(), pl.col("own").max()
    )
    steps = cells.group_by(STEP).agg(
        *(
            ((step(everybody - set(group)) - step(everybody)) / total).alias(f"gain{number}")
            for number, group in enumerate([*groups, everybody])
        ),
        rest=(others - calm).clip(0) * pl.col("scale").first() / total,
    )
    *each, together = (steps[f"gain{number}"].mean() for number in range(len(groups) + 1))
    return Gains([_number(one) for one in each], _number(together), _number(steps["rest"].mean()))


def _number(value: object) -> float:
    return value if isinstance(value, float) and math.isfinite(value) else 0.0
