"""Time that all ranks spend in collectives although nobody is late: the transfers themselves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from diagnose.facts.stragglers.table import STEP, Table
from diagnose.model.event import Value

if TYPE_CHECKING:
    import polars as pl

PART = 3
"""The first and the last of so many parts of the run are compared."""


def transfers(
    table: Table, cells: "pl.DataFrame", levels: Mapping[int, float]
) -> dict[str, Value] | None:
    """Return what the shortest wait of each step says, None where waits are not logged.

    Somebody arrived last and still paid it, so the shortest wait over all ranks is the time of the
    transfers themselves.

    Args:
        table: Of all ranks.
        cells: With ``excess`` and ``level``.
        levels: Median excess of each rank.
    """
    import polars as pl

    if table.by_data or cells["wait"].null_count():
        return None
    steps = (
        cells.group_by(STEP)
        .agg(pl.col("wait").min(), pl.col("level").first(), pl.col("whole").median())
        .sort(STEP)
    )
    part = max(1, len(steps) // PART)
    wait, own = steps["wait"].median(), steps["level"].median()
    before, after = steps["wait"].head(part).median(), steps["wait"].tail(part).median()
    if not isinstance(wait, float) or not isinstance(own, float) or own <= 0:
        return None
    return {
        "transfer": wait,
        "own": own,
        "ratio": wait / own,
        "spread": max(levels.values()) - min(levels.values()),
        "before": before if isinstance(before, float) else None,
        "after": after if isinstance(after, float) else None,
        "rise": after / before if isinstance(after, float) and isinstance(before, float) and before
        else None,
        "ranks_compared": len(table.ranks),
        "steps": table.steps,
    }  # fmt: skip
