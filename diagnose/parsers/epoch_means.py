"""Finds the means over epochs that stand below a line with the epoch's number.

Not a parser: ``steps_epochs`` reads them, and the reader of losses without a number leaves them out.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Measurement
from diagnose.parsers.base import BlockText
from diagnose.parsers.metric_names import numbers

NUMBER = rb"[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|NaN|inf)"
HEADLINE = LazyPattern(
    rb"(?:poch|POCH):?[ \t]+(\d+)(?:[ \t]*/[ \t]*\d+)?[ \t:=-]*\r?$", re.MULTILINE
)
BAR = LazyPattern(rb"(?:=\] - |\xe2\x94\x81 )([^\n\r]*?\bloss: [^\n\r]*)")
FULL = LazyPattern(rb"\b(\d+)/\1 (?:\[=+|(?:\xe2\x94\x81)+)")
"""A bar from its count on to its end, where it is full."""
ALONE = LazyPattern(rb"[Ll]oss[ \t]*[:=][ \t]*(" + NUMBER + rb")[ \t]*\r?$", re.MULTILINE)
WHOSE = LazyPattern(rb"(?:^|[\s\]>:])(?:([Tt]rain(?:ing)?)|[Vv]al(?:id(?:ation)?)?)[ _]$")
LOSS = LazyPattern(rb"[Ll]oss(?: *[:=] *| +)[-+]?(?:\d|nan|NaN|inf)")
DRAWN = LazyPattern(rb"\[[=>]|\xe2\x94\x81")
COLUMN = LazyPattern(rb"(?:^|[- ])(val_loss|loss|lr|learning_rate): (" + NUMBER + rb")(?=[\s,]|$)")
NAMES = {
    b"loss": "loss", b"val_loss": "validation_loss",
    b"lr": "learning_rate", b"learning_rate": "learning_rate",
}  # fmt: skip


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
    own = {data.rfind(b"\n", 0, at) + 1 for at, _ in below}
    finer = _with_step_lines(data, headlines, own) if below else set()
    for at, values in sorted(below, key=itemgetter(0)):
        above = bisect_left(headlines, at, key=itemgetter(0)) - 1
        if above not in finer:
            yield Measurement(
                block.line_at(at), headlines[above][1] if above >= 0 else None, values
            )


def _with_step_lines(data: bytes, headlines: list[tuple[int, float]], own: set[int]) -> set[int]:
    """Return the places of the headlines below which losses stand on other lines, as of steps."""
    found: set[int] = set()
    for loss in LOSS.finditer(data):
        above = bisect_left(headlines, loss.start(), key=itemgetter(0)) - 1
        if above in found:
            continue
        begin, end = data.rfind(b"\n", 0, loss.start()) + 1, data.find(b"\n", loss.start())
        is_own = begin in own or DRAWN.search(data, begin, end if end >= 0 else len(data))
        if not is_own:
            found.add(above)
    return found


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
