"""fairseq and metaseq: the progress lines of a training and its epochs (``logging/progress_bar.py``).

Formats ``json`` and ``simple``; the logger's name is the tag, which releases before 0.10 lack. Their
progress lines show means since the epoch began, of which only what hardly changes is read. ``train`` is the mean over an epoch, read
only where no interval lines (``train_inner``) stand beside it. ``ups`` are updates a second.
``train_wall`` counts the seconds in training steps, ``wall`` all of them since the start, so what lies
between two lines beyond the steps is ``data_time``, unless a validation or a save lies there too. Not
every log has lines of those, so of two neighbouring intervals the shorter wait counts.

*Empty*: no interval was completed. *Cut off*: a record in JSON without its end is not read.
"""

import json
import re
from collections.abc import Iterator, Mapping

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import metrics, number, step_of, with_nan_events
from diagnose.parsers.step_clock import LEAST_SPAN

LINE = LazyPattern(
    rb"\| (train_inner|train|valid) \| ([^\n\r]*)|[Bb]egin validation on |[Ss]aved? checkpoint "
)
"""Without a tag: of a validation or a save, for which the steps wait."""
OLD = LazyPattern(
    rb"^\| epoch (\d+)(?::? +(\d+) / (\d+) ([^\n\r]*)| \|( valid on '[^'\n]*' subset \|)? ([^\n\r]*))",
    re.MULTILINE,
)
"""Lines before 0.10: of an interval, else of an epoch or a validation."""
OLD_METRICS = frozenset({"loss", "learning_rate", "grad_norm", "loss_scale"})
PAIR = LazyPattern(r"([A-Za-z_]\w*)(?:=| )([-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|inf))(?=[,| ]|$)")

Columns = Mapping[str, object]


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read interval, epoch and validation lines."""
    yield from with_nan_events(_measure(block))
    yield from with_nan_events(_measure_old(block))


def _measure_old(block: BlockText) -> Iterator[Measurement]:
    found = list(OLD.finditer(block.data))
    has_intervals = any(one[2] for one in found)
    for one in found:
        columns = _columns((one[4] or one[6] or b"").decode("utf-8", "replace"))
        step = step_of(columns)
        if step is None and one[2]:
            step = float(int(one[1]) * int(one[3]) + int(one[2]))
        if one[5]:
            loss = number(columns.get("valid_loss", columns.get("loss")))
            values = {} if loss is None else {"validation_loss": loss}
        elif one[2] or not has_intervals:
            values = {k: v for k, v in metrics(columns).items() if k in OLD_METRICS}
            values["epoch"] = float(one[1])
        else:
            continue
        if values and step is not None:
            yield Measurement(block.line_at(one.start()), step, values)


def _measure(block: BlockText) -> Iterator[Measurement]:
    has_intervals = b"| train_inner |" in block.data
    before: Columns | None = None
    last: float | None = None
    for found in LINE.finditer(block.data):
        if found[1] is None:
            before = last = None
            continue
        tag, columns = found[1].decode(), _columns(found[2].decode("utf-8", "replace"))
        columns = {name.removeprefix(f"{tag}_"): value for name, value in columns.items()}
        step = step_of(columns)
        if step is None or (tag == "train" and has_intervals):
            continue
        if tag == "valid":
            before = last = None
            loss = number(columns.get("loss"))
            values = {} if loss is None else {"validation_loss": loss}
        else:
            values = metrics(columns)
            if rate := number(columns.get("ups")):
                values["step_time"] = 1 / rate
            if "wall" in columns:
                before, waited = _outside_steps(before, columns)
                if waited is not None and last is not None:
                    values["data_time"] = min(last, waited)
                last = last if waited is None else waited
        if values:
            yield Measurement(block.line_at(found.start()), step, values)


def _columns(text: str) -> Columns:
    if not text.startswith("{"):
        return dict(PAIR.findall(text))
    try:
        columns, _ = json.JSONDecoder().raw_decode(text)  # two ranks may share a line
    except ValueError:
        return {}
    return columns if isinstance(columns, dict) else {}


def _outside_steps(before: Columns | None, now: Columns) -> tuple[Columns, float | None]:
    """Return the record to compare the next one with, and the time outside of steps for each."""
    names = ("wall", "train_wall", "num_updates")
    spans = [(number(now.get(n)) or 0.0) - (number((before or {}).get(n)) or 0.0) for n in names]
    if before is None or min(spans) < 0:
        return now, None
    wall, training, updates = spans
    if wall < LEAST_SPAN or not updates:
        return before, None
    return now, max(0.0, wall - training) / updates


PARSERS = (
    BulkParser(
        name="fairseq-steps",
        title="fairseq and metaseq progress lines",
        opens=("train_inner | ", "num_updates", "| epoch "),
        read=read,
        emits=(
            "loss", "learning_rate", "grad_norm", "loss_scale", "tokens_per_s", "step_time",
            "data_time", "epoch", "validation_loss", "train.nan_loss", "train.nan_gradient",
        ),
        sample="2026-01-05 10:00:00 | INFO | train_inner | epoch 001:    400 / 3251 loss=7.412, ppl=170.3, wps=91234, ups=0.41, num_updates=400, lr=0.00012, gnorm=1.21, loss_scale=16\n",
    ),
)  # fmt: skip
