"""Losses that a script prints without the number of a step.

::

    INFO: train loss:1.4021
    Epoch 3/10 - loss: nan - accuracy: 0.098
    total_loss=2.31, lr=0.01

The name is ``loss``, alone or behind one word of a few; ``validation loss`` and ``packet loss`` are
something else. Lines that other parsers know, and dicts and JSON, are theirs. Whether such a loss is
of training or of a test, of a batch or of an epoch, nobody says: they are read only where one of
them is no number, to show it and what came before.

*Empty*: no line states a loss so, or all of them are numbers. *Cut off*: a number that the end of the text cuts is shorter than
it was; the line before it counts alike.
"""

import math
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.epoch_means import means
from diagnose.parsers.metric_names import numbers, with_nan_events

LOSS = LazyPattern(
    rb"(?:^|[\s\]|>,;:(-])(?:([A-Za-z]+)[ _/])?[Ll]oss(?: *[:=] *([-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|NaN|inf|Inf))|"
    rb" +([-+]?(?:nan|NaN|inf)))(?=[\s,;)]|$)"
)
NO_NUMBER = LazyPattern(rb"oss(?: *[:=])? *[-+]?(?:nan|NaN|inf|Inf)")
WORDS = frozenset(
    {b"train", b"training", b"total", b"running", b"avg", b"average", b"mean", b"current", b"batch",
     b"epoch", b"lm", b"the"}
)  # fmt: skip
"""What may stand before ``loss``."""

OTHERS = LazyPattern(
    rb"[{}]|%\||\b(?:[Ss]teps?|STEP|[Ii]ter(?:ation)?|[Bb]atch)\b[ \t]*[:=#\[]?[ \t]*\d|Epoch:? ?\[|Epoch\(|Iter\(|Train: |samples:|num_updates"
    rb"|global_step|\b[Vv]al(?:id(?:ation)?)?\b|\b[Ee]val|\b[Tt]est\b|\b[Dd]ev\b|last_time|_cost: "
)
"""Signs of another parser's line, or of a loss that is not training's."""


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the first loss of each line, if any of the block is no number."""
    if not NO_NUMBER.search(block.data):
        return iter(())
    of_epochs = {mean.line.number for mean in means(block)}
    found = [loss for loss in _losses(block) if loss.line.number not in of_epochs]
    is_lost = any(not math.isfinite(record.values["loss"]) for record in found)
    return with_nan_events(found if is_lost else [])


def _losses(block: BlockText) -> Iterator[Measurement]:
    data, seen = block.data, -1
    for found in LOSS.finditer(data):
        begin = data.rfind(b"\n", 0, found.start(0) + 1) + 1
        if begin == seen or (found[1] and found[1].lower() not in WORDS):
            continue
        seen = begin
        end = data.find(b"\n", found.end(0) - 1)
        line = data[begin : end if end >= 0 else len(data)]
        if len(line) > 400 or OTHERS.search(line):
            continue
        values = numbers({"loss": found[2] or found[3]})
        if values:
            yield Measurement(block.line_at(begin), None, values)


PARSERS = (
    BulkParser(
        name="unnumbered-losses",
        title="Losses that scripts print without the number of a step",
        opens=("loss", "Loss"),
        read=read,
        emits=("loss", "train.nan_loss"),
        sample="INFO: train loss:1.4021\nINFO: train loss:nan\n",
    ),
)
