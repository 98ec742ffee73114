"""Lines of scripts that count their steps without the word: in brackets, in front, or behind ``loss``.

::

    Epoch [2][150/4000]  lr: 1.0e-02, eta: 2:10:03, time: 0.41, data_time: 0.01, loss: 0.83
    Train Epoch: 3 [6400/50000 (13%)] Loss: 0.412 Data (t): 0.021 Batch (t): 0.310
    [2000] policy_grad_norm 1.2 / image_loss 812.1 / model_loss 93.0
    Train loss 1200 0.231841 Grad Norm 0.41 1.73s/it

What follows the counter is read as pairs of names and values, whatever their order. Where samples
are counted or the length of an epoch is not known the line has no step. ESPnet's ``iter_time`` is
the wait for a batch and its ``train_time`` the whole step.

*Empty*: the program counts otherwise. *Cut off*: the pairs before the cut are read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.line_pairs import pairs
from diagnose.parsers.meter_layouts import METERS
from diagnose.parsers.metric_names import with_nan_events

READ = frozenset({"loss", "step_time", "data_time", "samples_per_s"})
"""One of these makes a line one of a training step."""


@dataclass(frozen=True, slots=True)
class Counter:
    """How the lines of a kind of script count.

    Args:
        regex: With the group ``rest``, and where they are there ``it`` (the step), ``n`` (steps of
            an epoch) and ``ep``.
        renamed: Names that mean something else in this kind of script, with the usual ones.
    """

    regex: LazyPattern[bytes]
    renamed: tuple[tuple[str, str], ...] = ()


COUNTERS = (
    # mmcv runner/hooks/logger/text.py, and scripts that put both counters into brackets
    Counter(LazyPattern(
        rb"\b[Ee]poch:? ?\[ *(?P<ep>\d+)(?:/ *\d+)?\][ \t]{0,3}[\[(] *(?P<it>\d+) */ *(?P<n>\d+) *[\])]:?(?P<rest>[^\n\r]*)"
    )),
    # pytorch/examples mnist/main.py and open_clip train.py, which count samples
    Counter(LazyPattern(
        rb"\b[Tt]rain(?:ing)? [Ee]poch:? *(?P<ep>\d+)(?:/\d+)? *\[ *\d+ */ *\d+ *\( *[\d.]+%\)\](?P<rest>[^\n\r]*)"
    )),
    # danijar/dreamer and its heirs
    Counter(LazyPattern(
        rb"^\[(?P<it>\d+)\] (?P<rest>[A-Za-z]\w* [-+\w.]+ / [A-Za-z]\w* [^\n\r]*)", re.MULTILINE
    )),
    # NVIDIA/tacotron2 train.py
    Counter(LazyPattern(
        rb"\b[Tt]rain(?:ing)? (?P<rest>loss) (?P<it>\d+) (?P<more>(?:\d+\.\d+|nan|inf)\b[^\n\r]*)"
    )),
    # a wait for data with its unit at the head of a line, as people cut lines of their steps to
    Counter(LazyPattern(
        rb"^(?P<rest>data(?:[ _]time)?[:=] ?[\d.]+ ?m?s\b[^\n\r]*)", re.MULTILINE
    )),
    # espnet2/train/reporter.py; means over the batches of an interval
    Counter(
        LazyPattern(rb"\b(?P<ep>\d+)epoch:train:\d+-\d+batch: (?P<rest>[^\n\r]*)"),
        (("iter_time=", "data_time="), ("train_time=", "step_time=")),
    ),
)  # fmt: skip


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read all kinds."""
    return with_nan_events(_measure(block))


def _measure(block: BlockText) -> Iterator[Measurement]:
    for counter in COUNTERS:
        for found in counter.regex.finditer(block.data):
            groups = found.groupdict()
            if any(meter.regex.match(block.data, found.start()) for meter in METERS):
                continue
            text = b" ".join(groups[name] for name in ("rest", "more") if groups.get(name))
            values = pairs(_usual(text.decode("utf-8", "replace"), counter))
            if not READ & set(values):
                continue
            epoch, step = groups.get("ep"), groups.get("it")
            if epoch is not None:
                values["epoch"] = float(epoch)
            at = None if step is None else float(step)
            if at is not None and epoch is not None:
                at += int(epoch) * int(groups["n"])
            yield Measurement(block.line_at(found.start()), at, values)


def _usual(text: str, counter: Counter) -> str:
    for name, usual in counter.renamed:
        text = re.sub(rf"\b{name}", usual, text)
    return text


PARSERS = (
    BulkParser(
        name="counted-steps",
        title="Step lines of scripts that count in brackets or in front (mmcv, MNIST example, open_clip, ESPnet and others)",
        opens=("poch [", "poch: [", "poch:[", "rain Epoch: ", "_loss ", "Train loss ", "Training loss ", "epoch:train:", "data: ", "data_time", "data time"),
        read=read,
        emits=("loss", "validation_loss", "step_time", "data_time", "samples_per_s", "grad_norm",
               "learning_rate", "tokens_per_s", "loss_scale", "memory_used", "memory_allocated",
               "memory_peak", "memory_reserved", "epoch", "train.nan_loss", "train.nan_gradient"),
        sample="2026-01-05 10:00:00,123 - mmdet - INFO - Epoch [2][150/4000]\tlr: 1.000e-02, eta: 2:10:03, time: 0.412, data_time: 0.011, memory: 4100, loss_cls: 0.412, loss: 0.8311\n",
    ),
)  # fmt: skip
