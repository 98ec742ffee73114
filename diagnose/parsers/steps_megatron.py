"""Megatron-LM and its kin: iteration lines, timer tables, NeMo and Megatron-Bridge step lines.

Printed by ``training_log`` in ``megatron/training/training.py`` on the last rank (v1.0 to main of
2026; Megatron-DeepSpeed, MindSpeed-LLM and the BigScience fork alike), by ``core/timers.py``, by
NeMo 2's ``ProgressPrinter`` and by Megatron-Bridge. ``Step Time`` and checkpoint lines come from
rank 0, so a folder of the first node alone has no iteration lines.

*Empty*: the last rank's log is not there, or no interval was completed. *Cut off*: a record
without ``iteration N/ M |`` is not read; one cut later gives the columns that are whole.

Three columns mislead. A loss of NaN makes its column disappear (``avg >= 0`` fails), so in bf16
(loss scale 1) a missing loss with nothing skipped is a NaN; in fp16 forks that count no skips it is
an overflow where the loss scale fell. ``grad norm: 0.000`` means not computed in old versions and in
pipeline forks, and is left out. ``elapsed time per iteration`` has its unit in the label.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement, Nature, Rows, Value
from diagnose.parsers.base import BlockText, BulkParser, make_event
from diagnose.parsers.iteration_rows import Column, rows_behind, shape_of
from diagnose.parsers.metric_names import nan_event, number, numbers, with_nan_events

ITERATION = LazyPattern(rb"iteration[ \t]+(\d+)/ *\d+[ \t]*\|")
FIELD = LazyPattern(rb"([^|:]+):\s*([-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|inf))\s*\|")

COLUMNS: dict[str, tuple[str, float]] = {
    "elapsed time per iteration (ms)": ("step_time", 1e-3),
    "elapsed time per iteration (s)": ("step_time", 1.0),
    "learning rate": ("learning_rate", 1.0),
    "lm loss": ("loss", 1.0),
    "lm-loss": ("loss", 1.0),
    "lm_loss": ("loss", 1.0),  # GPT-NeoX
    "loss": ("loss", 1.0),
    "loss scale": ("loss_scale", 1.0),
    "grad norm": ("grad_norm", 1.0),
    "global batch size": ("global_batch", 1.0),
    "actual seqlen": ("sequence_length", 1.0),
    "curriculum seqlen": ("sequence_length", 1.0),
    "consumed samples": ("consumed_samples", 1.0),
    "consumed tokens": ("consumed_tokens", 1.0),
    "samples per second": ("samples_per_s", 1.0),
    "throughput per GPU (TFLOP/s/GPU)": ("tflops", 1.0),
    "TFLOPs": ("tflops", 1.0),
    "tokens per gpu per second": ("tokens_per_s_gpu", 1.0),
    "power per GPU (W/GPU)": ("gpu_power", 1.0),
    "number of skipped iterations": ("skipped_steps", 1.0),
    "number of nan iterations": ("nan_steps", 1.0),
}

NEMO = LazyPattern(rb"Training epoch (\d+), iteration (\d+)/\d+ *((?:\|[^|\n\r]+)*)")
NEMO_COLUMNS: dict[str, str] = {
    "lr": "learning_rate",
    "global_batch_size": "global_batch",
    "reduced_train_loss": "loss",
    "train_step_timing in s": "step_time",
    "consumed_samples": "consumed_samples",
    "grad_norm": "grad_norm",
    "TFLOPS_per_GPU": "tflops",
    "val_loss": "validation_loss",
}
BRIDGE = LazyPattern(rb"Step Time : ([\d.]+)s GPU utilization: ([\d.]+)MODEL_TFLOP/s/GPU")
VALIDATION = LazyPattern(
    rb"valid(?:ation)?[^|\n]{0,40}? loss at iteration +(\d+)[^|\n]{0,60}\|[^\n]*?lm loss value: ([-+\w.]+)"
)

TIMERS: dict[str, str] = {
    "batch-generator": "data_time",
    "forward-compute": "compute_time",
    "backward-compute": "compute_time",
    "all-grads-sync": "comm_time",
    "non-tensor-parallel-grads-all-reduce": "comm_time",
    "backward-params-all-reduce": "comm_time",
    "params-all-gather": "comm_time",
    "embedding-grads-all-reduce": "comm_time",
    "forward-recv": "recv_wait",
    "backward-recv": "recv_wait",
    "forward-send-backward-recv": "recv_wait",
    "backward-send-forward-recv": "recv_wait",
    "optimizer": "optimizer_time",
    "save-checkpoint": "checkpoint_time",
}
"""Timers that are added up where several name one metric; ``forward-backward`` holds waiting for
the neighbour stages too, so it is none of them. ``recv_wait`` is that waiting alone: long on one stage, it
means that the stage before or behind it is late."""

TABLE = LazyPattern(
    rb"(?:\((?:min, max)\)|max|min) time across ranks \(ms\):[^\n]*\n"
    rb"((?:[^\n]*?[\w/-]+ \.*: ?(?:\([\d.]+, [\d.]+\)|[\d.]+)[ \t\r]*(?:\n|\Z))+)"
)
ROW = LazyPattern(rb"([\w/-]+) \.*: ?(?:\(([\d.]+), ([\d.]+)\)|([\d.]+))[ \t\r]*$", re.MULTILINE)
ALL_RANKS = LazyPattern(rb"times across ranks \(ms\):")
SECTION = LazyPattern(rb"(?:^|\s)([a-z][\w/-]+):[ \t\r]*$")
RANK_ROW = LazyPattern(rb"\brank +(\d+): ([\d.]+)[ \t\r]*$")
ONE_LINE = LazyPattern(rb"(\w+=\d+ )?time \(ms\) ((?:\| [\w/-]+: [\d.]+ ?)+)")
ONE_TIMER = LazyPattern(rb"([\w/-]+): ([\d.]+)")


Layout = list[tuple[bytes, str | None, float]]
"""Label with its colon, metric and factor of each column of an iteration line."""


def read(block: BlockText) -> Iterator[Event | Measurement | Rows]:
    """Read iteration lines, the events in them, and validation lines."""
    loss_seen = nan_seen = False
    scale: float | None = None
    layout: Layout = []
    data, at = block.data, 0
    while found := ITERATION.search(data, at):
        at = data.find(b"\n", found.end())
        at = at if at >= 0 else len(data)
        if following := ITERATION.search(data, found.end(), at):
            at = following.start()  # two ranks have written into one line
        rest = data[found.end() : at]
        values = _repeated(rest, layout)
        if values is None:
            layout = _layout(rest)
            values = _columns(rest)
        if not values:
            continue
        record = Measurement(block.line_at(found.start()), float(found[1]), values)
        yield record
        loss_seen = loss_seen or "loss" in record.values
        if not nan_seen and (event := _nan(record, loss_seen)):
            nan_seen = True
            yield event
        if _overflowed(record, scale):
            yield _overflow(record, scale)
        scale = record.values.get("loss_scale", scale)
        prefix = block.prefix_at(found.start()) if layout and not following else None
        if prefix and (shape := shape_of(prefix, _cells(rest, layout), values)):
            rows, at = rows_behind(block, at + 1, shape, record.line)
            if rows is not None:
                yield rows
    for found in VALIDATION.finditer(data):
        if loss := numbers({"validation_loss": found[2]}):
            yield Measurement(block.line_at(found.start()), float(found[1]), loss)


def _cells(rest: bytes, layout: Layout) -> list[Column]:
    fields = zip(rest.split(b"|")[:-1], layout, strict=True)
    return [
        Column(label, field[len(label) :], metric, factor)
        for field, (label, metric, factor) in fields
    ]


def _columns(rest: bytes) -> dict[str, float]:
    """Return what the columns behind the iteration say, in base units."""
    values = {}
    for label, value in numbers(
        {key.decode("utf-8", "replace").strip(): value for key, value in FIELD.findall(rest)}
    ).items():
        column = COLUMNS.get(label)
        if column and not (column[0] == "grad_norm" and value == 0):
            values[column[0]] = value * column[1]
    return values


def _layout(rest: bytes) -> Layout:
    """Return the labels of a line with the metrics they name: the next line likely has the same."""
    found: Layout = []
    for field in rest.split(b"|")[:-1]:
        label = field[: field.rfind(b":") + 1]
        if not FIELD.fullmatch(field + b"|"):
            return []
        metric, factor = COLUMNS.get(label.decode("utf-8", "replace").strip()[:-1], (None, 1.0))
        found.append((label, metric, factor))
    return found


def _repeated(rest: bytes, layout: Layout) -> dict[str, float] | None:
    """Return the same as ``_columns`` at a third of the cost, None where the labels are others."""
    fields = rest.split(b"|")
    if not layout or len(fields) != len(layout) + 1:
        return None
    values = {}
    for field, (label, metric, factor) in zip(fields, layout, strict=False):
        if not field.startswith(label):
            return None
        if metric is None:
            continue
        try:
            value = float(field[len(label) :])
        except ValueError:
            return None
        if metric != "grad_norm" or value:
            values[metric] = value * factor
    return values


def _nan(record: Measurement, loss_seen: bool) -> Event | None:
    values = record.values
    if values.get("nan_steps"):
        return nan_event(record)
    loss = values.get("loss", 0.0)
    if loss != loss or loss in (float("inf"), float("-inf")):
        return nan_event(record, "loss", loss)
    norm = values.get("grad_norm", 0.0)
    whole = values.get("nan_steps") == 0 and values.get("skipped_steps") == 0
    if not whole or "loss" in values:
        return None
    if norm != norm or (loss_seen and values.get("loss_scale") == 1):
        return nan_event(record, hidden=True)
    return None


def _overflowed(record: Measurement, scale: float | None) -> bool:
    values = record.values
    if values.get("skipped_steps"):
        return True
    fell = scale is not None and values.get("loss_scale", scale) < scale
    return fell and "loss" not in values and values.get("skipped_steps") == 0


def _overflow(record: Measurement, scale: float | None) -> Event:
    fields: dict[str, Value] = {
        "step": int(record.step or 0),
        "skipped": int(record.values["skipped_steps"]),
        "scale": scale,
        "new_scale": record.values.get("loss_scale"),
    }
    return make_event("train.overflow", Nature.EFFECT, record.line, fields)


def read_nemo(block: BlockText) -> Iterator[Event | Measurement]:
    """Read NeMo 2 lines; their counters start at zero."""
    return with_nan_events(_nemo(block))


def _nemo(block: BlockText) -> Iterator[Measurement]:
    for found in NEMO.finditer(block.data):
        values = {"epoch": float(found[1])}
        step = float(found[2])
        for field in found[3].decode("utf-8", "replace").split("|"):
            name, _, text = field.strip().rpartition(": ")
            value = number(text)
            if value is None:
                continue
            if name == "global_step":
                step = value
            elif name in NEMO_COLUMNS:
                values[NEMO_COLUMNS[name]] = value
        yield Measurement(block.line_at(found.start()), step, values)


def read_bridge(block: BlockText) -> Iterator[Measurement]:
    """Read Megatron-Bridge's step time, which has no step number."""
    for found in BRIDGE.finditer(block.data):
        values = numbers({"step_time": found[1], "tflops": found[2]})
        yield Measurement(block.line_at(found.start()), None, values)


def read_timers(block: BlockText) -> Iterator[Measurement]:
    """Read timer tables; the step is that of the iteration line before them, if in the block.

    Of a minimum and a maximum over ranks the maximum is the metric, the minimum has the suffix
    ``_min``. Tables of all ranks give one measurement a rank.
    """
    data = block.data
    steps = _steps(data)
    for found in TABLE.finditer(data):
        values: dict[str, float] = {}
        for name, low, high, only in ROW.findall(found[1]):
            metric = TIMERS.get(name.decode())
            if metric is None:
                continue
            values[metric] = values.get(metric, 0.0) + float(high or only) / 1000
            if low:
                values[f"{metric}_min"] = values.get(f"{metric}_min", 0.0) + float(low) / 1000
        if values:
            yield Measurement(
                block.line_at(found.start()), _step_before(steps, found.start()), values
            )
    for found in ONE_LINE.finditer(data):
        if found[1] or b"microstep" in found[2]:
            continue  # DeepSpeed's
        values = {}
        for name, value in ONE_TIMER.findall(found[2]):
            if metric := TIMERS.get(name.decode()):
                values[metric] = values.get(metric, 0.0) + float(value) / 1000
        if values:
            yield Measurement(
                block.line_at(found.start()), _step_before(steps, found.start()), values
            )
    for found in ALL_RANKS.finditer(data):
        yield from _all_ranks(block, found.end(), _step_before(steps, found.start()))


def _all_ranks(block: BlockText, start: int, step: float | None) -> Iterator[Measurement]:
    place: dict[int, int] = {}
    times: dict[int, dict[str, float]] = {}
    metric: str | None = None
    offset = block.data.find(b"\n", start) + 1
    while offset and offset < len(block.data):
        end = block.data.find(b"\n", offset)
        text = block.data[offset : end if end >= 0 else len(block.data)]
        if row := RANK_ROW.search(text):
            if metric:
                rank = int(row[1])
                place.setdefault(rank, offset)
                own = times.setdefault(rank, {})
                own[metric] = own.get(metric, 0.0) + float(row[2]) / 1000
        elif section := SECTION.search(text):
            metric = TIMERS.get(section[1].decode())
        else:
            break
        offset = end + 1
    for rank, values in sorted(times.items()):
        yield Measurement(replace(block.line_at(place[rank]), rank=rank), step, values)


def _steps(data: bytes) -> list[tuple[int, float]]:
    return [(found.start(), float(found[1])) for found in ITERATION.finditer(data)]


def _step_before(steps: list[tuple[int, float]], offset: int) -> float | None:
    place = bisect_left(steps, (offset, 0.0))
    return steps[place - 1][1] if place else None


PARSERS = (
    BulkParser(
        name="megatron-iterations",
        title="Megatron-LM iteration and validation lines",
        opens=("elapsed time per iteration", "loss at iteration"),
        read=read,
        emits=(
            *dict.fromkeys(metric for metric, _ in COLUMNS.values()),
            "validation_loss", "train.nan_loss", "train.overflow",
        ),
        sample=" [2026-01-05 10:14:22.481903] iteration     1200/   50000 | consumed samples:      1228800 | elapsed time per iteration (ms): 6214.7 | throughput per GPU (TFLOP/s/GPU): 402.1 | learning rate: 2.998000E-04 | global batch size:  1024 | lm loss: 2.713355E+00 | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
    ),
    BulkParser(
        name="megatron-timers",
        title="Megatron-LM timers across ranks",
        opens=("across ranks (ms)", "time (ms) |"),
        read=read_timers,
        emits=tuple(f"{m}{end}" for m in dict.fromkeys(TIMERS.values()) for end in ("", "_min")),
        sample="(min, max) time across ranks (ms):\n    forward-compute ................................: (5401.22, 5988.10)\n    optimizer ......................................: (150.04, 151.77)\n",
    ),
    BulkParser(
        name="nemo-steps",
        title="NeMo 2 progress lines",
        opens=("Training epoch ",),
        read=read_nemo,
        emits=(*NEMO_COLUMNS.values(), "epoch", "train.nan_loss", "train.nan_gradient"),
        sample="Training epoch 0, iteration 199/999 | lr: 0.0002998 | global_batch_size: 512 | global_step: 199 | reduced_train_loss: 5.812 | train_step_timing in s: 8.614 | consumed_samples: 102400\n",
    ),
    BulkParser(
        name="megatron-bridge-steps",
        title="Megatron-Bridge step time",
        opens=("MODEL_TFLOP/s/GPU",),
        read=read_bridge,
        emits=("step_time", "tflops"),
        sample="Step Time : 8.61s GPU utilization: 412.3MODEL_TFLOP/s/GPU\n",
    ),
)  # fmt: skip
