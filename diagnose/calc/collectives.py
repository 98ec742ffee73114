"""Bandwidth of collectives, and what the adapters of a node allow."""

from collections.abc import Callable

ACROSS_NODES = (0.8, 0.95)
"""Share of the rate of a node's adapters that an all-reduce across nodes reaches as a rule."""

BUS_FACTORS: dict[str, Callable[[float], float]] = {
    "all-reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all-gather": lambda ranks: (ranks - 1) / ranks,
    "reduce-scatter": lambda ranks: (ranks - 1) / ranks,
    "all-to-all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "reduce": lambda ranks: 1.0,
    "send-recv": lambda ranks: 1.0,
}
"""Bus over algorithm bandwidth by operation (nccl-tests, doc/PERFORMANCE.md)."""


def bus_bandwidth(size: float, time: float, ranks: float) -> float:
    """Return the bus bandwidth of an all-reduce in bytes a second.

    Args:
        size: Bytes of the message.
        time: Seconds of one operation.
        ranks: Members.
    """
    return size / time * BUS_FACTORS["all-reduce"](ranks)
