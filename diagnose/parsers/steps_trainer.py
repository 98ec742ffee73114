"""Hugging Face Trainer and TRL, Lightning and tqdm bars, fairseq, Composer and verl.

Hugging Face prints a Python dict per logging interval on rank 0 (4.x numbers, 5.x strings), with
an epoch and neither step nor time; the step is that of the progress bar before it. With
``logging_nan_inf_filter`` a window of NaN losses prints ``'loss': 0.0`` beside
``'grad_norm': nan``; such a loss is NaN. The dict at the end of training holds means over the run
and is no measurement.

A bar's own rate is smoothed, so the time of a step is the difference between two bars that are at
least ``BAR_SPAN`` apart (bars count in whole seconds).

*Empty*: no interval was completed. *Cut off*: a dict without its closing brace is not read.
"""

import json
import re
from collections.abc import Iterator, Mapping

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import metrics, nan_event, number, step_of, with_nan_events

DICT = LazyPattern(rb"\{'[^{}\n]*\}")
DICT_MARK = LazyPattern(rb"'(?:loss|eval_loss|grad_norm)':")
PAIR = LazyPattern(
    r"'([^']+)': (?:'([^']*)'|(?:tensor|array|np\.\w+)\(([^,()]*)[^()]*\)|([-+\w.]+))"
)
BAR = LazyPattern(
    rb"(?P<percent>\d{1,3})%\|[^|\r\n]*\|\s*(?P<done>\d+)/(?P<total>\d+)"
    rb" \[(?P<elapsed>[\d:]+)<[\d:?]+(?P<rest>[^\]\r\n]*)\]?"
)
BAR_SPAN = 20
PREFIX = LazyPattern(rb"\x1b\[[0-9;]*[A-Za-z]|^(?:\[[\w,]+\](?:<\w+>)?:?|[\w.-]*\d[\w.-]*:)\s*")
LIGHTNING = LazyPattern(rb"Epoch (\d+):? *:? *$")
POSTFIX = LazyPattern(r"([A-Za-z_][\w/.-]*(?: in s)?)=([-+\w.]+)")

FAIRSEQ = LazyPattern(rb"\| (train_inner|train|valid) \| ([^\n\r]*)")
VERL = LazyPattern(rb"\bstep:(\d+) - ([A-Za-z_][^\n\r]*)")
COMPOSER = LazyPattern(
    rb"\[batch=(\d+)/\d+\]:[ \t\r]*\n((?:[^\n]*\b(?:Train|Eval) [^\n]*: [^\n]*(?:\n|\Z))+)"
)
COMPOSER_ROW = LazyPattern(r"\b(Train|Eval) (\S[^\n]*?): ([-+\w.]+)")


def read_dicts(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the dicts of Hugging Face Trainer, TRL, Axolotl and ms-swift."""
    bars: list[tuple[int, float]] | None = None
    nan_seen = False
    for found in DICT.finditer(block.data):
        if not DICT_MARK.search(found[0]):
            continue
        text = found[0].decode("utf-8", "replace")
        columns: dict[str, object] = {k: a or b or c for k, a, b, c in PAIR.findall(text)}
        if "train_runtime" in columns:
            continue
        values = metrics(columns)
        if not values:
            continue
        if bars is None:
            bars = _training_bars(block.data)
        step = step_of(columns)
        if step is None:
            step = next((n for at, n in reversed(bars) if at < found.start()), None)
        record = Measurement(block.line_at(found.start()), step, values)
        yield record
        loss = values.get("loss", 0.0)
        if not nan_seen and (_is_nan(loss) or loss in (float("inf"), float("-inf"))):
            nan_seen = True
            yield nan_event(record, "loss", loss, hidden=number(columns.get("loss")) == 0)


def _is_nan(value: float | None) -> bool:
    return value is not None and value != value


def _training_bars(data: bytes) -> list[tuple[int, float]]:
    """Return place and count of the bars without a name and with the largest total."""
    found = [
        (bar.start(), float(bar["done"]), int(bar["total"]))
        for bar in BAR.finditer(data)
        if not _name_of(data, bar)
    ]
    longest = max((total for _, _, total in found), default=0)
    return [(at, done) for at, done, total in found if total == longest]


def _name_of(data: bytes, bar: re.Match[bytes]) -> bytes:
    """Return what stands before a bar in its line or redraw, prefixes of ranks left out."""
    start = max(data.rfind(b"\n", 0, bar.start()), data.rfind(b"\r", 0, bar.start())) + 1
    return PREFIX.sub(b"", data[max(start, bar.start() - 200) : bar.start()]).strip(b" :")


def read_bars(block: BlockText) -> Iterator[Event | Measurement]:
    """Read progress bars of training: Lightning's ``Epoch 3:`` and tqdm's without a name."""
    return with_nan_events(_bars(block))


def _bars(block: BlockText) -> Iterator[Measurement]:
    before: dict[tuple[bytes, int], tuple[int, int]] = {}
    for bar in BAR.finditer(block.data):
        name = _name_of(block.data, bar)
        epoch = LIGHTNING.search(name)
        if name and not epoch:
            continue
        total, done, elapsed = int(bar["total"]), int(bar["done"]), _clock(bar["elapsed"])
        key = (epoch[1] if epoch else b"", total)
        start = before.get(key)
        if start is None or done < start[0] or elapsed < start[1]:
            before[key] = (done, elapsed)
            continue
        if elapsed - start[1] < BAR_SPAN or done == start[0]:
            continue
        before[key] = (done, elapsed)
        postfix = dict(POSTFIX.findall(bar["rest"].decode("utf-8", "replace")))
        values = metrics(postfix)
        values["step_time"] = (elapsed - start[1]) / (done - start[0])
        step = number(postfix.get("global_step"))
        if step is None:
            step = float(done + (int(epoch[1]) * total if epoch else 0))
        yield Measurement(block.line_at(bar.start("done")), step, values)


def _clock(text: bytes) -> int:
    seconds = 0
    for part in text.split(b":"):
        seconds = seconds * 60 + int(part or b"0")
    return seconds


def read_fairseq(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the ``json`` and ``simple`` formats of fairseq and metaseq."""
    return with_nan_events(_fairseq(block))


def _fairseq(block: BlockText) -> Iterator[Measurement]:
    for found in FAIRSEQ.finditer(block.data):
        tag, text = found[1].decode(), found[2].decode("utf-8", "replace")
        columns = _fairseq_columns(text)
        prefix = "" if tag == "train_inner" else f"{tag}_"
        columns = {name.removeprefix(prefix): value for name, value in columns.items()}
        step = step_of(columns)
        if step is None:
            continue
        values = metrics(columns)
        rate = number(columns.get("ups"))
        if rate:
            values["step_time"] = 1 / rate
        if tag == "valid":
            loss = number(columns.get("loss"))
            values = {} if loss is None else {"validation_loss": loss}
        if values:
            yield Measurement(block.line_at(found.start()), step, values)


def _fairseq_columns(text: str) -> Mapping[str, object]:
    if not text.startswith("{"):
        return dict(POSTFIX.findall(text))
    try:
        columns = json.loads(text)
    except ValueError:
        return {}
    return columns if isinstance(columns, dict) else {}


def read_verl(block: BlockText) -> Iterator[Measurement]:
    """Read verl's console lines; throughput is per GPU, times are seconds."""
    for found in VERL.finditer(block.data):
        fields = re.split(r" - (?=[A-Za-z_])", found[2].decode("utf-8", "replace"))
        columns = {name: value for name, _, value in (field.rpartition(":") for field in fields)}
        if values := metrics(columns):
            yield Measurement(block.line_at(found.start()), float(found[1]), values)


def read_composer(block: BlockText) -> Iterator[Event | Measurement]:
    """Read Composer's records, a header with indented metrics below."""
    return with_nan_events(_composer(block))


def _composer(block: BlockText) -> Iterator[Measurement]:
    for found in COMPOSER.finditer(block.data):
        rows = COMPOSER_ROW.findall(found[2].decode("utf-8", "replace"))
        values = metrics({name: value for kind, name, value in rows if kind == "Train"})
        if values:
            line: Line = block.line_at(found.start())
            yield Measurement(line, float(found[1]), values)


PARSERS = (
    BulkParser(
        name="trainer-dicts",
        title="Hugging Face Trainer, TRL, Axolotl and ms-swift console dicts",
        opens=("{'loss'", "{'eval_loss'", "'grad_norm'"),
        read=read_dicts,
        emits=(
            "loss", "grad_norm", "learning_rate", "epoch", "validation_loss", "step_time",
            "consumed_tokens", "memory_reserved", "memory_peak", "tokens_per_s_gpu",
            "train.nan_loss",
        ),
        sample="{'loss': 2.1331, 'grad_norm': 0.8125, 'learning_rate': 1.9e-05, 'epoch': 0.04}\n",
    ),
    BulkParser(
        name="training-bars",
        title="Progress bars of training (Lightning, tqdm)",
        opens=("%|",),
        read=read_bars,
        emits=("step_time", "loss", "validation_loss", "train.nan_loss"),
        sample="Epoch 3:  40%|####      | 400/1000 [03:20<05:00,  2.00it/s, v_num=7, train_loss=0.512]\nEpoch 3:  45%|####      | 450/1000 [03:45<04:35,  2.00it/s, v_num=7, train_loss=0.507]\n",
    ),
    BulkParser(
        name="fairseq-steps",
        title="fairseq and metaseq progress lines",
        opens=("train_inner | ", "num_updates"),
        read=read_fairseq,
        emits=(
            "loss", "learning_rate", "grad_norm", "loss_scale", "tokens_per_s", "step_time",
            "validation_loss", "train.nan_loss", "train.nan_gradient",
        ),
        sample="2026-01-05 10:00:00 | INFO | train_inner | epoch 001:    400 / 3251 loss=7.412, ppl=170.3, wps=91234, ups=0.41, num_updates=400, lr=0.00012, gnorm=1.21, loss_scale=16\n",
    ),
    BulkParser(
        name="verl-steps",
        title="verl console lines",
        opens=("timing_s/", "actor/", "critic/"),
        read=read_verl,
        emits=("step_time", "checkpoint_time", "grad_norm", "learning_rate", "mfu",
               "tokens_per_s_gpu", "memory_reserved"),
        sample="step:12 - actor/grad_norm:0.21 - actor/lr:1e-06 - timing_s/gen:92.1 - timing_s/step:160.2 - perf/throughput:1123.4\n",
    ),
    BulkParser(
        name="composer-steps",
        title="MosaicML Composer console records",
        opens=("[batch=",),
        read=read_composer,
        emits=("loss", "tokens_per_s_gpu", "samples_per_s", "mfu", "train.nan_loss"),
        sample="[epoch=1][batch=100/2000]:\n\t Train time/batch: 99\n\t Train loss/train/total: 2.7133\n\t Train throughput/device/tokens_per_sec: 8123.4\n",
    ),
)  # fmt: skip
