"""Calculators of serving engines."""

from diagnose.calc import serving
from diagnose.calc.calculator import (
    Calculator,
    Input,
    Result,
    Values,
    apart,
    given,
    positive,
    with_its_own,
)
from diagnose.calc.quantity import Unit


def _kv_cache(values: Values) -> list[Result]:
    positive(
        values, "length", "layers", "heads", "head_size", "latent", "element", "tensor", "pipeline"
    )
    for key in ("weights", "overhead"):
        with_its_own(values, key, "memory")
    token, copies = _token(values)
    held = token * _cached(values)
    concurrent = given(values, "concurrent")
    found = [
        Result("cache of one token", token, Unit.BYTES),
        Result(
            "cache of one token on each GPU",
            token * copies / (given(values, "tensor") * given(values, "pipeline")),
            Unit.BYTES,
        ),
        Result("cache of one request", held, Unit.BYTES),
        Result("cache of all requests", held * concurrent, Unit.BYTES),
    ]
    if values["memory"] is not None:
        budget = serving.kv_budget(
            values["memory"], given(values, "share"), values["weights"] or 0.0,
            values["overhead"] or 0.0,
        )  # fmt: skip
        found += [
            Result("memory left for the cache", budget, Unit.BYTES),
            Result(
                "requests of that length at once",
                max(budget, 0) / (held * copies),
                Unit.NUMBER,
            ),
        ]
    return found


def _token(values: Values) -> tuple[float, float]:
    """Return the bytes of a token, and how often the GPUs keep them."""
    apart(values, "heads", "latent")
    with_its_own(values, "rope", "latent")
    layers, element = given(values, "layers"), given(values, "element")
    tensor = given(values, "tensor")
    if values["latent"] is not None:
        if values["rope"] is None:
            raise ValueError("--latent needs --rope as well; say --rope 0 where it has none")
        token = serving.latent_bytes_per_token(layers, values["latent"], values["rope"], element)
        return token, serving.cache_copies(tensor)
    heads, size = given(values, "heads"), given(values, "head_size")
    token = serving.kv_bytes_per_token(layers, heads, size, element)
    return token, serving.cache_copies(tensor, heads)


def _cached(values: Values) -> float:
    """Return for how many tokens a request keeps the cache of all layers."""
    length, window = given(values, "length"), values["window"]
    with_its_own(values, "windowed_layers", "window")
    if window is None:
        return length
    layers, windowed = given(values, "layers"), values["windowed_layers"]
    if windowed is not None and windowed > layers:
        raise ValueError(f"--windowed-layers is at most --layers, {layers:g}")
    return serving.cached_tokens(length, window, 1 if windowed is None else windowed / layers)


def _latency(values: Values) -> list[Result]:
    positive(values, "tokens", "ttft", "tpot", "concurrent")
    tokens, concurrent = given(values, "tokens"), given(values, "concurrent")
    ttft, tpot = given(values, "ttft"), given(values, "tpot")
    whole = serving.request_time(ttft, tpot, tokens)
    return [
        Result("time of one request", whole, Unit.SECONDS),
        Result("of which until the first token", ttft / whole if whole else 0.0, Unit.SHARE),
        Result("tokens a second that one reader sees", 1 / tpot, Unit.NUMBER),
        Result("tokens a second of all requests", concurrent * tokens / whole, Unit.NUMBER),
    ]


def _token_cost(values: Values) -> list[Result]:
    positive(values, "tokens_per_second", "used", "within_target")
    price, gpus = given(values, "price"), given(values, "gpus")
    rate, used = given(values, "tokens_per_second"), given(values, "used")
    paid = serving.token_cost(price, gpus, rate, used)
    in_time = paid / given(values, "within_target")
    return [
        Result("cost of a million tokens", paid, Unit.NUMBER),
        Result("of a million tokens in time", in_time, Unit.NUMBER),
    ]


CALCULATORS = (
    Calculator(
        "kv-cache",
        "Memory of the key-value cache, and how many requests fit",
        "2 x layers x heads x head size x bytes, or layers x (latent + rope) x bytes",
        (
            Input("layers", Unit.COUNT, "layers of the model"),
            Input("heads", Unit.COUNT, "key-value heads", optional=True),
            Input("head-size", Unit.COUNT, "values a head", "128"),
            Input("element", Unit.NUMBER, "bytes of a value, 1 for fp8", "2"),
            Input("latent", Unit.COUNT, "compressed size, for latent attention", optional=True),
            Input("rope", Unit.COUNT, "its part with positions", optional=True),
            Input("tensor", Unit.COUNT, "tensor-parallel GPUs", "1"),
            Input("pipeline", Unit.COUNT, "pipeline stages", "1"),
            Input("window", Unit.COUNT, "tokens of a sliding window", optional=True),
            Input("windowed-layers", Unit.COUNT, "layers that have it, or all", optional=True),
            Input("length", Unit.COUNT, "tokens of one request", "1"),
            Input("concurrent", Unit.COUNT, "requests at once", "1"),
            Input("memory", Unit.BYTES, "GPU memory of all GPUs of the model", optional=True),
            Input("share", Unit.SHARE, "what the engine may use of it", "90%"),
            Input("weights", Unit.BYTES, "bytes of the weights", optional=True),
            Input("overhead", Unit.BYTES, "activations, graphs, libraries", optional=True),
        ),
        _kv_cache,
        "Under one request the engine does not start; under the load it preempts requests. GPUs "
        "beyond the key-value heads keep copies; with latent attention all of a group do.",
    ),
    Calculator(
        "latency",
        "Time of a request from its first token and the pace of the rest",
        "TTFT + TPOT x (tokens - 1)",
        (
            Input("ttft", Unit.SECONDS, "time to the first token: queue and prefill"),
            Input("tpot", Unit.SECONDS, "time of each further token: decoding"),
            Input("tokens", Unit.COUNT, "tokens of the answer"),
            Input("concurrent", Unit.COUNT, "requests at once", "1"),
        ),
        _latency,
        "Judge the two apart: the first shows prefill and scheduling, the other decoding and the "
        "cache. Shared prefixes kept warm cut the mean of the first by 20 % or more.",
    ),
    Calculator(
        "token-cost",
        "Cost of a million tokens",
        "price x GPUs / (tokens/s x share used x 3600) x 1,000,000",
        (
            Input("price", Unit.NUMBER, "of one GPU for an hour"),
            Input("gpus", Unit.COUNT, "GPUs", "1"),
            Input("tokens-per-second", Unit.NUMBER, "of all GPUs together while they work"),
            Input("used", Unit.SHARE, "share of the time in which they work", "100%"),
            Input("within-target", Unit.SHARE, "share of the tokens that came in time", "100%"),
        ),
        _token_cost,
        "In the currency of the price. Watch it with the use of the GPUs, the share of requests in "
        "time, the queue and the retries.",
    ),
)
