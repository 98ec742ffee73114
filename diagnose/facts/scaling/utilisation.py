"""Model FLOPs utilisation: useful operations over what the GPUs could do.

``train.mfu`` has ``mfu`` (0 to 1) and its ``source``: ``rate`` (the program states TFLOP/s for each
GPU, laid against the dense ``peak`` of the ``gpu``), ``stated`` (by a program that knows its GPU's
peak), or ``shape`` (from tokens a second, layers, hidden size and sequence length). ``stated`` is
what the program itself says, ``ceiling`` the share of the peak that the best multiplication
measured on this GPU reaches; ``dense`` is false for a mixture of experts.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from diagnose.calc import training
from diagnose.facts import settings
from diagnose.facts.points import derived_event, points_of
from diagnose.facts.scaling.gpu_models import Model, model_of
from diagnose.model.event import Clock, Event, Points, Value

EVENT = "train.mfu"

FEWEST_POINTS, WARM_UP = 3, 5

TERA = 1e12


def utilisations(
    events: Sequence[Event], series: Sequence[Points], by_file: dict[str, Clock], world: int | None
) -> Iterator[Event]:
    """Yield the utilisation, once.

    Args:
        events: Of the input.
        series: Of the input.
        by_file: What the stamps of each file are measured against.
        world: Ranks of the job.
    """
    arguments = settings.arguments(events)
    gpu = model_of(events)
    peak = _peak(gpu, arguments)
    stated, rate = _level(series, "mfu"), _level(series, "tflops")
    shaped = _by_shape(series, arguments, world)
    if rate is not None and peak:
        found, mfu, source = rate[0], rate[1] / peak, "rate"
    elif stated is not None:
        found, mfu, source = stated[0], stated[1], "stated"
    elif shaped is not None and peak:
        found, mfu, source = shaped[0], shaped[1] / TERA / peak, "shape"
    else:
        return
    fields: dict[str, Value] = {
        "mfu": mfu,
        "source": source,
        "stated": stated[1] if stated else None,
        "gpu": gpu.name if gpu else None,
        "peak": peak,
        "ceiling": gpu.matmul / gpu.bf16 if gpu and gpu.matmul else None,
        "dense": not settings.whole(arguments.get("num_experts")),
        "world_size": world,
    }
    yield derived_event(found, points_of(found)[-1], EVENT, fields, by_file)


def _peak(gpu: Model | None, arguments: Mapping[str, Value]) -> float | None:
    """Return the dense peak in TFLOP/s for the precision of the job."""
    if gpu is None:
        return None
    return gpu.fp8 if arguments.get("fp8") and gpu.fp8 else gpu.bf16


def _level(series: Sequence[Points], metric: str) -> tuple[Points, float] | None:
    """Return the longest series of a metric and its median behind the first steps."""
    found = [one for one in series if one.metric == metric and len(one.values) >= FEWEST_POINTS]
    if not found:
        return None
    longest = max(found, key=lambda one: len(one.values))
    skipped = min(WARM_UP, len(longest.values) // 4)
    values = [value for value in longest.values[skipped:] if value > 0]
    return (longest, median(values)) if len(values) >= FEWEST_POINTS else None


def _by_shape(
    series: Sequence[Points], arguments: Mapping[str, Value], world: int | None
) -> tuple[Points, float] | None:
    """Return a series and the useful operations a second and GPU that it and the shape give."""
    layers, hidden, length = (
        settings.whole(arguments.get(name)) for name in ("num_layers", "hidden_size", "seq_length")
    )
    if not layers or not hidden or not length or settings.whole(arguments.get("num_experts")):
        return None
    vocabulary = settings.whole(arguments.get("padded_vocab_size")) or 0
    parameters = 12 * layers * hidden**2 + vocabulary * hidden
    rate = _tokens(series, arguments, length, world)
    if rate is None:
        return None
    return rate[0], rate[1] * training.flops_per_token(parameters, layers, hidden, length)


def _tokens(
    series: Sequence[Points], arguments: Mapping[str, Value], length: int, world: int | None
) -> tuple[Points, float] | None:
    """Return a series and the tokens a second and GPU that it gives."""
    if (own := _level(series, "tokens_per_s_gpu")) is not None:
        return own
    if not world:
        return None
    if (total := _level(series, "tokens_per_s")) is not None:
        return total[0], total[1] / world
    time, batch = _level(series, "step_time"), settings.whole(arguments.get("global_batch_size"))
    if time is None or not batch:
        return None
    return time[0], batch * length / time[1] / world
