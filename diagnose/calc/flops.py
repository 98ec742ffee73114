"""Floating-point operations of a step, and the share of the GPU's peak they make.

``recompute`` is the share of the layers whose activations are computed again in the backward pass:
0 without, 1 with full recomputation. The hardware then does a third more than the model needs.
"""

RECOMPUTED = 1 / 3
"""What full recomputation adds: a second forward pass beside one forward and two backward."""

MEASURED_COST = (0.20, 0.30)
"""What full recomputation adds to the time of a step, as measured."""


def step_flops(
    batch: float,
    sequence: float,
    layers: float,
    hidden: float,
    vocabulary: float = 0,
    recompute: float = 0,
) -> float:
    """Return the operations of one step in Megatron-LM's closed form.

    72 B s L h^2 (1 + s / 6h + V / 12Lh) without recomputation, and 96 B s L h^2 (1 + s / 6h +
    V / 16Lh) with full recomputation (arXiv 2104.04473, section 3.2 and appendix).

    Args:
        batch: Sequences of a global batch.
        sequence: Tokens of a sequence.
        layers: Of the model.
        hidden: Hidden size.
        vocabulary: Size of the vocabulary.
        recompute: Share of the layers that are computed again.
    """
    layer = 72 * (1 + RECOMPUTED * recompute) * batch * sequence * layers * hidden**2
    return layer * (1 + sequence / (6 * hidden)) + 6 * batch * sequence * hidden * vocabulary


def mfu(tokens_per_second: float, flops: float, peak: float) -> float:
    """Return the model FLOPs utilisation.

    Args:
        tokens_per_second: On each GPU.
        flops: Operations of one token.
        peak: Of the GPU, dense, in operations a second.
    """
    return tokens_per_second * flops / peak


def hfu(utilisation: float, recompute: float = 1) -> float:
    """Return the hardware FLOPs utilisation that belongs to one of the model."""
    return utilisation * (1 + RECOMPUTED * recompute)
