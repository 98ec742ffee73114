"""The names under which programs log a number, and the canonical metric each one means.

Not a parser: the parsers of step lines and of metric files share it. A name counts without regard
to case and to ``_ - / .`` and blanks, and with or without a heading such as ``train/``. The unit
that a name states (``step_ms``, ``time(s)``, ``memory(GiB)``) is applied; a name whose unit or
meaning is open (``throughput``) is left out.

Canonical units: seconds, bytes, per second; ``mfu`` is 0 to 1. ``memory_used`` is memory whose
name does not say whether it is allocated, reserved or a peak; ``host_memory`` is that of a process on
its host, the others are of its GPU. ``skipped_steps`` and ``nan_steps``
count since the line before; ``skipped_steps_total`` and ``alloc_retries`` (flushes of the
allocator's cache) count since the start of the run. ``recv_wait`` is the time a pipeline stage waits
for its neighbours, ``gpu_power`` the mean watts of a GPU.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Clock, Event, Line, Measurement, Nature
from diagnose.parsers.base import make_event
from diagnose.parsers.convert import short_host

ALIASES: dict[str, tuple[str, ...]] = {
    "step_time": (
        "step_time", "iter_time", "iteration_time", "batch_time", "dt", "duration",
        "elapsed_per_iter", "elapsed time per iteration", "sec_per_step", "seconds_per_step",
        "train_step_timing", "per_step_time", "step_duration", "timing_s/step", "train_step_time",
        "time_metrics/end_to_end", "avg_batch_cost", "batch_cost", "time_per_step",
        "time_per_iteration", "itime",
    ),
    "data_time": (
        "data_time", "dataload_time", "data_loading", "data_loading_time", "reader_cost",
        "avg_reader_cost", "fetch_time", "batch-generator", "dataloader_wait", "dataloader_time",
        "data_wait", "data_wait_time", "data", "time_metrics/data_loading", "data_load_time",
        "batch-generator-time", "data_cost", "read_time", "load_time", "io_time", "rtime",
    ),
    "step_tokens": (
        "step_tokens", "batch_tokens", "tokens_in_batch", "local_tokens", "tokens_in_step",
        "tokens_this_step", "num_tokens_local",
    ),
    "compute_time": ("compute_time", "compute", "fwd_bwd", "fwd_bwd_time", "updt"),
    "comm_time": ("comm_time", "communication_time", "comm", "collective_time", "comm_wait"),
    "recv_wait": ("recv_wait", "p2p_wait", "pipe_recv_time"),
    "optimizer_time": (
        "optimizer_time", "opt_time", "optim_time", "optimizer", "opt", "optim", "optimizer_step",
    ),
    "checkpoint_time": (
        "checkpoint_time", "ckpt_time", "save-checkpoint", "timing_s/save_checkpoint",
        "checkpoint_save_time", "save_checkpoint_time", "save_time",
    ),
    "loss": (
        "loss", "train_loss", "train/loss", "lm loss", "reduced_train_loss", "loss/train/total",
        "total_loss", "nll_loss", "per_token_loss", "training_loss", "loss/train",
        "loss_metrics/global_avg_loss", "train/lm_loss", "train/total_loss", "running_loss",
        "all_loss", "loss_all", "tot_loss", "loss_total", "sum_loss", "overall_loss",
    ),
    "validation_loss": (
        "val_loss", "eval_loss", "valid_loss", "validation_loss", "loss/val", "val_per_token_loss",
    ),
    "learning_rate": (
        "lr", "learning_rate", "learning-rate", "lr-AdamW/group0", "base_lr", "train/lr",
        "train/learning_rate", "actor/lr", "actor_lr",
    ),
    "grad_norm": (
        "grad_norm", "gnorm", "grad-norm", "global_norm", "grad_norm/total", "gradient_norm",
        "global_grad_norm", "train/grad_norm", "actor/grad_norm", "actor_grad_norm",
    ),
    "loss_scale": ("loss_scale", "loss-scale", "grad_scale", "amp_scale"),
    "tokens_per_s": (
        "tokens_per_s", "wps", "tokens_per_sec", "tokens_per_second", "tok/s", "tok/sec",
        "tokens/s", "tokens/sec", "ips_total",
    ),
    "tokens_per_s_gpu": (
        "tokens_per_s_gpu", "tps", "tokens_per_second_per_gpu", "tokens_per_sec_per_gpu",
        "tokens/s/gpu", "tokens/sec/gpu", "throughput(tps)", "perf/throughput", "tgs",
        "throughput/device/tokens_per_sec", "tokens/train_per_sec_per_gpu",
        "interval_tokens_per_second_per_device",
    ),
    "samples_per_s": (
        "samples_per_s", "samples_per_sec", "samples_per_second", "samples/s", "samples/sec",
        "throughput/samples_per_sec", "images_per_sec", "img/s", "imgs/s", "images/s",
        "images/sec", "examples/s", "examples/sec", "CurrSamplesPerSec",
    ),
    "tflops": (
        "tflops", "tflops_per_gpu", "tflop/s/gpu", "TFLOPS_per_GPU",
        "throughput per GPU (TFLOP/s/GPU)", "interval_hardware_tflops_per_device",
    ),
    "mfu": ("mfu", "mfu(%)", "throughput/device/mfu", "perf/mfu/actor"),
    "memory_allocated": (
        "memory_allocated", "mem_allocated", "allocated_memory", "mem_alloc", "cuda_allocated",
        "gpu_memory_allocated", "gpu_mem_allocated", "allocated_mem", "cuda_memory_allocated",
    ),
    "memory_reserved": (
        "memory_reserved", "mem_reserved", "reserved_memory", "reserved_mem", "max_memory_reserved", "perf/max_memory_reserved",
        "memory/max_reserved", "memory/device_reserved", "memory/peak_reserved_mem",
    ),
    "memory_peak": (
        "memory_peak", "peak_memory", "max_memory_allocated", "max_mem_allocated",
        "memory/max_allocated", "perf/max_memory_allocated", "max_memory", "max_mem", "peak_mem",
    ),
    "memory_used": (
        "mem", "memory", "gpu_mem", "gpu_memory", "cuda_mem", "cuda_memory", "vram", "mem_used",
        "memory_used", "gpu_mem_used", "gpu_memory_used", "memory_usage", "gpu_memory_usage",
    ),
    "host_memory": (
        "host_memory", "host_mem", "cpu_memory", "cpu_mem", "ram", "rss", "process_memory",
    ),
    "alloc_retries": (
        "alloc_retries", "num_alloc_retries", "memory/num_alloc_retries", "memory/alloc_retries",
    ),
    "gpu_power": ("gpu_power", "power per GPU (W/GPU)"),
    "skipped_steps": ("skipped_steps", "number of skipped iterations", "skipped_iterations"),
    "nan_steps": ("nan_steps", "number of nan iterations"),
    "consumed_samples": ("consumed_samples", "consumed samples", "consumed_train_samples"),
    "consumed_tokens": (
        "consumed_tokens", "num_input_tokens_seen", "tokens_seen", "total_tokens", "num_tokens",
    ),
    "global_batch": ("global_batch", "global_batch_size", "global batch size"),
    "epoch": ("epoch",),
}  # fmt: skip

STEP_NAMES = (
    "global_step", "trainer/global_step", "train/global_step", "num_updates", "current_steps",
    "_step", "step", "iteration", "iter", "training_step", "train_step", "opt_step", "steps", "it",
    "batch_idx", "update",
)  # fmt: skip
"""In the order in which they are believed: ``step`` may count within an epoch."""

HEADINGS = frozenset({"train", "training", "perf", "performance", "timing"})
"""What may stand before the name and a ``/``."""

CLOCK_NAMES = ("timestamp", "_timestamp", "ts", "wall_time", "datetime", "date", "time")
RANK_NAMES = ("rank", "global_rank")
HOST_NAMES = ("host", "hostname", "node", "node_name")

PARTS = {
    "compute_time": ("fwd", "bwd", "forward", "backward", "fwd_time", "bwd_time", "forward_time",
                     "backward_time", "forward-compute", "backward-compute",
                     "forward-compute-time", "backward-compute-time"),
    "comm_time": ("allreduce", "sync", "allreduce_time", "sync_time", "allgather_time",
                  "all-grads-sync", "all-grads-sync-time", "params-all-gather-time",
                  "embedding-grads-all-reduce-time", "non-tensor-parallel-grads-all-reduce-time"),
    "recv_wait": ("forward-recv-time", "backward-recv-time", "forward-send-backward-recv-time",
                  "backward-send-forward-recv-time"),
}  # fmt: skip
"""Columns whose sum is the metric, where the metric itself is not logged."""

UNITS: dict[str, float] = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0,
    "seconds": 1.0, "min": 60.0, "bytes": 1.0, "kb": 1 << 10, "kib": 1 << 10, "mb": 1 << 20,
    "mib": 1 << 20, "gb": 1 << 30, "gib": 1 << 30,
}  # fmt: skip

TIMES = frozenset({"step_time", "data_time", "compute_time", "comm_time", "recv_wait",
                   "optimizer_time", "checkpoint_time"})  # fmt: skip
MEMORY = frozenset(
    {"memory_allocated", "memory_reserved", "memory_peak", "memory_used", "host_memory"}
)

STATED = {
    "vramallocated": ("memory_allocated", UNITS["gib"]),  # LLaMA-Factory
    "vramreserved": ("memory_reserved", UNITS["gib"]),
    "currentmemoryallocated": ("memory_allocated", UNITS["gib"]),  # PaddleNLP
    "currentmemoryreserved": ("memory_reserved", UNITS["gib"]),
    "memallocatedbytes": ("memory_allocated", 1.0),  # Megatron-LM's tags
    "memreservedbytes": ("memory_reserved", 1.0),
    "memmaxallocatedbytes": ("memory_peak", 1.0),
    "batch(t)": ("step_time", 1.0),  # open_clip
    "stepms": ("step_time", UNITS["ms"]),
    "msperstep": ("step_time", UNITS["ms"]),
    "msperiter": ("step_time", UNITS["ms"]),
}
"""Names without a unit whose program is known by the name."""

_NOISE = LazyPattern(r"[\s_\-/.]+")
_UNIT = LazyPattern(r"(.*?)(?:\s*\(([A-Za-z]+)(?:/(?:it|iter|step))?\)|(?:_| in )([A-Za-z]+))$")


def squash(name: str) -> str:
    """Return a name in the form in which two spellings of it are equal."""
    return _NOISE.sub("", name.lower())


_METRIC = {squash(alias): metric for metric, names in ALIASES.items() for alias in names}
_PART = {squash(alias): metric for metric, names in PARTS.items() for alias in names}


@lru_cache(maxsize=4096)
def canonical(name: str) -> tuple[str, float, bool] | None:
    """Return metric, factor to its base unit and whether the name states the unit.

    A sum of parts is returned as ``metric+``. Memory without a unit is None, since programs
    log it in MiB, in GiB and in bytes.
    """
    found = _UNIT.match(name.strip())
    unit = (found[2] or found[3]).lower() if found else ""
    if found and found[2] and squash(found[1]) == "memory" and unit == "gib":
        return "memory_reserved", UNITS["gib"], True  # ms-swift, peak of reserved
    if found and unit in UNITS:
        metric = _known(found[1])
        wanted = TIMES if UNITS[unit] <= 60 and unit != "bytes" else MEMORY
        if metric and metric.rstrip("+") in wanted:
            return metric, UNITS[unit], True
    if squash(name) in STATED:
        return (*STATED[squash(name)], True)
    metric = _known(name)
    if metric is None or metric in MEMORY:
        return None
    return metric, 1.0, metric.rstrip("+") not in TIMES


def _known(name: str) -> str | None:
    key = squash(name)
    heading, slash, rest = name.partition("/")
    if key in _METRIC:
        return _METRIC[key]
    if key in _PART:
        return f"{_PART[key]}+"
    heading = heading.strip().lower()
    if not slash or heading not in HEADINGS or rest.lower().startswith(heading):
        return None  # the Trainer's "train/train_loss" is a mean over the run
    return _known(rest)


def number(value: object) -> float | None:
    """Return a number from JSON or text (``1,024``, ``2.1e-5``, ``nan``, ``41.7%``), else None."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return None
    if not isinstance(value, str) or "_" in value:
        return None
    try:
        return float(value)
    except ValueError:
        pass
    text = value.strip().replace(",", "")
    scale = 0.01 if text.endswith("%") else 1.0
    if not re.fullmatch(r"[-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|inf|infinity)%?", text, re.I):
        return None
    try:
        return float(text.rstrip("%")) * scale
    except ValueError:
        return None


def numbers(texts: Mapping[str, bytes | None]) -> dict[str, float]:
    """Return the values that are numbers; what a torn line left is dropped."""
    values = {}
    for name, text in texts.items():
        if text is not None:
            value = number(text.decode("ascii", "replace"))
            if value is not None:
                values[name] = value
    return values


def metrics(
    columns: Mapping[str, object], *, bare_times: float = 1.0, time_is_step: bool = False
) -> dict[str, float]:
    """Return the canonical metrics of one record.

    ``time`` is the time of a step beside a column for data (detectron2, mmengine); alone it is as
    often a clock.

    Args:
        columns: Names and values as logged.
        bare_times: Factor to seconds of times whose name states no unit.
        time_is_step: ``time`` is known to be the time of a step.
    """
    values: dict[str, float] = {}
    sums: dict[str, float] = {}
    for name, raw in columns.items():
        meaning = canonical(name)
        if meaning is None or (value := number(raw)) is None:
            continue
        metric, factor, stated = meaning
        value *= factor if stated else bare_times
        if metric.endswith("+"):
            sums[metric[:-1]] = sums.get(metric[:-1], 0.0) + value
        else:
            values.setdefault(metric, value)
    if (time_is_step or "data_time" in values) and "step_time" not in values:
        whole = number(columns.get("time"))
        if whole is not None and whole < 1e6:
            values["step_time"] = whole * bare_times
    for metric, total in sums.items():
        values.setdefault(metric, total)
    if "iteration-time" in columns and (tflops := number(columns.get("throughput"))) is not None:
        values.setdefault("tflops", tflops)  # the tags of Megatron-LM, whose unit is known
    if values.get("loss") == 0 and math.isnan(values.get("grad_norm", 0.0)):
        values["loss"] = math.nan  # Hugging Face's filter prints windows of NaN as 0.0
    if values.get("mfu", 0.0) > 1.5:  # a utilisation over 150 % can only be a percentage
        values["mfu"] /= 100
    return values


def step_of(columns: Mapping[str, object]) -> float | None:
    """Return the step of a record; ``"10/1218"`` is step 10."""
    by_name = {squash(name): value for name, value in columns.items()}
    if isinstance(pair := by_name.get("globalstepmaxsteps"), str):  # ms-swift
        return number(pair.split("/")[0])
    found = (number(by_name.get(squash(name))) for name in STEP_NAMES)
    return next((step for step in found if step is not None), None)


def located(line: Line, columns: Mapping[str, object]) -> Line:
    """Return the line with rank, host and clock as the record's own columns state them."""
    by_name = {name.lower(): value for name, value in columns.items()}
    ranks = (number(by_name.get(name)) for name in RANK_NAMES)
    rank = next((value for value in ranks if value is not None), None)
    hosts = (by_name.get(name) for name in HOST_NAMES)
    host = next((value for value in hosts if isinstance(value, str) and value), None)
    stamps = (clock(by_name.get(name)) for name in CLOCK_NAMES)
    stamp = next((value for value in stamps if value), None)
    return replace(
        line,
        time=stamp[0] if stamp else line.time,
        clock=stamp[1] if stamp else line.clock,
        rank=line.rank if rank is None or not math.isfinite(rank) else int(rank),
        host=short_host(host) if host else line.host,
    )


def clock(value: object) -> tuple[float, Clock] | None:
    """Return seconds since 1970 and their kind from a Unix or ISO 8601 stamp, else None."""
    stamp = number(value)
    if stamp is not None:
        if 1e9 < stamp < 5e9:
            return stamp, Clock.UTC
        return (stamp / 1000, Clock.UTC) if 1e12 < stamp < 5e12 else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    if moment.tzinfo:
        return moment.timestamp(), Clock.UTC
    return (moment - datetime(1970, 1, 1)).total_seconds(), Clock.LOCAL


def bare_time_factor(records: Iterable[tuple[float | None, float | None, float]]) -> float:
    """Return the factor to seconds of a time column without unit.

    The sum of step times is compared with the wall-clock span: a sum a thousand times too large
    is in milliseconds. Without stamps it is taken as seconds; ratios hold either way.

    Args:
        records: Clock, step and time of one writer, in order.
    """
    known = [(at, step, time) for at, step, time in records if at is not None and step is not None]
    if len(known) < 3 or known[-1][0] <= known[0][0]:
        return 1.0
    total = sum(b[2] * max(b[1] - a[1], 0) for a, b in zip(known, known[1:], strict=False))
    return 1e-3 if 300 < total / (known[-1][0] - known[0][0]) < 1100 else 1.0


def with_nan_events(measured: Iterable[Measurement]) -> Iterator[Event | Measurement]:
    """Pass measurements on and add an event at the first loss that is not a finite number."""
    reported: set[str] = set()
    for record in measured:
        yield record
        for metric in ("loss", "grad_norm"):
            value = record.values.get(metric)
            if value is None or math.isfinite(value) or metric in reported:
                continue
            if metric == "grad_norm" and math.isinf(value):
                continue  # an infinite norm is how a loss scaler finds its range
            reported.add(metric)
            yield nan_event(record, metric, value)


def nan_event(
    record: Measurement, metric: str = "loss", value: float = math.nan, **fields: bool
) -> Event:
    """Return ``train.nan_loss`` for a loss, ``train.nan_gradient`` for a gradient norm."""
    name, nature = ("train.nan_loss", Nature.ERROR)
    if metric == "grad_norm":
        name, nature = ("train.nan_gradient", Nature.EFFECT)
    step = None if record.step is None else int(record.step)
    return make_event(
        name, nature, record.line, {"metric": metric, "value": str(value), "step": step, **fields}
    )
