"""Memory of a serving engine."""


def kv_bytes_per_token(layers: int, heads: int, head_size: int, element: float = 2) -> float:
    """Return the bytes that one token keeps in the cache, over all GPUs of the model.

    Args:
        layers: Of the model.
        heads: Key-value heads: all heads in multi-head attention, fewer in grouped-query attention.
        head_size: Values a head.
        element: Bytes of a value, 2 for bf16 and 1 for fp8.
    """
    return 2 * layers * heads * head_size * element


def latent_bytes_per_token(layers: int, latent: int, rope: int, element: float = 2) -> float:
    """Return the same for multi-head latent attention, which keeps one compressed vector.

    Args:
        layers: Of the model.
        latent: Size of the compressed vector (``kv_lora_rank``).
        rope: Size of the part with positions (``qk_rope_head_dim``).
        element: Bytes of a value.
    """
    return layers * (latent + rope) * element


def kv_budget(total: float, share: float, weights: float, overhead: float) -> float:
    """Return the bytes of GPU memory that are left for the cache.

    Args:
        total: Of the GPU, or of all that share the model.
        share: What the engine may use of it, from 0 to 1.
        weights: Bytes of the model on them.
        overhead: Bytes of activations, graphs and libraries on them.
    """
    return total * share - weights - overhead
