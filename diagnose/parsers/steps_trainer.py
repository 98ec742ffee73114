"""Hugging Face Trainer and TRL, Axolotl and ms-swift, Lightning and tqdm bars.

Hugging Face prints a Python dict per logging interval on rank 0 (4.x numbers, 5.x strings), with
an epoch and neither step nor time; the step is that of the progress bar before it. With
``logging_nan_inf_filter`` a window of NaN losses prints ``'loss': 0.0`` beside
``'grad_norm': nan``; such a loss is NaN. The dict at the end of training holds means over the run
and is no measurement.

A bar's own rate is smoothed, so the time of a step is the difference between two bars that are at
least ``LEAST_SPAN`` apart (bars count in whole seconds). A bar is one of training if it has no name, or
``Epoch 3``, ``train``, ``Steps`` and the like; bars without a total count only by such a name.

*Empty*: no interval was completed. *Cut off*: a dict without its closing brace is not read.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import metrics, nan_event, number, step_of, with_nan_events
from diagnose.parsers.step_clock import StepClock, elapsed

DICT = LazyPattern(rb"\{'[^{}\n]*\}")
DICT_MARK = LazyPattern(rb"'(?:loss|eval_loss|grad_norm)':")
PAIR = LazyPattern(
    r"'([^']+)': (?:'([^']*)'|(?:tensor|array|np\.\w+)\(([^,()]*)[^()]*\)|([-+\w.]+))"
)
BAR = LazyPattern(
    rb"\d{1,3}%\|[^|\r\n]*\|\s*(?P<done>[\d.]+[kMG]?)/(?P<total>[\d.]+[kMG]?)"
    rb" \[(?P<elapsed>[\d:]+)<[\d:?]+(?P<rest>[^\]\r\n]*)\]?"
)
COUNTER = LazyPattern(
    rb"(?:\|[^|\r\n%]*\|\s*(?P<done>\d+)/\?|(?<![\w.])(?P<alone>\d+)it)"
    rb" \[(?P<elapsed>[\d:]+)(?:<[\d:?]+)?(?P<rest>,[^\]\r\n]*)\]?"
)
"""A bar of something whose length is not known, by Lightning and by tqdm."""

ANSI = LazyPattern(rb"\x1b\[[0-9;]*[A-Za-z]")
PREFIX = LazyPattern(
    rb"^\s*(?:(?:\[[\w,/.-]+\](?:<\w+>)?:?|\([\w.]+ pid=\d+[^)]*\)|\{\"log\": ?\""
    rb"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)(?: std(?:out|err) [FP])?"
    rb"|[A-Z][a-z]{2} +\d+ [\d:]{8} \S+ \S+\[\d+\]:|[\w.-]*\d[\w.-]*:)\s*)+"
)
"""What launchers and collectors write before a line."""

TRAINING = LazyPattern(
    rb"(?:^|[\]|:]\s*)(?:[Tt]rain(?:ing)?|[Ss]teps?|[Ii]ter(?:ation)?s?)\b(?:[\s:,|-]*[Ee]poch[\s:]*(\d+)(?: ?/ ?\d+)?)?[\s:]*$"
    rb"|(?:^|[\s\]|:])[Ee]poch +(\d+)(?: ?/ ?\d+)?[\s:]*$"
)
NAME_ROOM = 400
"""Bytes before a bar in which its name is looked for."""

AMOUNTS = {b"k": 10**3, b"M": 10**6, b"G": 10**9}
POSTFIX = LazyPattern(r"([A-Za-z_][\w/.-]*(?: in s)?)=([-+\w.]+)")


def read_dicts(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the dicts of Hugging Face Trainer, TRL, Axolotl and ms-swift."""
    bars: list[tuple[int, float]] | None = None
    clock = StepClock()
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
            bars = [
                (bar.start(), float(_amount(bar["done"])))
                for bar, epoch in _training_bars(block.data)
                if bar["done"] and not epoch
            ]
        step = step_of(columns)
        if step is None:
            step = next((n for at, n in reversed(bars) if at < found.start()), None)
        if step is not None and not bars and (reading := elapsed(columns)):
            time = clock.step_time(None, step, *reading)
            if time is not None and "loss" in values:
                values.setdefault("step_time", time)
        record = Measurement(block.line_at(found.start()), step, values)
        yield record
        loss = values.get("loss", 0.0)
        if not nan_seen and (_is_nan(loss) or loss in (float("inf"), float("-inf"))):
            nan_seen = True
            yield nan_event(record, "loss", loss, hidden=number(columns.get("loss")) == 0)


def _is_nan(value: float | None) -> bool:
    return value is not None and value != value


def _training_bars(data: bytes) -> list[tuple[re.Match[bytes], bytes | None]]:
    """Return the bars of training with the epoch they name.

    Of bars without a name those with the largest total count: others are of evaluations.
    """
    found: list[tuple[re.Match[bytes], bytes | None]] = []
    bare: list[tuple[re.Match[bytes], int]] = []
    for bar in BAR.finditer(data):
        if not (name := _name_of(data, bar.start())):
            bare.append((bar, _amount(bar["total"])))
        elif training := TRAINING.search(name):
            found.append((bar, training[1] or training[2]))
    longest = max((total for _, total in bare), default=0)
    found += [(bar, None) for bar, total in bare if total == longest]
    for bar in COUNTER.finditer(data):
        if training := TRAINING.search(_name_of(data, bar.start())):
            found.append((bar, training[1] or training[2]))
    return sorted(found, key=lambda one: one[0].start())


def _amount(text: bytes) -> int:
    """Return a count as tqdm prints it, ``1.20k`` where it scales units."""
    try:
        return round(float(text.rstrip(b"kMG")) * AMOUNTS.get(text[-1:], 1))
    except ValueError:
        return 0


def _name_of(data: bytes, at: int) -> bytes:
    """Return what stands before a bar in its line or redraw, prefixes of ranks left out."""
    text = data[max(0, at - NAME_ROOM) : at]
    text = re.split(rb"[\r\n]|\\r", text)[-1]  # the latter in Docker's JSON
    text = ANSI.sub(b"", text)
    return PREFIX.sub(b"", text).strip(b" :")


def read_bars(block: BlockText) -> Iterator[Event | Measurement]:
    """Read progress bars of training: Lightning's ``Epoch 3:`` and tqdm's without a name."""
    return with_nan_events(_bars(block))


def _bars(block: BlockText) -> Iterator[Measurement]:
    clock = StepClock()
    for bar, epoch in _training_bars(block.data):
        groups = bar.groupdict()
        done, total = groups["done"] or groups["alone"], groups.get("total")
        length, count = _amount(total or b""), _amount(done)
        time = clock.step_time((epoch, total), count, _clock(groups["elapsed"]))
        if time is None:
            continue
        postfix = dict(POSTFIX.findall(groups["rest"].decode("utf-8", "replace")))
        step = number(postfix.get("global_step"))
        if step is None:
            step = float(count + (int(epoch) * length if epoch else 0))
        place = bar.start("done") if groups["done"] else bar.start("alone")
        yield Measurement(block.line_at(place), step, {**metrics(postfix), "step_time": time})


def _clock(text: bytes) -> int:
    seconds = 0
    for part in text.split(b":"):
        seconds = seconds * 60 + int(part or b"0")
    return seconds


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
        opens=("%|", "/? [", "it ["),
        read=read_bars,
        emits=("step_time", "loss", "validation_loss", "train.nan_loss"),
        sample="Epoch 3:  40%|####      | 400/1000 [03:20<05:00,  2.00it/s, v_num=7, train_loss=0.512]\nEpoch 3:  45%|####      | 450/1000 [03:45<04:35,  2.00it/s, v_num=7, train_loss=0.507]\n",
    ),
)  # fmt: skip
