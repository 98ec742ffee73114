"""Communication, parallel layout, memory and speed of training."""

from math import ceil

MODEL_WEIGHT_BYTES = 2
"""Of a bf16 or fp16 weight."""

ROUNDING = 1e-9
"""By how much a computed whole number may lie above itself."""

OPTIMIZER_BYTES = 12
"""Adam in mixed precision: an fp32 master copy and two fp32 moments (ZeRO paper, section 3.1)."""


def ring_all_reduce(size: float, ranks: float) -> float:
    """Return the bytes that each rank sends for an all-reduce over a ring.

    Args:
        size: Bytes of the tensor.
        ranks: Members of the ring.
    """
    return 2 * (ranks - 1) / ranks * size


ZERO_STAGES = range(4)

SHARDED_TRAFFIC = 1.5
"""ZeRO-3 and FSDP gather the weights twice and scatter the gradients once, each of their size; an
all-reduce is one of both."""

CAUSAL = 0.5
"""Share of the positions that causal attention looks at."""

TENSOR_COLLECTIVES = 4
"""All-reduces of one layer for one micro-batch: two forward, two backward (Megatron-LM paper)."""


def gradient_traffic(size: float, ranks: float | None = None, zero: float = 0) -> float:
    """Return the bytes that each data-parallel rank sends in one step.

    Args:
        size: Bytes of the gradients.
        ranks: Data-parallel ranks; None for many.
        zero: ZeRO stage; 3 (and FSDP) moves weights as well.

    Raises:
        ValueError: There is no such stage.
    """
    _check_stage(zero)
    moved = 2 * size if ranks is None else ring_all_reduce(size, ranks)
    return moved * (SHARDED_TRAFFIC if zero >= 3 else 1)


def tensor_traffic(
    layers: float,
    micro_batch: float,
    sequence: float,
    hidden: float,
    ranks: float,
    micro_batches: float = 1,
    element: float = 2,
) -> float:
    """Return the bytes that each rank sends for tensor parallelism in one step.

    Args:
        layers: On one pipeline stage.
        micro_batch: Sequences of one micro-batch.
        sequence: Tokens of a sequence.
        hidden: Hidden size.
        ranks: Tensor-parallel ranks.
        micro_batches: Of one step.
        element: Bytes of a value.
    """
    tensor = micro_batch * sequence * hidden * element
    return TENSOR_COLLECTIVES * layers * micro_batches * ring_all_reduce(tensor, ranks)


def communication_ratio(compute: float, communication: float) -> float:
    """Return communication time over compute time."""
    return communication / compute


def bubble(stages: float, micro_batches: float, chunks: float = 1) -> float:
    """Return the share of a step in which a pipeline idles.

    Args:
        stages: Of the pipeline.
        micro_batches: Of one step.
        chunks: Model chunks a stage holds, more than one in an interleaved schedule.
    """
    return (stages - 1) / (chunks * micro_batches + stages - 1)


def micro_batches_for(stages: float, share: float, chunks: float = 1) -> int:
    """Return the fewest micro-batches that keep the bubble at or under a share."""
    return max(1, ceil((stages - 1) * (1 - share) / (share * chunks) - ROUNDING))


def speed_up(ranks: float, serial: float, overhead: float = 0.0) -> float:
    """Return Amdahl's speed-up with a cost for communication and scheduling.

    Args:
        ranks: How many work.
        serial: Share of the work that only one can do.
        overhead: Cost at that size, as a share of the time on one rank.
    """
    return 1 / ((1 - serial) / ranks + serial + overhead)


def efficiency(small: float, small_rate: float, large: float, large_rate: float) -> float:
    """Return the throughput per rank of a larger run over that of a smaller one.

    Raises:
        ValueError: The larger run is not larger.
    """
    if large <= small:
        raise ValueError(f"the larger run has {large:g} ranks and the smaller {small:g}")
    return (large_rate / large) / (small_rate / small)


def state_bytes(
    parameters: float, replicas: float = 1, zero: float = 0, gradient_bytes: float = 2
) -> dict[str, float]:
    """Return the bytes of weights, gradients and optimizer on one GPU.

    Args:
        parameters: Of the model, or of the part of it that one model-parallel rank holds.
        replicas: Data-parallel ranks, over which ZeRO spreads its share.
        zero: Stage: 1 spreads the optimizer, 2 the gradients as well, 3 the weights as well.
        gradient_bytes: Of one gradient, 2 or 4.

    Raises:
        ValueError: There is no such stage.
    """
    _check_stage(zero)
    return {
        "weights": parameters * MODEL_WEIGHT_BYTES / (replicas if zero >= 3 else 1),
        "gradients": parameters * gradient_bytes / (replicas if zero >= 2 else 1),
        "optimizer": parameters * OPTIMIZER_BYTES / (replicas if zero >= 1 else 1),
    }


def model_states(
    parameters: float, replicas: float = 1, zero: float = 0, gradient_bytes: float = 2
) -> float:
    """Return the sum of ``state_bytes``."""
    return sum(state_bytes(parameters, replicas, zero, gradient_bytes).values())


def flops_per_token(
    parameters: float,
    layers: float = 0,
    hidden: float = 0,
    sequence: float = 0,
    attended: float = CAUSAL,
) -> float:
    """Return the model's floating-point operations for one trained token.

    Six a parameter, and twelve a layer, hidden unit and position for attention (PaLM paper,
    appendix B).

    Args:
        parameters: That take part in a token; of a mixture of experts the active ones.
        layers: Of the model.
        hidden: Hidden size.
        sequence: Tokens of a sequence.
        attended: Share of the positions that attention looks at, 1 as Megatron-LM counts.
    """
    return 6 * parameters + 12 * layers * hidden * sequence * attended


def _check_stage(zero: float) -> None:
    if zero not in ZERO_STAGES:
        raise ValueError(f"zero is a stage from 0 to 3, not {zero:g}")
