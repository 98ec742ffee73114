"""Calculators of the memory that a model takes on each GPU."""

from diagnose.calc import serving, training
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

OF_TRAINING = ("replicas", "zero", "gradient_bytes")
OF_SERVING = ("element", "memory", "share", "activations", "graphs", "token", "length")


def _memory(values: Values) -> list[Result]:
    positive(values, "replicas", "model_parallel", "element", "token", "length")
    if values["serving"]:
        for key in OF_TRAINING:
            apart(values, key, "serving")
        return _of_serving(values)
    for key in OF_SERVING:
        with_its_own(values, key, "serving")
    return _of_training(values)


def _of_training(values: Values) -> list[Result]:
    zero = values["zero"] or 0
    if zero not in training.ZERO_STAGES:
        raise ValueError(f"--zero is a stage from 0 to 3, not {zero:g}")
    part = given(values, "parameters") / given(values, "model_parallel")
    gradient_bytes = 2 if values["gradient_bytes"] is None else values["gradient_bytes"]
    states = training.state_bytes(part, values["replicas"] or 1, zero, gradient_bytes)
    found = [Result(f"{name} on each GPU", size, Unit.BYTES) for name, size in states.items()]
    return [*found, Result("model states on each GPU", sum(states.values()), Unit.BYTES)]


def _of_serving(values: Values) -> list[Result]:
    with_its_own(values, "length", "token")
    element = 2 if values["element"] is None else values["element"]
    whole, gpus = given(values, "parameters") * element, given(values, "model_parallel")
    found = [Result("weights on each GPU", whole / gpus, Unit.BYTES)]
    if values["memory"] is None:
        for key in ("share", "activations", "graphs", "token"):
            with_its_own(values, key, "memory")
        return found
    share = 0.9 if values["share"] is None else values["share"]
    beside = (values["activations"] or 0.0) + (values["graphs"] or 0.0)
    room = serving.kv_budget(values["memory"], share, whole / gpus, beside)
    found += [
        Result("memory the engine may use", values["memory"] * share, Unit.BYTES),
        Result("memory left for the cache", room, Unit.BYTES),
        Result("kept free beside it", values["memory"] * (1 - share), Unit.BYTES),
    ]
    request = 0.0
    if values["token"] is not None:
        found.append(
            Result("tokens that the cache holds", max(room, 0) // values["token"], Unit.COUNT)
        )
        if values["length"] is not None:
            request = values["token"] * values["length"]
            found.append(
                Result("requests of that length at once", max(room, 0) / request, Unit.NUMBER)
            )
    least = (whole / gpus + beside + request) / values["memory"]
    too_much = "no share of one GPU is enough: more GPUs, or fewer bytes a weight"
    fits = least <= 1
    found.append(
        Result(
            "least share that starts",
            least if fits else None,
            Unit.SHARE,
            None if fits else too_much,
        )
    )
    return found


CALCULATORS = (
    Calculator(
        "memory",
        "Memory of a model on each GPU, in training or in serving",
        "2 P + g P + 12 P bytes; ZeRO 1 divides the last by N, 2 the second too, 3 all. "
        "Serving: memory x share - P x bytes / GPUs - activations - graphs is left for the cache",
        (
            Input("parameters", Unit.COUNT, "parameters P of the model"),
            Input("model-parallel", Unit.COUNT, "tensor x pipeline parallel ranks", "1"),
            Input("replicas", Unit.COUNT, "data-parallel ranks N, one if left out", optional=True),
            Input("zero", Unit.COUNT, "ZeRO stage, 3 for FSDP, 0 if left out", optional=True),
            Input(
                "gradient-bytes",
                Unit.COUNT,
                "bytes g of one gradient, 2 if left out",
                optional=True,
            ),
            Input("serving", Unit.SWITCH, "of an inference engine, for which the rest is"),
            Input(
                "element",
                Unit.NUMBER,
                "bytes of a weight: 2 if left out, 1 for fp8, 0.55 for int4",
                optional=True,
            ),
            Input("memory", Unit.BYTES, "memory of one GPU", optional=True),
            Input(
                "share",
                Unit.SHARE,
                "what the engine may use of it, 90 % if left out",
                optional=True,
            ),
            Input("activations", Unit.BYTES, "peak of activations, and libraries", optional=True),
            Input("graphs", Unit.BYTES, "captured graphs", optional=True),
            Input("token", Unit.BYTES, "cache of one token on each GPU (kv-cache)", optional=True),
            Input("length", Unit.COUNT, "tokens of the longest request", optional=True),
        ),
        _memory,
        "In training activations, communication buffers and fragmentation come on top. In serving "
        "keep 1 to 2 GiB free beside the share, and the graphs where they are not counted in.",
    ),
)
