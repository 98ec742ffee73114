"""Calculators of what data, tensor and pipeline parallelism send, and of collectives."""

from diagnose.calc import collectives, training
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


def _ratio(values: Values) -> list[Result]:
    positive(values, "bandwidth", "ranks", "compute_time")
    apart(values, "comm_time", "parameters")
    for key in ("bandwidth", "ranks"):
        with_its_own(values, key, "parameters")
    time = values["comm_time"]
    found = []
    if values["parameters"] is not None:
        gradients = values["parameters"] * given(values, "gradient_bytes")
        zero = given(values, "zero")
        if zero not in training.ZERO_STAGES:
            raise ValueError(f"--zero is a stage from 0 to 3, not {zero:g}")
        moved = training.gradient_traffic(gradients, values["ranks"], zero)
        time = moved / given(values, "bandwidth")
        found = [
            Result("gradients of one step", gradients, Unit.BYTES),
            Result("moved by each rank", moved, Unit.BYTES),
            Result("communication time", time, Unit.SECONDS),
        ]
    if time is None:
        raise ValueError("--comm-time is missing; --parameters and --bandwidth give it too")
    if values["compute_time"] is not None:
        ratio = training.communication_ratio(values["compute_time"], time)
        found.append(Result("communication over compute", ratio, Unit.NUMBER))
    elif not found:
        raise ValueError("--compute-time is missing; without it there is nothing to compare")
    return found


def _tensor(values: Values) -> list[Result]:
    positive(values, "ranks", "layers", "bandwidth", "across")
    layers, micro_batches = given(values, "layers"), given(values, "micro_batches")
    moved = training.tensor_traffic(
        layers, given(values, "micro_batch"), given(values, "sequence"), given(values, "hidden"),
        given(values, "ranks"), micro_batches, given(values, "element"),
    )  # fmt: skip
    count = training.TENSOR_COLLECTIVES * layers * micro_batches
    return [
        Result("all-reduces of one step", count, Unit.COUNT),
        Result("moved by each rank", moved, Unit.BYTES),
        Result("time inside a node", moved / given(values, "bandwidth"), Unit.SECONDS),
        Result("time across nodes", moved / given(values, "across"), Unit.SECONDS),
    ]


def _bandwidth(values: Values) -> list[Result]:
    positive(values, "ranks", "time", "nics", "nic_rate")
    ranks = given(values, "ranks")
    algorithm = given(values, "size") / given(values, "time")
    found = [Result("algorithm bandwidth", algorithm, Unit.RATE)]
    found += [
        Result(f"bus bandwidth of {name}", algorithm * factor(ranks), Unit.RATE)
        for name, factor in collectives.BUS_FACTORS.items()
    ]
    if values["nic_rate"] is not None:
        limit = given(values, "nics") * values["nic_rate"]
        low, high = collectives.ACROSS_NODES
        reached = collectives.bus_bandwidth(given(values, "size"), given(values, "time"), ranks)
        found += [
            Result("adapters of a node together", limit, Unit.RATE),
            Result("expected of an all-reduce, least", low * limit, Unit.RATE),
            Result("expected of an all-reduce, most", high * limit, Unit.RATE),
            Result("reached by an all-reduce", reached / limit, Unit.SHARE),
        ]
    return found


CALCULATORS = (
    Calculator(
        "comm-ratio",
        "Time that data parallelism spends on gradients, against compute",
        "gradients = P x bytes; moved = 2 (n - 1) / n x gradients, 1.5 times that with ZeRO-3 or "
        "FSDP; time = moved / bandwidth; ratio = time / compute time",
        (
            Input("parameters", Unit.COUNT, "parameters P of the model, like 17B", optional=True),
            Input("gradient-bytes", Unit.COUNT, "bytes of one gradient", "2"),
            Input("bandwidth", Unit.RATE, "bus bandwidth of the all-reduce", optional=True),
            Input("ranks", Unit.COUNT, "data-parallel ranks; without it n is large", optional=True),
            Input("zero", Unit.COUNT, "ZeRO stage, 3 for FSDP", "0"),
            Input("comm-time", Unit.SECONDS, "measured, in place of the formula", optional=True),
            Input("compute-time", Unit.SECONDS, "forward and backward of one step", optional=True),
        ),
        _ratio,
        "Above 0.3 scaling is poor unless communication overlaps with compute; under 0.1 it does.",
    ),
    Calculator(
        "tensor-traffic",
        "What tensor parallelism sends in a step, inside a node and across nodes",
        "moved = 4 L m x 2 (t - 1) / t x b s h x bytes",
        (
            Input("layers", Unit.COUNT, "layers L of one pipeline stage"),
            Input("micro-batch", Unit.COUNT, "sequences b of one micro-batch", "1"),
            Input("micro-batches", Unit.COUNT, "micro-batches m of one step", "1"),
            Input("sequence", Unit.COUNT, "tokens s of a sequence"),
            Input("hidden", Unit.COUNT, "hidden size h"),
            Input("ranks", Unit.COUNT, "tensor-parallel ranks t"),
            Input("element", Unit.NUMBER, "bytes of a value", "2"),
            Input("bandwidth", Unit.RATE, "bandwidth inside a node", "900GB/s"),
            Input("across", Unit.RATE, "bandwidth across nodes", "50GB/s"),
        ),
        _tensor,
        "Keep tensor parallelism within the GPUs of one node.",
    ),
    Calculator(
        "bandwidth",
        "Bus bandwidth of a collective from size and time, against the adapters",
        "algorithm = size / time; bus = algorithm x 2 (n - 1) / n for all-reduce; "
        "expected across nodes = 0.8 to 0.95 x adapters x rate",
        (
            Input("size", Unit.BYTES, "bytes of the message"),
            Input("time", Unit.SECONDS, "of one operation"),
            Input("ranks", Unit.COUNT, "ranks n"),
            Input("nics", Unit.COUNT, "adapters of a node", "8"),
            Input("nic-rate", Unit.RATE, "rate of one adapter", optional=True),
        ),
        _bandwidth,
        "Bus bandwidth is the figure to hold against the hardware. Across nodes, about 1/8 of the "
        "adapters is one adapter in use, half is no GPUDirect RDMA, 10 GB/s and less is sockets.",
    ),
)
