"""Step lines of torchtitan, nanoGPT, modded-nanogpt, MindFormers, Paddle, and of plain scripts.

One table a dialect; the sources are named beside each. *Empty*: no interval was completed.
*Cut off*: a line that ends before its loss is not read.

Traps: torchtitan's memory is the maximum reserved and its ``tps`` is per device. nanoGPT's mfu
assumes an A100 whatever the GPU, so it is left out. modded-nanogpt prints a running mean since the
timer was reset (``step_avg:nanms`` until then, which is no NaN loss); the time of a step is the
difference of ``train_time``, where two lines of one timer stand in a block. A plain script's time is
read where it states its unit, or beside the time it waited for data (LeRobot's ``updt_s`` is
without that wait).
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import TIMES, metrics, number, numbers, with_nan_events

TITAN = LazyPattern(
    rb"step: *(?P<step>\d+) +loss: *(?P<loss>[-+\w.]+) +(?:grad_norm: *(?P<norm>[-+\w.]+) +)?"
    rb"memory: *(?P<memory>[\d.]+)GiB\([\d.]+%\) +(?:tps|wps): *(?P<tps>[\d,]+)"
    rb"(?: +tflops: *(?P<tflops>[\d,.]+))?(?: +mfu: *(?P<mfu>[\d.]+)%)?"
)
GC = LazyPattern(rb"\[GC\] Performing periodic GC collection took (\d+\.\d+) seconds")
NANOGPT = LazyPattern(rb"\biter (\d+): loss ([-+\w.]+), time ([\d.]+)ms")
NANOGPT_EVAL = LazyPattern(rb"\bstep (\d+): train loss [-+\w.]+, val loss ([-+\w.]+)")
MODDED = LazyPattern(
    rb"\bstep:(\d+)/\d+ (?:(train|val)_loss:([-+\w.]+) )?train_time:(\d+)ms step_avg:([\d.]+|nan)ms"
)
MINDFORMERS = LazyPattern(
    rb"Epoch:\[ *(\d+)/ *\d+\], step:\[ *(\d+)/ *(\d+)\], loss: ([-+\w.]+), per_step_time: (\d+)ms,"
    rb"(?: lr: ([-+\w.]+),)?(?: overflow cond: \w+, loss_scale: ([\d.]+))?(?:, global_norm: \[ *([-+\w.]+) *\])?"
)
PADDLE = LazyPattern(
    rb"^[^\n]*?(?:\bglobal[_ ]step:? (\d+)|\bavg_batch_cost: [\d.]+ sec)[^\n]*", re.MULTILINE
)
PADDLE_EVAL = LazyPattern(rb"\beval_loss: ([-+\w.]+), eval_runtime: ")
PADDLE_MARK = LazyPattern(r"avg_batch_cost: |interval_runtime: |avg_reader_cost: ")
PADDLE_FIELD = LazyPattern(r"([\w ]+?): ([-+]?[\d.]+(?:[eE][-+]?\d+)?|-?nan|-?inf)\b")
PADDLE_NAMES = ("loss", "learning_rate", "interval_tokens_per_second_per_device",
                "interval_hardware_tflops_per_device", "avg_reader_cost", "avg_batch_cost")  # fmt: skip

PLAIN = LazyPattern(
    rb"\b(?:[Gg]lobal[ _-]?)?(?:[Ss]tep|[Ii]ter(?:ation)?|STEP)\b[ \t]*[:=#\[]?[ \t]*(\d+)\b(?:[ \t]*/[ \t]*(\d+))?"
    rb"([^\n\r]*?\b(?:[Tt]rain(?:ing)?[ _/])?(?:lm[ _]|per_token_)?[Ll]oss\b[^\n\r]*)"
)
REVERSED = LazyPattern(
    rb"(?:\b([A-Za-z]+) )?(\b(?:lm_)?[Ll]oss[=:] ?[-+\w.]+[^\n\r]*?)\b(?:[Gg]lobal[ _]?)?"
    rb"(?:[Ss]tep|[Ii]ter(?:ation)?)[=:] ?(\d+)\b([^\n\r]*)"
)
"""Pairs in an order that puts the loss first; a word before it may say that it is of a validation."""
HELD_OUT = LazyPattern(rb"[Vv]al(?:id(?:ation)?)?|[Ee]val(?:uation)?|[Tt]est|[Dd]ev")
BATCHES = LazyPattern(
    rb"\b[Ee]poch\b[ \t]*[:=#\[]?[ \t]*(\d+)[^\n\r]{0,40}?\b[Bb]atch\b[ \t]*[:=#\[]?[ \t]*(\d+)(?:[ \t]*/[ \t]*(\d+))?"
    rb"([^\n\r]*?\w*[Ll]oss\b[^\n\r]*)"
)
"""Lines that count batches within epochs, Apache MXNet's among them (``module/base_module.py``)."""
NO_NUMBER = LazyPattern(r"([A-Za-z]\w*[Ll]oss)[\"']?(?:\s*[:=]\s*|\s+)[-+]?(nan|NaN|inf)\b")
"""A loss by a name of the script's own counts where it is no number; its values may mean anything."""
PLAIN_PAIR = LazyPattern(
    r"\b([A-Za-z][\w/]*(?:[ -](?:loss|rate|norm|time|scale))?)[\"']?(?:\s*[:=]\s*|\s+)"
    r"([-+]?(?:\d[\d,]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|nan|inf|NaN)(?![\w.]*[A-Za-z]\w*/\d))"
    r"[ ]?(ms|s/it|s|sec|it/s|samples/s)?(?![\w])"
)
MEMORY = LazyPattern(
    r"\b((?:[A-Za-z]\w* )?[A-Za-z][\w/.-]*)[\"']?(?:\s*[:=]\s*|\s+)([\d,]+(?:\.\d*)?) ?([GM]i?B|G)\b"
)
"""Memory with its unit; a word before the name qualifies it (``max mem``, ``CPU mem``)."""
TRAILING_RATE = LazyPattern(r"([\d,.]+) ?(?:k )?(tok(?:ens)?/s(?:ec)?(?:/(?:gpu|GPU|device))?)")
TRAILING_TIME = LazyPattern(
    r"\| *([\d.]+) ?(ms) *\||(?<![\w.])([\d.]+) ?(ms|s|sec)/(?:it|iter|iteration|step)\b"
)
PACE = LazyPattern(r"(?<![\w.])([\d.]+) ?(?:it|iter|step)s?/s(?:ec)?\b")
OTHER_DIALECTS = (b"| consumed samples:", b"GiB(", b" train_time:", b"ms, mfu ")
OTHERS = LazyPattern(
    rb"consumed samples|\btps:|samples/sec:|, val loss|lr=\[|avg_batch_cost: |interval_runtime: "
)
TIME_WORDS = frozenset(
    {"time", "dt", "step_time", "iter_time", "elapsed", "step time", "batch_time"}
)


def read_titan(block: BlockText) -> Iterator[Event | Measurement]:
    """Read torchtitan's lines (``torchtitan/components/metrics.py``)."""
    return with_nan_events(_titan(block))


def _titan(block: BlockText) -> Iterator[Measurement]:
    for found in TITAN.finditer(block.data):
        validating = block.data.startswith(b"validate ", found.start() - 9)
        values = _numbers(
            found,
            {
                "loss": "validation_loss" if validating else "loss",
                "norm": "grad_norm",
                "memory": "memory_reserved",
                "tps": "tokens_per_s_gpu",
                "tflops": "tflops",
                "mfu": "mfu",
            },
        )
        if "memory_reserved" in values:
            values["memory_reserved"] *= 2**30
        if values.get("tflops") == 0:  # printed as 0.00 where a model has no FLOP count
            del values["tflops"]
            values.pop("mfu", None)
        if "mfu" in values:
            values["mfu"] /= 100
        yield Measurement(block.line_at(found.start()), float(found["step"]), values)


def read_gc(block: BlockText) -> Iterator[Measurement]:
    """Read what torchtitan's periodic garbage collection took (``torchtitan/tools/utils.py``)."""
    for found in GC.finditer(block.data):
        yield Measurement(block.line_at(found.start()), None, {"gc_time": float(found[1])})


def _numbers(found: re.Match[bytes], names: dict[str, str]) -> dict[str, float]:
    return numbers({metric: found[group] for group, metric in names.items()})


def read_nanogpt(block: BlockText) -> Iterator[Event | Measurement]:
    """Read nanoGPT (``train.py``) and modded-nanogpt lines."""
    return with_nan_events(_nanogpt(block))


def _nanogpt(block: BlockText) -> Iterator[Measurement]:
    data = block.data
    for found in NANOGPT.finditer(data):
        values = numbers({"loss": found[2], "step_time": found[3]})
        if "step_time" in values:
            values["step_time"] /= 1000
        yield Measurement(block.line_at(found.start()), float(found[1]), values)
    for found in NANOGPT_EVAL.finditer(data):
        values = numbers({"validation_loss": found[2]})
        yield Measurement(block.line_at(found.start()), float(found[1]), values)
    before: tuple[int, int] | None = None
    for found in MODDED.finditer(data):
        step, elapsed = int(found[1]), int(found[4])
        values = numbers({"loss" if found[2] == b"train" else "validation_loss": found[3]})
        if found[5] != b"nan":
            if before and step > before[0] and elapsed > before[1]:
                values["step_time"] = (elapsed - before[1]) / (step - before[0]) / 1000
            before = (step, elapsed)
        if values:
            yield Measurement(block.line_at(found.start()), float(step), values)


def read_asia(block: BlockText) -> Iterator[Event | Measurement]:
    """Read MindFormers (``core/callback/callback.py``) and PaddleNLP lines."""
    return with_nan_events(_asia(block))


def _asia(block: BlockText) -> Iterator[Measurement]:
    for found in MINDFORMERS.finditer(block.data):
        epoch, step, steps = int(found[1]), int(found[2]), int(found[3])
        names = {"loss": 4, "learning_rate": 6, "loss_scale": 7, "grad_norm": 8}
        values = numbers({name: found[group] for name, group in names.items()})
        values["step_time"] = float(found[5]) / 1000
        yield Measurement(block.line_at(found.start()), float((epoch - 1) * steps + step), values)
    for found in PADDLE.finditer(block.data):
        text = found[0].decode("utf-8", "replace")
        if not PADDLE_MARK.search(text):
            continue
        columns = {name.strip(): value for name, value in PADDLE_FIELD.findall(text)}
        values = metrics({name: columns[name] for name in PADDLE_NAMES if name in columns})
        rate = number(columns.get("interval_steps_per_second"))
        if rate:
            values["step_time"] = 1 / rate
        if "loss" in values:
            counted = float(found[1]) if found[1] else None
            yield Measurement(block.line_at(found.start()), counted, values)

    for found in PADDLE_EVAL.finditer(block.data):
        if values := numbers({"validation_loss": found[1]}):
            yield Measurement(block.line_at(found.start()), None, values)


def read_plain(block: BlockText) -> Iterator[Event | Measurement]:
    """Read ``step N ... loss X`` with whatever names and separators a script chose."""
    return with_nan_events(_plain(block))


def _plain(block: BlockText) -> Iterator[Measurement]:
    if any(mark in block.data for mark in OTHER_DIALECTS):
        return
    for found in PLAIN.finditer(block.data):
        if OTHERS.search(found[3]):
            continue
        values = _pairs(found[3].decode("utf-8", "replace"))
        if "loss" in values:
            yield Measurement(block.line_at(found.start()), float(found[1]), values)
    for found in REVERSED.finditer(block.data):
        line = block.line_at(found.start())
        held_out = found[1] and HELD_OUT.fullmatch(found[1])
        if held_out or OTHERS.search(found[0]) or PLAIN.search(line.text.encode()):
            continue
        values = _pairs((found[2] + found[4]).decode("utf-8", "replace"))
        if "loss" in values:
            yield Measurement(line, float(found[3]), values)
    for found in BATCHES.finditer(block.data):
        if PLAIN.search(found[0]) or OTHERS.search(found[0]):
            continue
        values = _pairs(found[4].decode("utf-8", "replace"))
        step = int(found[1]) * int(found[3]) + int(found[2]) if found[3] else None
        if values:
            yield Measurement(block.line_at(found.start()), step, values)


def _pairs(text: str) -> dict[str, float]:
    columns: dict[str, object] = {}
    for name, value, unit in PLAIN_PAIR.findall(text):
        name = "train_loss" if name.lower() in ("train loss", "training loss") else name
        if name.lower() in TIME_WORDS:
            if unit in ("ms", "s", "sec", "s/it") and name.lower() != "elapsed":
                columns.setdefault("step_time_ms" if unit == "ms" else "step_time_s", value)
            elif not unit and name.lower() != "elapsed":
                columns.setdefault("time", value)
        elif name == "norm":
            columns.setdefault("grad_norm", value)
        else:
            columns.setdefault(name, value)
    for name, value, unit in MEMORY.findall(text):
        columns.setdefault(f"{name}_{unit if unit.endswith('B') else 'GB'}", value)
    if rate := TRAILING_RATE.search(text):
        columns.setdefault(
            rate[2].lower().replace("device", "gpu").replace("tok/", "tokens/"), rate[1]
        )
    if not {"step_time_ms", "step_time_s"} & set(columns):
        columns |= _trailing_time(text)
    values = metrics(columns)
    if "loss" not in values and (strange := NO_NUMBER.search(text)):
        values["loss"] = float(strange[2])
    stated = "step_time_ms" in columns or "step_time_s" in columns
    if "data_time" in values and {"step_time", "compute_time"} & set(values):
        values.setdefault("step_time", values["data_time"] + values.get("compute_time", 0.0))
        return values
    return {k: v for k, v in values.items() if k not in TIMES or (stated and k == "step_time")}


def _trailing_time(text: str) -> dict[str, object]:
    """Return the time of a step that a value without a name states by its unit."""
    if time := TRAILING_TIME.search(text):
        is_ms = (time[2] or time[4]) == "ms"
        return {"step_time_ms" if is_ms else "step_time_s": time[1] or time[3]}
    pace = number(found[1]) if (found := PACE.search(text)) else None
    return {"step_time_s": 1 / pace} if pace else {}


PARSERS = (
    BulkParser(
        name="torchtitan-steps",
        title="torchtitan step and validation lines",
        opens=("memory: ",),
        read=read_titan,
        emits=("loss", "validation_loss", "grad_norm", "memory_reserved", "tokens_per_s_gpu",
               "tflops", "mfu", "train.nan_loss", "train.nan_gradient"),
        sample="[titan] 2026-01-05 10:00:00,123 - root - INFO - step: 10  loss:  8.12345  grad_norm:  1.2345  memory: 45.67GiB(57.70%)  tps: 7,123  tflops: 412.34  mfu: 41.69%\n",
    ),
    BulkParser(
        name="torchtitan-gc",
        title="torchtitan's periodic garbage collection",
        opens=("[GC] ",),
        read=read_gc,
        emits=("gc_time",),
        sample="[titan] 2026-01-05 10:00:13,530 - root - INFO - [GC] Performing periodic GC collection took 0.31 seconds\n",
    ),
    BulkParser(
        name="nanogpt-steps",
        title="nanoGPT and modded-nanogpt lines",
        opens=(": loss ", "step_avg:", "val loss "),
        read=read_nanogpt,
        emits=("loss", "validation_loss", "step_time", "train.nan_loss"),
        sample="iter 100: loss 3.4121, time 135.12ms, mfu 38.41%\n",
    ),
    BulkParser(
        name="mindformers-paddle-steps",
        title="MindFormers and Paddle step lines",
        opens=("per_step_time: ", "global_step: ", "global step ", "avg_batch_cost: ", ", eval_runtime: "),
        read=read_asia,
        emits=("loss", "validation_loss", "step_time", "data_time", "learning_rate", "loss_scale",
               "grad_norm", "tokens_per_s", "tokens_per_s_gpu", "tflops", "epoch",
               "train.nan_loss", "train.nan_gradient"),
        sample="2026-01-05 10:00:02,108 - [mindformers/core/callback/callback.py:529] - INFO - { Epoch:[  1/  2], step:[    2/ 6500], loss: 10.633, per_step_time: 1752ms, lr: 1e-05, overflow cond: False, loss_scale: 1.0, global_norm: [1.508834], train_throughput_per_npu: 170.738T\n",
    ),
    BulkParser(
        name="plain-steps",
        title="Step lines of scripts: a step number and a loss",
        opens=("loss", "Loss"),
        read=read_plain,
        emits=("loss", "step_time", "data_time", "compute_time", "grad_norm", "learning_rate",
               "tokens_per_s", "tokens_per_s_gpu", "loss_scale", "mfu", "memory_allocated",
               "memory_peak", "memory_reserved", "memory_used", "train.nan_loss",
               "train.nan_gradient"),
        sample="step    12 | loss: 7.2551 | lr 2.1e-05 | norm: 1.82 | dt: 338.02ms | tok/sec: 155117\n",
    ),
)  # fmt: skip
