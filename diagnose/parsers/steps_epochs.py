"""Means over epochs below a line with the epoch's number: Keras' bars, nnU-Net, and scripts like them.

::

    Epoch 3/40
    1875/1875 [==============================] - 4s - loss: 0.3125 - acc: 0.91 - val_loss: 0.40
    epoch:  12
    2026-01-05 10:02:00.120000: train loss : -0.6421

The step is the number of the epoch. A bar shows the mean since the epoch began, so it is read when it
is full; a line of its own only where nothing but a loss stands on it.

*Empty*: no epoch was completed. *Cut off*: the epoch at the end has no loss yet.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import numbers, with_nan_events

NUMBER = rb"[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|NaN|inf)"
HEADLINE = LazyPattern(
    rb"(?:poch|POCH):?[ \t]+(\d+)(?:[ \t]*/[ \t]*\d+)?[ \t:=-]*\r?$", re.MULTILINE
)
BAR = LazyPattern(rb"(?:=\] - |\xe2\x94\x81 )([^\n\r]*?\bloss: [^\n\r]*)")
FULL = LazyPattern(rb"\b(\d+)/\1 (?:\[=+|(?:\xe2\x94\x81)+)")
"""A bar from its count on to its end, where it is full."""
ALONE = LazyPattern(rb"[Ll]oss[ \t]*[:=][ \t]*(" + NUMBER + rb")[ \t]*\r?$", re.MULTILINE)
WHOSE = LazyPattern(rb"(?:^|[\s\]>:])(?:([Tt]rain(?:ing)?)|[Vv]al(?:id(?:ation)?)?)[ _]$")
COLUMN = LazyPattern(rb"(?:^|[- ])(val_loss|loss|lr|learning_rate): (" + NUMBER + rb")(?=[\s,]|$)")
NAMES = {
    b"loss": "loss", b"val_loss": "validation_loss",
    b"lr": "learning_rate", b"learning_rate": "learning_rate",
}  # fmt: skip


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the means below each headline."""
    return with_nan_events(means(block))


def means(block: BlockText) -> Iterator[Measurement]:
    """Yield the means of a block."""
    data = block.data
    headlines = [(found.start(), float(found[1])) for found in HEADLINE.finditer(data)]
    below = [
        (found.start(), values) for found in BAR.finditer(data) if (values := _of_bar(data, found))
    ]
    if headlines:
        lines = ((found.start(), _of_line(data, found)) for found in ALONE.finditer(data))
        below += [(at, values) for at, values in lines if values and at > headlines[0][0]]
    for at, values in sorted(below, key=itemgetter(0)):
        above = bisect_left(headlines, at, key=itemgetter(0))
        yield Measurement(block.line_at(at), headlines[above - 1][1] if above else None, values)


def _of_bar(data: bytes, bar: re.Match[bytes]) -> dict[str, float]:
    begin = max(data.rfind(b"\n", 0, bar.start()), data.rfind(b"\r", 0, bar.start()))
    if not FULL.search(data, begin + 1, bar.start() + 3):
        return {}
    return numbers({NAMES[name]: value for name, value in COLUMN.findall(bar[1])})


def _of_line(data: bytes, found: re.Match[bytes]) -> dict[str, float]:
    begin = data.rfind(b"\n", 0, found.start()) + 1
    before = data[begin : found.start()]
    whose = None if b"oss" in before else WHOSE.search(before)
    return numbers({"loss" if whose[1] else "validation_loss": found[1]}) if whose else {}


PARSERS = (
    BulkParser(
        name="epoch-means",
        title="Losses below the number of an epoch (bars of Keras, nnU-Net, scripts)",
        opens=("poch ", "poch: ", "EPOCH", "=] - ", "\u2501 "),
        read=read,
        emits=("loss", "validation_loss", "learning_rate", "train.nan_loss"),
        sample="Epoch 3/40\n1875/1875 [==============================] - 4s - loss: 0.3125 - acc: 0.9112 - val_loss: 0.4021\n",
    ),
)
