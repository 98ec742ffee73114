"""The memory plan of each start of a serving engine, put together from the lines that state it.

The figures of one start are printed by several processes over a minute or more: the budget, the
weights, what is left for the KV cache in each worker, its size in tokens, the graphs. A start
ends with the size of the cache; a figure of the beginning that comes after it belongs to the next
start.

``inference.memory_plan``
    One for each start and data-parallel replica, at its first line. In bytes: ``total`` of the
    GPU, ``budget`` (the share of it that may be used, ``utilization``), ``weights``,
    ``activations``, ``non_torch``, ``graph``, ``kv_bytes``; of several workers those with the
    smallest KV cache, which ``least_worker`` and the rank name where another one's
    (``kv_bytes_most``) is larger. ``reserve`` is what stays beside the budget, or what SGLang says
    is left. In tokens: ``kv_tokens``, ``max_model_len``, ``max_num_batched_tokens``.
    ``concurrency`` is how many requests of full length fit. ``workers``, ``block_size``,
    ``blocks``, ``max_num_seqs``, ``tp``, ``pp``, ``dtype``, ``kv_dtype``, ``quantization``,
    ``model`` and ``speculative`` as stated. ``free`` is what was free before the weights came;
    ``graph_estimate`` what graphs were expected to take before the cache was sized.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from diagnose.facts.serving.processes import Process, process_of
from diagnose.model.event import Event, Value

EVENTS = ("inference.memory_plan",)

OF_A_WORKER = {
    "inference.memory_budget": (
        "total", "free", "budget", "utilization", "weights", "activations", "non_torch", "graph",
    ),
    "inference.memory_profile": ("weights", "activations", "non_torch"),
    "inference.kv_memory": ("available", "weights", "activations", "non_torch"),
}  # fmt: skip
"""Fields of each event that are figures of the worker that prints it."""

RENAMED = {"available": "kv_bytes"}

OPENING = frozenset({*OF_A_WORKER, "inference.weights", "inference.memory_budget"})
"""Records of which one behind the end of a start begins the next."""

CLOSING = frozenset(
    {
        "inference.kv_tokens", "inference.kv_blocks", "inference.kv_allocated",
        "inference.memory_left",
    }
)  # fmt: skip
"""Records that tell the size of the KV cache."""

AFTER = frozenset({"inference.concurrency", "inference.graph_memory", "inference.started"})

OPTIONS = (
    "max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size", "tp", "pp", "dtype",
    "kv_dtype", "quantization", "utilization", "model", "speculative",
)  # fmt: skip
"""What a plan takes from the configuration."""

FIELDS = (
    "engine", "dp", "workers", "total", "utilization", "budget", "weights", "activations",
    "non_torch", "graph", "kv_bytes", "kv_bytes_most", "least_worker", "reserve", "kv_tokens",
    "blocks", "block_size", "concurrency", "max_model_len", "max_num_seqs",
    "max_num_batched_tokens", "tp", "pp", "dtype", "kv_dtype", "quantization", "model",
    "speculative", "free", "graph_estimate",
)  # fmt: skip


@dataclass(slots=True)
class _Start:
    """What is known of one start.

    Args:
        events: Its records.
        options: The configuration above it.
        workers: Figures by the tag of the worker.
        stated: Figures of the whole engine.
        closed: The size of the cache was told.
    """

    events: list[Event]
    options: Mapping[str, Value]
    workers: dict[str | None, dict[str, Value]] = field(default_factory=dict)
    stated: dict[str, Value] = field(default_factory=dict)
    closed: bool = False


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the plan of each start.

    Args:
        events: All that was read, in the order of sources and lines.
    """
    options: dict[str, dict[str, Value]] = {}
    starts: dict[tuple[str, int], _Start] = {}
    for event in events:
        if event.name in ("inference.config", "inference.limits"):
            _merge(options.setdefault(event.file, {}), event.fields)
            continue
        if event.name not in OPENING | CLOSING | AFTER:
            continue
        process = process_of(event)
        key = event.file, process.dp
        if key in starts and starts[key].closed and event.name in OPENING:
            yield from _plan(starts.pop(key), key[1])
        if key not in starts and event.name in AFTER:
            continue
        start = starts.setdefault(key, _Start([], options.get(event.file, {})))
        start.events.append(event)
        _take(start, event, process)
    for (_, dp), start in starts.items():
        yield from _plan(start, dp)


def _merge(known: dict[str, Value], stated: Mapping[str, Value]) -> None:
    known |= {name: value for name, value in stated.items() if value is not None}


def _take(start: _Start, event: Event, process: Process) -> None:
    fields = event.fields
    worker = _name(event, process)
    of_a_worker = event.name in OPENING or fields.get("memory") is not None
    own = start.workers.setdefault(worker, {}) if of_a_worker else {}
    if event.name in OF_A_WORKER:
        figures = {RENAMED.get(name, name): fields.get(name) for name in OF_A_WORKER[event.name]}
        _merge(own, figures)
    elif event.name == "inference.weights":
        available, memory = event.number("available"), event.number("memory")
        if available is not None and memory is not None:
            own.setdefault("free", int(available + memory))
        _add(own, "weights", event)
    elif event.name in CLOSING:
        # SGLang sizes the cache of a draft model after that of the model, and sums up at the end.
        if event.name != "inference.kv_tokens" or fields.get("value") != "sglang":
            start.closed = True
        _take_size(start, event)
    elif event.name == "inference.concurrency":
        _merge(
            start.stated,
            {"concurrency": fields.get("factor"), "max_model_len": fields.get("length")},
        )
    elif event.name == "inference.graph_memory" and "seconds" in fields:
        _add(own, "graph", event)
    elif fields.get("memory") is not None:
        own["graph"] = fields["memory"]
        if event.name == "inference.graph_memory":
            own["graph_estimate"] = fields["memory"]


def _add(own: dict[str, Value], figure: str, event: Event) -> None:
    """Add the memory of a record to a figure: a draft model has weights and graphs of its own."""
    memory = event.number("memory")
    if memory is not None:
        own[figure] = int((_number(own, figure) or 0) + memory)


def _name(event: Event, process: Process) -> str | None:
    """Return a name that tells a worker from its siblings; older tags alone do not."""
    if process.tag is None or process.tp is not None or process.pp is not None:
        return process.tag
    if event.rank is not None:
        return f"{process.tag} rank={event.rank}"
    return process.tag if event.pid is None else f"{process.tag} pid={event.pid}"


def _take_size(start: _Start, event: Event) -> None:
    fields = event.fields
    if event.name == "inference.kv_tokens":
        parts = [event.number(name) for name in ("keys", "values", "both")]
        size = sum(part for part in parts if part is not None)
        # The first is that of the model itself; a draft model's comes later.
        start.stated = {"kv_tokens": fields.get("tokens"), "kv_bytes": size or None} | start.stated
    elif event.name == "inference.kv_allocated":
        _merge(start.stated, {"kv_tokens": fields.get("tokens"), "kv_bytes": fields.get("memory")})
    elif event.name == "inference.kv_blocks":
        _merge(
            start.stated, {"blocks": fields.get("blocks"), "block_size": fields.get("block_size")}
        )
    else:
        limits = ("max_model_len", "max_num_seqs", "max_num_batched_tokens")
        _merge(start.stated, {name: fields.get(name) for name in limits})
        _merge(
            start.stated, {"reserve": fields.get("available"), "kv_tokens": fields.get("tokens")}
        )


def _plan(start: _Start, dp: int) -> Iterator[Event]:
    sizes = {
        name: size
        for name, own in start.workers.items()
        if (size := _number(own, "kv_bytes")) is not None
    }
    least = min(sizes, key=lambda name: sizes[name], default=None)
    figures: dict[str, Value] = {name: start.options.get(name) for name in OPTIONS}
    for own in start.workers.values():
        _merge(figures, own)
    if sizes:
        _merge(figures, start.workers[least])
    _merge(figures, start.stated)
    if all(_number(figures, name) is None for name in ("kv_bytes", "kv_tokens", "blocks")):
        return
    most = max(sizes.values(), default=None)
    differs = most is not None and sizes[least] < most
    figures |= {
        "engine": start.options.get("engine") or start.events[0].fields.get("value"),
        "dp": dp,
        "workers": len(sizes) or sum("weights" in own for own in start.workers.values()) or None,
        "kv_bytes_most": most,
        "least_worker": least if differs else None,
    }
    _complete(figures)
    yield replace(
        start.events[0],
        name=EVENTS[0],
        end_line=start.events[-1].end_line,
        rank=_rank_of(least, start.events) if differs else None,
        fields={name: figures.get(name) for name in FIELDS},
        fact=None,
    )


def _rank_of(worker: str | None, events: Sequence[Event]) -> int | None:
    own = (one for one in events if one.name in OPENING and _name(one, process_of(one)) == worker)
    return next((one.rank for one in own), None)


def _complete(figures: dict[str, Value]) -> None:
    """Add what follows from the figures of a start."""
    total, budget, share = (_number(figures, name) for name in ("total", "budget", "utilization"))
    if budget is None and total is not None and share is not None:
        budget = total * share
        figures["budget"] = int(budget)
    if figures.get("reserve") is None and total is not None and budget is not None:
        figures["reserve"] = int(total - budget)
    blocks, size = _number(figures, "blocks"), _number(figures, "block_size")
    if figures.get("kv_tokens") is None and blocks is not None and size is not None:
        figures["kv_tokens"] = int(blocks * size)
    tokens, length = _number(figures, "kv_tokens"), _number(figures, "max_model_len")
    factor = _number(figures, "concurrency")
    if factor is None and tokens is not None and length:
        figures["concurrency"] = round(tokens / length, 2)
    if tokens is None and factor is not None and length:
        figures["kv_tokens"] = round(factor * length)


def _number(figures: Mapping[str, Value], name: str) -> float | None:
    value = figures.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
