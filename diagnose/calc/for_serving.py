"""Calculators of serving engines."""

from diagnose.calc import serving
from diagnose.calc.calculator import Calculator, Input, Result, Values, given, positive
from diagnose.calc.quantity import Unit


def _kv_cache(values: Values) -> list[Result]:
    positive(values, "length", "layers")
    layers, element = int(given(values, "layers")), given(values, "element")
    if values["latent"] is not None:
        rope = int(values["rope"] or 0)
        token = serving.latent_bytes_per_token(layers, int(values["latent"]), rope, element)
    else:
        heads, size = int(given(values, "heads")), int(given(values, "head_size"))
        token = serving.kv_bytes_per_token(layers, heads, size, element)
    length, concurrent = given(values, "length"), given(values, "concurrent")
    found = [
        Result("cache of one token", token, Unit.BYTES),
        Result("cache of one request", token * length, Unit.BYTES),
        Result("cache of all requests", token * length * concurrent, Unit.BYTES),
    ]
    if values["memory"] is not None:
        budget = serving.kv_budget(
            values["memory"], given(values, "share"), values["weights"] or 0.0,
            values["overhead"] or 0.0,
        )  # fmt: skip
        found += [
            Result("memory left for the cache", budget, Unit.BYTES),
            Result(
                "requests of that length at once", max(budget, 0) / (token * length), Unit.NUMBER
            ),
        ]
    return found


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
            Input("length", Unit.COUNT, "tokens of one request", "1"),
            Input("concurrent", Unit.COUNT, "requests at once", "1"),
            Input("memory", Unit.BYTES, "GPU memory of all GPUs of the model", optional=True),
            Input("share", Unit.SHARE, "what the engine may use of it", "90%"),
            Input("weights", Unit.BYTES, "bytes of the weights", optional=True),
            Input("overhead", Unit.BYTES, "activations, graphs, libraries", optional=True),
        ),
        _kv_cache,
        "Under one request the engine does not start; under the load it preempts requests.",
    ),
)
