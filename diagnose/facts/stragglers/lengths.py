"""Batches of unequal length: own work that follows the tokens of a rank is no fault of its machine.

Where the tokens of each batch are logged, a line is fitted through own work over tokens, both less
the median rank's at the same step. Where it explains most of the differences it is taken out.
"""

import math
from typing import TYPE_CHECKING

from diagnose.facts.stragglers.table import STEP

if TYPE_CHECKING:
    import polars as pl

CORRELATION = 0.7
"""Least correlation of tokens and own work at which the work is taken to follow the tokens."""


def evened(cells: "pl.DataFrame") -> tuple["pl.DataFrame", float | None]:
    """Return the cells with the excess that tokens explain taken off, and the correlation.

    The share so taken off is the column ``by_length``. The correlation is None where tokens are not
    logged, are alike on all ranks, or do not explain the own work.
    """
    import polars as pl

    if cells["tokens"].null_count():
        return cells, None
    more = pl.col("tokens") - pl.col("tokens").quantile(0.5, "lower").over(STEP)
    cells = cells.with_columns(more=more)
    squares, products, own = cells.select(
        (pl.col("more") ** 2).sum().alias("more"),
        (pl.col("more") * pl.col("excess")).sum().alias("both"),
        (pl.col("excess") ** 2).sum().alias("own"),
    ).row(0)
    if not squares or not own:
        return cells, None
    correlation = products / math.sqrt(squares * own)
    if correlation < CORRELATION:
        return cells, None
    part = pl.col("more") * (products / squares)
    return cells.with_columns(by_length=part, excess=pl.col("excess") - part), correlation
