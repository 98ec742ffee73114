"""Calculators of communication, parallel layout, memory and speed of training."""

from diagnose.calc import training
from diagnose.calc.calculator import Calculator, Input, Result, Values, given, positive
from diagnose.calc.quantity import Unit


def _communication(values: Values) -> list[Result]:
    positive(values, "bandwidth", "ranks", "compute_time")
    gradients = given(values, "parameters") * given(values, "gradient_bytes")
    ranks = values["ranks"]
    moved = 2 * gradients if ranks is None else training.ring_all_reduce(gradients, int(ranks))
    time = moved / given(values, "bandwidth")
    found = [
        Result("gradients of one step", gradients, Unit.BYTES),
        Result("moved by each rank", moved, Unit.BYTES),
        Result("communication time", time, Unit.SECONDS),
    ]
    compute = values["compute_time"]
    if compute is not None:
        ratio = training.communication_ratio(compute, time)
        found.append(Result("communication over compute", ratio, Unit.NUMBER))
    return found


def _bubble(values: Values) -> list[Result]:
    positive(values, "stages", "micro_batches", "chunks", "at_most")
    stages, chunks = int(given(values, "stages")), int(given(values, "chunks"))
    share = training.bubble(stages, int(given(values, "micro_batches")), chunks)
    enough = training.micro_batches_for(stages, given(values, "at_most"), chunks)
    return [
        Result("idle share of a step", share, Unit.SHARE),
        Result("micro-batches that keep it at the limit", enough, Unit.COUNT),
    ]


def _memory(values: Values) -> list[Result]:
    positive(values, "replicas", "model_parallel")
    zero = int(given(values, "zero"))
    if zero > 3:
        raise ValueError(f"--zero is a stage from 0 to 3, not {zero}")
    part = given(values, "parameters") / given(values, "model_parallel")
    gradient_bytes = int(given(values, "gradient_bytes"))
    states = training.state_bytes(part, int(given(values, "replicas")), zero, gradient_bytes)
    found = [Result(f"{name} on each GPU", size, Unit.BYTES) for name, size in states.items()]
    return [*found, Result("model states on each GPU", sum(states.values()), Unit.BYTES)]


def _scaling(values: Values) -> list[Result]:
    positive(values, "ranks")
    ranks = int(given(values, "ranks"))
    gain = training.speed_up(ranks, given(values, "serial"), given(values, "overhead"))
    return [
        Result("speed-up", gain, Unit.NUMBER),
        Result("efficiency", gain / ranks, Unit.SHARE),
    ]


def _efficiency(values: Values) -> list[Result]:
    positive(values, "small", "small_rate", "large")
    small, large = int(given(values, "small")), int(given(values, "large"))
    rates = given(values, "small_rate"), given(values, "large_rate")
    return [Result("efficiency", training.efficiency(small, rates[0], large, rates[1]), Unit.SHARE)]


def _mfu(values: Values) -> list[Result]:
    positive(values, "peak")
    layers, hidden, sequence = (int(values[key] or 0) for key in ("layers", "hidden", "sequence"))
    flops = training.flops_per_token(given(values, "parameters"), layers, hidden, sequence)
    rate = flops * given(values, "tokens_per_second")
    return [
        Result("operations for one token", flops, Unit.FLOPS),
        Result("useful operations on each GPU", rate, Unit.FLOPS),
        Result("model FLOPs utilisation", rate / given(values, "peak"), Unit.SHARE),
    ]


def _bandwidth(values: Values) -> list[Result]:
    positive(values, "ranks", "time")
    ranks = int(given(values, "ranks"))
    algorithm = given(values, "size") / given(values, "time")
    found = [Result("algorithm bandwidth", algorithm, Unit.RATE)]
    return found + [
        Result(f"bus bandwidth of {name}", algorithm * factor(ranks), Unit.RATE)
        for name, factor in training.BUS_FACTORS.items()
    ]


CALCULATORS = (
    Calculator(
        "comm-ratio",
        "Time that data parallelism spends on gradients, against compute",
        "gradients = P x bytes; moved = 2 (n - 1) / n x gradients; time = moved / bandwidth",
        (
            Input("parameters", Unit.COUNT, "parameters P of the model, like 17B"),
            Input("gradient-bytes", Unit.COUNT, "bytes of one gradient", "2"),
            Input("bandwidth", Unit.RATE, "bus bandwidth of the all-reduce"),
            Input("ranks", Unit.COUNT, "data-parallel ranks; without it n is large", optional=True),
            Input("compute-time", Unit.SECONDS, "forward and backward of one step", optional=True),
        ),
        _communication,
        "Above 0.3 scaling is poor unless communication overlaps with compute.",
    ),
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
        "Scaling efficiency from two measured runs",
        "(rate2 / N2) / (rate1 / N1)",
        (
            Input("small", Unit.COUNT, "ranks N1 of the smaller run"),
            Input("small-rate", Unit.NUMBER, "its throughput in all"),
            Input("large", Unit.COUNT, "ranks N2 of the larger run"),
            Input("large-rate", Unit.NUMBER, "its throughput in all"),
        ),
        _efficiency,
        "0.9 and more is good, under 0.8 worth a look, under 0.5 misconfigured.",
    ),
    Calculator(
        "mfu",
        "Model FLOPs utilisation from tokens a second",
        "tokens/s x (6 P + 6 layers x hidden x sequence) / peak",
        (
            Input("tokens-per-second", Unit.NUMBER, "tokens a second on each GPU"),
            Input("parameters", Unit.COUNT, "active parameters P"),
            Input("peak", Unit.FLOPS, "dense peak of the GPU in the precision used"),
            Input("layers", Unit.COUNT, "layers, to count attention", optional=True),
            Input("hidden", Unit.COUNT, "hidden size", optional=True),
            Input("sequence", Unit.COUNT, "sequence length", optional=True),
        ),
        _mfu,
        "Dense models reach 0.38 to 0.50 on H100 and 0.45 to 0.58 on A100; under 0.25 look closer.",
    ),
    Calculator(
        "bandwidth",
        "Bus bandwidth of a collective from size and time",
        "algorithm = size / time; bus = algorithm x 2 (n - 1) / n for all-reduce",
        (
            Input("size", Unit.BYTES, "bytes of the message"),
            Input("time", Unit.SECONDS, "of one operation"),
            Input("ranks", Unit.COUNT, "ranks n"),
        ),
        _bandwidth,
        "Bus bandwidth is the figure to hold against the hardware.",
    ),
)
