"""How the cost of a token grows with the number of ranks, fitted to measured runs."""

from collections.abc import Callable, Mapping, Sequence
from math import log2

COSTS: Mapping[str, Callable[[float], float]] = {
    "tree": log2,
    "ring": lambda ranks: (ranks - 1) / ranks,
}
"""What the cost of communication grows with: the hops of a tree, or the volume in a ring."""


def fit(runs: Sequence[tuple[float, float]], cost: str) -> tuple[float, float]:
    """Return a and b of 1 / throughput of a rank = a + b f(N), by least squares.

    Args:
        runs: Ranks and throughput in all, of two sizes or more.
        cost: One of ``COSTS``.

    Raises:
        ValueError: All runs have the same size.
    """
    grows = [COSTS[cost](ranks) for ranks, _ in runs]
    each = [ranks / rate for ranks, rate in runs]
    middle, level = sum(grows) / len(runs), sum(each) / len(runs)
    spread = sum((one - middle) ** 2 for one in grows)
    if not spread:
        raise ValueError("the runs have the same size; a fit needs two sizes")
    pairs = zip(grows, each, strict=True)
    slope = sum((one - middle) * (other - level) for one, other in pairs) / spread
    return level - slope * middle, slope


def expected_cost(runs: Sequence[tuple[float, float]], cost: str, ranks: float) -> float:
    """Return 1 / throughput of a rank that a fit expects at another size."""
    base, slope = fit(runs, cost)
    return base + slope * COSTS[cost](ranks)
