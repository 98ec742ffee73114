"""Calculators of how fast training is, and how it scales."""

from collections.abc import Sequence

from diagnose.calc import flops, scaling, training
from diagnose.calc.calculator import (
    Calculator,
    Input,
    Result,
    Values,
    given,
    positive,
    with_its_own,
)
from diagnose.calc.quantity import Unit

ROUNDING = 1e-9
"""By how much a computed efficiency may lie above 100 %."""

ATTENTION = ("layers", "hidden", "sequence")
"""What the operations of attention follow from, all of them together."""


def _scaling(values: Values) -> list[Result]:
    positive(values, "ranks")
    ranks = given(values, "ranks")
    gain = training.speed_up(ranks, given(values, "serial"), given(values, "overhead"))
    return [
        Result("speed-up", gain, Unit.NUMBER),
        Result("efficiency", gain / ranks, Unit.SHARE),
    ]


def _efficiency(values: Values) -> list[Result]:
    positive(values, "small", "small_rate", "large", "large_rate", "at")
    small, large = given(values, "small"), given(values, "large")
    if large <= small:
        raise ValueError(f"--large ({large:g}) must be larger than --small ({small:g})")
    rates = given(values, "small_rate"), given(values, "large_rate")
    found = [
        Result("efficiency", training.efficiency(small, rates[0], large, rates[1]), Unit.SHARE)
    ]
    if values["at"] is not None:
        runs = [(small, rates[0]), (large, rates[1])]
        found += [_expected(runs, cost, values["at"]) for cost in scaling.COSTS]
    return found


def _expected(runs: Sequence[tuple[float, float]], cost: str, ranks: float) -> Result:
    """Return the efficiency at a third size, without a value where the fit does not reach it."""
    name = f"efficiency expected there, as a {cost}"
    each = scaling.expected_cost(runs, cost, ranks)
    size, rate = runs[0]
    if each * rate / size < 1 - ROUNDING:
        reason = "the fit leaves 0 to 100 % at that size: these two runs say nothing of it"
        return Result(name, None, Unit.SHARE, reason)
    return Result(name, size / (each * rate), Unit.SHARE)


def _mfu(values: Values) -> list[Result]:
    positive(values, "peak")
    for key in ATTENTION:
        with_its_own(values, key, *ATTENTION)
    layers, hidden, sequence = (values[key] or 0 for key in ATTENTION)
    attended, recompute = given(values, "attended"), given(values, "recompute")
    token = training.flops_per_token(
        given(values, "parameters"), layers, hidden, sequence, attended
    )
    rate, peak = given(values, "tokens_per_second"), given(values, "peak")
    utilisation = flops.mfu(rate, token, peak)
    return [
        Result("operations for one token", token, Unit.OPERATIONS),
        Result("useful operations on each GPU", token * rate, Unit.FLOPS),
        Result("model FLOPs utilisation", utilisation, Unit.SHARE),
        Result("hardware FLOPs utilisation", flops.hfu(utilisation, recompute), Unit.SHARE),
    ]


def _step(values: Values) -> list[Result]:
    positive(values, "hidden", "layers", "step_time", "gpus", "peak")
    with_its_own(values, "peak", "step_time")
    batch, sequence, layers, hidden = (
        given(values, key) for key in ("batch", "sequence", "layers", "hidden")
    )
    vocabulary = values["vocabulary"] or 0
    model = flops.step_flops(batch, sequence, layers, hidden, vocabulary)
    recompute = given(values, "recompute")
    hardware = flops.step_flops(batch, sequence, layers, hidden, vocabulary, recompute)
    found = [
        Result("operations of the model in one step", model, Unit.OPERATIONS),
        Result("operations of the hardware", hardware, Unit.OPERATIONS),
    ]
    if values["step_time"] is not None:
        each = values["step_time"] * given(values, "gpus")
        found.append(Result("useful operations on each GPU", model / each, Unit.FLOPS))
        if values["peak"] is not None:
            found += [
                Result("model FLOPs utilisation", model / each / values["peak"], Unit.SHARE),
                Result("hardware FLOPs utilisation", hardware / each / values["peak"], Unit.SHARE),
            ]
    return found


def _recompute(values: Values) -> list[Result]:
    time, share = given(values, "step_time"), given(values, "recompute")
    low, high = (time * (1 + share * cost) for cost in flops.MEASURED_COST)
    return [
        Result("operations added", share * flops.RECOMPUTED, Unit.SHARE),
        Result("step time with it, least", low, Unit.SECONDS),
        Result("step time with it, most", high, Unit.SECONDS),
    ]


def _straggler(values: Values) -> list[Result]:
    positive(values, "ideal_time", "step_time")
    slowdown = given(values, "step_time") / given(values, "ideal_time")
    return [
        Result("slow-down", slowdown, Unit.NUMBER),
        Result("time wasted", max(0.0, 1 - 1 / slowdown), Unit.SHARE),
    ]


CALCULATORS = (
    Calculator(
        "scaling",
        "Speed-up with a serial part and a cost of communication",
        "S = 1 / ((1 - P) / N + P + C)",
        (
            Input("ranks", Unit.COUNT, "ranks N"),
            Input("serial", Unit.SHARE, "serial share P of the work", "0"),
            Input("overhead", Unit.NUMBER, "cost C at that size, in times of one rank's work", "0"),
        ),
        _scaling,
        "0.9 and more is good, under 0.8 worth a look, under 0.5 misconfigured.",
    ),
    Calculator(
        "efficiency",
        "Scaling efficiency from two measured runs, and what a third size may expect",
        "(rate2 / N2) / (rate1 / N1); fit: N / rate = a + b log2 N (tree) or a + b (N - 1) / N",
        (
            Input("small", Unit.COUNT, "ranks N1 of the smaller run"),
            Input("small-rate", Unit.NUMBER, "its throughput in all"),
            Input("large", Unit.COUNT, "ranks N2 of the larger run"),
            Input("large-rate", Unit.NUMBER, "its throughput in all"),
            Input("at", Unit.COUNT, "ranks to expect the efficiency of", optional=True),
        ),
        _efficiency,
        "0.9 and more is good, under 0.8 worth a look, under 0.5 misconfigured. A step of more "
        "than 20 % where the job leaves the node is the network; a steady fall is volume.",
    ),
    Calculator(
        "mfu",
        "Utilisation of the GPU from tokens a second",
        "tokens/s x (6 P + 12 layers x hidden x sequence x attended) / peak; recomputation adds a "
        "third for the hardware",
        (
            Input("tokens-per-second", Unit.NUMBER, "tokens a second on each GPU"),
            Input("parameters", Unit.COUNT, "active parameters P"),
            Input("peak", Unit.FLOPS, "dense peak of the GPU in the precision used"),
            Input("layers", Unit.COUNT, "layers, to count attention", optional=True),
            Input("hidden", Unit.COUNT, "hidden size", optional=True),
            Input("sequence", Unit.COUNT, "sequence length", optional=True),
            Input("attended", Unit.SHARE, "positions that attention looks at", "50%"),
            Input("recompute", Unit.SHARE, "share of the layers computed again", "0%"),
        ),
        _mfu,
        "Dense models reach 0.38 to 0.50 on H100 and 0.45 to 0.58 on A100, mixtures of experts "
        "0.20 to 0.40; a dense model under 0.25 is worth a look.",
    ),
    Calculator(
        "flops",
        "Operations of one step in Megatron-LM's closed form",
        "72 B s L h^2 (1 + s / (6 h) + V / (12 h L)); with full recomputation "
        "96 B s L h^2 (1 + s / (6 h) + V / (16 h L))",
        (
            Input("batch", Unit.COUNT, "sequences B of a global batch"),
            Input("sequence", Unit.COUNT, "tokens s of a sequence"),
            Input("layers", Unit.COUNT, "layers L"),
            Input("hidden", Unit.COUNT, "hidden size h"),
            Input("vocabulary", Unit.COUNT, "size V of the vocabulary", optional=True),
            Input("recompute", Unit.SHARE, "share of the layers computed again", "0%"),
            Input("step-time", Unit.SECONDS, "time of a step", optional=True),
            Input("gpus", Unit.COUNT, "GPUs of the job", "1"),
            Input("peak", Unit.FLOPS, "dense peak of one GPU", optional=True),
        ),
        _step,
        "The closed form is for dense models with a feed-forward layer of four times the hidden "
        "size and counts attention over all positions.",
    ),
    Calculator(
        "recompute",
        "What recomputing activations costs",
        "operations x (1 + r / 3); time x (1 + 0.2 r) to (1 + 0.3 r)",
        (
            Input("step-time", Unit.SECONDS, "time of a step without it"),
            Input("recompute", Unit.SHARE, "share r of the layers computed again", "100%"),
        ),
        _recompute,
        "Recompute attention alone first: it takes most of the memory and little of the time.",
    ),
    Calculator(
        "straggler",
        "What a slow member costs the job",
        "S = T / T ideal; wasted = 1 - 1 / S",
        (
            Input("step-time", Unit.SECONDS, "time T of a step as it is"),
            Input("ideal-time", Unit.SECONDS, "of a step were all as fast as the median"),
        ),
        _straggler,
        "From 1.1 on a job straggles.",
    ),
)
