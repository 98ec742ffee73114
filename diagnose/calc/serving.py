"""Memory, latency and cost of serving."""


def kv_bytes_per_token(layers: float, heads: float, head_size: float, element: float = 2) -> float:
    """Return the bytes that one token keeps in the cache, over all GPUs of the model.

    Args:
        layers: Of the model.
        heads: Key-value heads: all heads in multi-head attention, fewer in grouped-query attention.
        head_size: Values a head.
        element: Bytes of a value, 2 for bf16 and 1 for fp8.
    """
    return 2 * layers * heads * head_size * element


def latent_bytes_per_token(layers: float, latent: float, rope: float, element: float = 2) -> float:
    """Return the same for multi-head latent attention, which keeps one compressed vector.

    Args:
        layers: Of the model.
        latent: Size of the compressed vector (``kv_lora_rank``).
        rope: Size of the part with positions (``qk_rope_head_dim``).
        element: Bytes of a value.
    """
    return layers * (latent + rope) * element


def cache_copies(tensor: float, heads: float = 1) -> float:
    """Return how often the GPUs of a tensor-parallel group keep the same part of the cache.

    Args:
        tensor: GPUs of the group.
        heads: Key-value heads, which are dealt out to them; 1 for latent attention, whose vector
            every GPU keeps.
    """
    return tensor / min(tensor, heads)


def cached_tokens(length: float, window: float, share: float) -> float:
    """Return for how many tokens a request keeps the cache of all layers.

    Args:
        length: Tokens of the request.
        window: Tokens that a layer with a sliding window looks back.
        share: Of the layers, those with a window.
    """
    return length * (1 - share) + min(length, window) * share


def kv_budget(total: float, share: float, weights: float, overhead: float) -> float:
    """Return the bytes of GPU memory that are left for the cache.

    Args:
        total: Of the GPU, or of all that share the model.
        share: What the engine may use of it, from 0 to 1.
        weights: Bytes of the model on them.
        overhead: Bytes of activations, graphs and libraries on them.
    """
    return total * share - weights - overhead


def request_time(ttft: float, tpot: float, tokens: float) -> float:
    """Return the seconds from a request to its last token.

    Args:
        ttft: Seconds to the first token: queue and prefill.
        tpot: Seconds of each further token: decoding.
        tokens: Of the answer.
    """
    return ttft + tpot * max(tokens - 1, 0)


def token_cost(price: float, gpus: float, tokens_per_second: float, useful: float = 1) -> float:
    """Return what a million tokens cost, in the currency of the price.

    Args:
        price: Of one GPU for an hour.
        gpus: That serve or train.
        tokens_per_second: Of all of them together while they work.
        useful: Share of the time in which they work, or of the tokens that count.
    """
    return price * gpus / (tokens_per_second * useful * 3600) * 1e6
