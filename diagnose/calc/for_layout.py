"""Calculators of parallel layout and memory."""

from diagnose.calc import training
from diagnose.calc.calculator import Calculator, Input, Result, Values, given, positive
from diagnose.calc.quantity import Unit


def _bubble(values: Values) -> list[Result]:
    positive(values, "stages", "micro_batches", "chunks", "at_most")
    stages, chunks = given(values, "stages"), given(values, "chunks")
    share = training.bubble(stages, given(values, "micro_batches"), chunks)
    enough = training.micro_batches_for(stages, given(values, "at_most"), chunks)
    return [
        Result("idle share of a step", share, Unit.SHARE),
        Result("micro-batches that keep it at the limit", enough, Unit.COUNT),
    ]


def _memory(values: Values) -> list[Result]:
    positive(values, "replicas", "model_parallel")
    zero = given(values, "zero")
    if zero not in training.ZERO_STAGES:
        raise ValueError(f"--zero is a stage from 0 to 3, not {zero:g}")
    part = given(values, "parameters") / given(values, "model_parallel")
    replicas, gradient_bytes = given(values, "replicas"), given(values, "gradient_bytes")
    states = training.state_bytes(part, replicas, zero, gradient_bytes)
    found = [Result(f"{name} on each GPU", size, Unit.BYTES) for name, size in states.items()]
    return [*found, Result("model states on each GPU", sum(states.values()), Unit.BYTES)]


CALCULATORS = (
    Calculator(
        "bubble",
        "Share of a step in which a pipeline idles",
        "(p - 1) / (v m + p - 1)",
        (
            Input("stages", Unit.COUNT, "pipeline stages p"),
            Input("micro-batches", Unit.COUNT, "micro-batches m of one step"),
            Input("chunks", Unit.COUNT, "model chunks v a stage (interleaved schedule)", "1"),
            Input("at-most", Unit.SHARE, "largest share to aim for", "20%"),
        ),
        _bubble,
        "Above 20 % use more micro-batches, interleaving or fewer stages.",
    ),
    Calculator(
        "memory",
        "Memory of weights, gradients and optimizer on each GPU",
        "2 P + g P + 12 P bytes; ZeRO 1 divides the last by N, 2 the second too, 3 all",
        (
            Input("parameters", Unit.COUNT, "parameters P of the model"),
            Input("replicas", Unit.COUNT, "data-parallel ranks N", "1"),
            Input("zero", Unit.COUNT, "ZeRO stage, 3 for FSDP", "0"),
            Input("gradient-bytes", Unit.COUNT, "bytes g of one gradient", "2"),
            Input("model-parallel", Unit.COUNT, "tensor x pipeline parallel ranks", "1"),
        ),
        _memory,
        "Activations, communication buffers and fragmentation come on top.",
    ),
)
