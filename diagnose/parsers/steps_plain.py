"""Step lines of torchtitan, nanoGPT, modded-nanogpt, MindFormers, Paddle, and of plain scripts.

One table a dialect; the sources are named beside each. *Empty*: no interval was completed.
*Cut off*: a line that ends before its loss is not read.

Traps: torchtitan's memory is the maximum reserved and its ``tps`` is per device. nanoGPT's mfu
assumes an A100 whatever the GPU, so it is left out. modded-nanogpt prints a running mean since the
timer was reset (``step_avg:nanms`` until then, which is no NaN loss); the time of a step is the
difference of ``train_time``, where two lines of one timer stand in a block. A plain script's time is
read where it states its unit, where the stamps of the lines confirm it, or beside the time it waited
for data (LeRobot's ``updt_s`` is without that wait). A step of how many, behind an epoch of how many,
counts within the epoch, unless both go on alike.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.line_pairs import HELD_OUT, pairs, pairs_and_time
from diagnose.parsers.metric_names import metrics, number, numbers, with_nan_events
from diagnose.parsers.step_clock import confirmed_unit

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
    rb"\b(?:[Gg]lobal[ _-]?)?(?:[Ss]tep|STEP|[Ii]ter(?:ation|s)?|[Ii]tr|it(?=[ :=]{1,3}\d+ ?/))\b[ \t]*[:=#\[]?[ \t]*"
    rb"(\d+)\b(?:[ \t]*/[ \t]*(\d+))?"
    rb"([^\n\r]*?(?:[Ll]oss\b|[Ss]tep[ _]time: ?[\d.]+ ?m?s\b)[^\n\r]*)"
)
EPOCH = LazyPattern(rb"\b[Ee]poch\b[ \t]*[:=#\[]?[ \t]*(\d+)[ \t]*/[ \t]*(\d+)")
"""An epoch of how many, before the step."""
REVERSED = LazyPattern(
    rb"(?:\b([A-Za-z]+) )?(\b(?:lm_)?[Ll]oss ?[=:] ?[-+\w.]+[^\n\r]*?)\b(?:[Gg]lobal[ _]?)?"
    rb"(?:[Ss]tep|[Ii]ter(?:ation)?) ?[=:] ?(\d+)\b([^\n\r]*)"
)
"""Pairs in an order that puts the loss first; a word before it may say that it is of a validation."""
BATCHES = LazyPattern(
    rb"\b(?:[Ee]poch\b|Iter(?=\[))[ \t]*[:=#\[]?[ \t]*(\d+)[^\n\r]{0,40}?\b[Bb]atch\b[ \t]*[:=#\[]?[ \t]*(\d+)(?:[ \t]*/[ \t]*(\d+))?"
    rb"([^\n\r]*?(?:[Ll]oss\b|\bSpeed: [\d.]+ samples/s)[^\n\r]*)"
)
"""Lines that count batches within epochs, Apache MXNet's among them (``module/base_module.py``)."""
OTHER_DIALECTS = (b"| consumed samples:", b"GiB(", b" train_time:", b"ms, mfu ")
OTHERS = LazyPattern(
    rb"consumed samples|\btps:|samples/sec:|, val loss|lr=\[|avg_batch_cost: |interval_runtime: "
    rb"|reduced_train_loss|last_time: |elapsed time per iteration \(m?s\): [^\n]*\blm[ _]loss: |^: loss [-+\w.]+, time [\d.]+ms"
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
    yield from _numbered(block)
    for found in REVERSED.finditer(block.data):
        line = block.line_at(found.start())
        held_out = found[1] and HELD_OUT.fullmatch(found[1].decode())
        if held_out or OTHERS.search(found[0]) or PLAIN.search(line.text.encode()):
            continue
        values = pairs((found[2] + b" | " + found[4]).decode("utf-8", "replace"))
        if "loss" in values:
            yield Measurement(line, float(found[3]), values)
    for found in BATCHES.finditer(block.data):
        if PLAIN.search(found[0]) or OTHERS.search(found[0]):
            continue
        values = pairs(found[4].decode("utf-8", "replace"))
        step = int(found[1]) * int(found[3]) + int(found[2]) if found[3] else None
        if values:
            yield Measurement(block.line_at(found.start()), step, values)


def _numbered(block: BlockText) -> Iterator[Measurement]:
    """Read lines with the number of a step, made one of the run where it is one of an epoch."""
    found = [one for one in PLAIN.finditer(block.data) if not OTHERS.search(one[3])]
    epochs = [_epoch(block.data, one) for one in found]
    of_run = all(
        abs(int(one[1]) / int(one[2]) * epoch[1] - epoch[0]) <= 1.1
        for one, epoch in zip(found, epochs, strict=True)
        if epoch and int(one[2])
    )
    records: list[tuple[Measurement, float | None]] = []
    for one, epoch in zip(found, epochs, strict=True):
        values, time = pairs_and_time(one[3].decode("utf-8", "replace"))
        if not {"loss", "step_time"} & set(values):
            continue
        step = float(one[1])
        if epoch:
            values["epoch"] = float(epoch[0])
            step += 0 if of_run else epoch[0] * int(one[2])
        records.append((Measurement(block.line_at(one.start()), step, values), time))
    unit = confirmed_unit(
        (record.line.time, record.step or 0.0, time) for record, time in records if time is not None
    )
    for record, time in records:
        if unit is not None and time is not None:
            record.values["step_time"] = time * unit
        yield record


def _epoch(data: bytes, step: re.Match[bytes]) -> tuple[int, int] | None:
    """Return the epoch and the number of epochs that stand before a step of how many."""
    if not step[2]:
        return None
    begin = data.rfind(b"\n", 0, step.start()) + 1
    found = EPOCH.search(data, begin, step.start())
    return (int(found[1]), int(found[2])) if found else None


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
        opens=("loss", "Loss", "Speed: ", "tep time: ", "tep_time: "),
        read=read_plain,
        emits=("loss", "epoch", "validation_loss", "step_time", "samples_per_s", "data_time", "compute_time", "grad_norm", "learning_rate",
               "tokens_per_s", "tokens_per_s_gpu", "loss_scale", "mfu", "memory_allocated",
               "memory_peak", "memory_reserved", "memory_used", "train.nan_loss",
               "train.nan_gradient"),
        sample="step    12 | loss: 7.2551 | lr 2.1e-05 | norm: 1.82 | dt: 338.02ms | tok/sec: 155117\n",
    ),
)  # fmt: skip
