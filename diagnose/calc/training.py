"""Communication, parallel layout, memory and speed of training."""

from collections.abc import Callable
from math import ceil

MODEL_WEIGHT_BYTES = 2
"""Of a bf16 or fp16 weight."""

ROUNDING = 1e-9
"""By how much a computed whole number may lie above itself."""

OPTIMIZER_BYTES = 12
"""Adam in mixed precision: an fp32 master copy and two fp32 moments (ZeRO paper, section 3.1)."""


def ring_all_reduce(size: float, ranks: int) -> float:
    """Return the bytes that each rank sends for an all-reduce over a ring.

    Args:
        size: Bytes of the tensor.
        ranks: Members of the ring.
    """
    return 2 * (ranks - 1) / ranks * size


def communication_ratio(compute: float, communication: float) -> float:
    """Return communication time over compute time."""
    return communication / compute


def bubble(stages: int, micro_batches: int, chunks: int = 1) -> float:
    """Return the share of a step in which a pipeline idles.

    Args:
        stages: Of the pipeline.
        micro_batches: Of one step.
        chunks: Model chunks a stage holds, more than one in an interleaved schedule.
    """
    return (stages - 1) / (chunks * micro_batches + stages - 1)


def micro_batches_for(stages: int, share: float, chunks: int = 1) -> int:
    """Return the fewest micro-batches that keep the bubble at or under a share."""
    return max(1, ceil((stages - 1) * (1 - share) / (share * chunks) - ROUNDING))


def speed_up(ranks: int, serial: float, overhead: float = 0.0) -> float:
    """Return Amdahl's speed-up with a cost for communication and scheduling.

    Args:
        ranks: How many work.
        serial: Share of the work that only one can do.
        overhead: Cost at that size, as a share of the time on one rank.
    """
    return 1 / ((1 - serial) / ranks + serial + overhead)


def efficiency(small: int, small_rate: float, large: int, large_rate: float) -> float:
    """Return the throughput per rank of a larger run over that of a smaller one."""
    return (large_rate / large) / (small_rate / small)


def state_bytes(
    parameters: float, replicas: int = 1, zero: int = 0, gradient_bytes: int = 2
) -> dict[str, float]:
    """Return the bytes of weights, gradients and optimizer on one GPU.

    Args:
        parameters: Of the model, or of the part of it that one model-parallel rank holds.
        replicas: Data-parallel ranks, over which ZeRO spreads its share.
        zero: Stage: 1 spreads the optimizer, 2 the gradients as well, 3 the weights as well.
        gradient_bytes: Of one gradient, 2 or 4.
    """
    return {
        "weights": parameters * MODEL_WEIGHT_BYTES / (replicas if zero >= 3 else 1),
        "gradients": parameters * gradient_bytes / (replicas if zero >= 2 else 1),
        "optimizer": parameters * OPTIMIZER_BYTES / (replicas if zero >= 1 else 1),
    }


def flops_per_token(
    parameters: float, layers: int = 0, hidden: int = 0, sequence: int = 0, causal: bool = True
) -> float:
    """Return the model's floating-point operations for one trained token.

    Six a parameter, and twelve a layer, hidden unit and position for attention, half of them where
    it is causal (PaLM paper, appendix B).
    """
    attention = 12 * layers * hidden * sequence * (0.5 if causal else 1.0)
    return 6 * parameters + attention


BUS_FACTORS: dict[str, Callable[[int], float]] = {
    "all-reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all-gather": lambda ranks: (ranks - 1) / ranks,
    "reduce-scatter": lambda ranks: (ranks - 1) / ranks,
    "all-to-all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "reduce": lambda ranks: 1.0,
    "send-recv": lambda ranks: 1.0,
}
"""Bus over algorithm bandwidth by operation (nccl-tests, doc/PERFORMANCE.md)."""
