"""Iteration lines that differ from the one before only in their numbers, at a third of the cost.

A training log has a million lines of one shape. What was learnt from one of them (prefix, labels,
constant columns) becomes one pattern, and the lines it fits become columns without a record for
each. Whatever a line says beyond plain numbers (a skip, a NaN, another loss scale) does not fit, so
that it is read by itself.
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from diagnose.ingest.repeated import StampedPrefix
from diagnose.model.event import Line, Rows
from diagnose.parsers.base import BlockText

NUMBER = rb"([-+]?[\d.]+(?:[eE][-+]?\d+)?)"
STEP = rb"iteration[ \t]+(\d+)/ *\d+[ \t]*\|"
LINE_END = rb"[ \t]*\r?(?:\n|\Z)"

CONSTANT = frozenset({"loss_scale", "global_batch", "skipped_steps", "nan_steps"})
"""Metrics that hold for many lines; a line with another value is read by itself."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an iteration line.

    Args:
        label: As printed, with its colon.
        text: As printed behind the label.
        metric: What it is, None for a column that is not read.
        factor: To its base unit.
    """

    label: bytes
    text: bytes
    metric: str | None
    factor: float


@dataclass(frozen=True, slots=True)
class Shape:
    """What the lines like one line have in common.

    Args:
        prefix: What stands before the record.
        pattern: Of a whole line, for ``re``.
        groups: Metrics of the groups behind stamp and step, with their factors.
        values: Of the line itself, in the order of a record.
    """

    prefix: StampedPrefix
    pattern: re.Pattern[bytes]
    groups: tuple[tuple[str, float], ...]
    values: dict[str, float]


def shape_of(
    prefix: StampedPrefix, columns: Sequence[Column], values: dict[str, float]
) -> Shape | None:
    """Return the shape of a line that was read, None where more than its numbers may change.

    Args:
        prefix: What stands before it.
        columns: All of its columns.
        values: What they say, by metric.
    """
    if values.get("skipped_steps") or values.get("nan_steps") or "loss" not in values:
        return None
    parts, groups = [prefix.pattern, STEP], []
    for column in columns:
        value = None if column.metric is None else values.get(column.metric)
        if column.metric is None:
            parts.append(re.escape(column.label) + rb"[^|\r\n]*")
        elif value is None or column.metric in CONSTANT:
            parts.append(re.escape(column.label + column.text))
        else:
            # A gradient norm of zero was not computed and is no value.
            least = rb"(?!0[.0]*[ |])" if column.metric == "grad_norm" else b""
            parts.append(re.escape(column.label) + rb"[ \t]*" + least + NUMBER + rb"[ \t]*")
            groups.append((column.metric, column.factor))
        parts.append(rb"\|")
    pattern = _compiled(b"".join(parts) + LINE_END)
    return Shape(prefix, pattern, tuple(groups), values)


@lru_cache(maxsize=64)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


def rows_behind(block: BlockText, offset: int, shape: Shape, line: Line) -> tuple[Rows | None, int]:
    """Return the lines of a shape behind a place, and where the first line of another begins.

    Args:
        block: The bytes.
        offset: Beginning of a line.
        shape: What the lines have in common.
        line: Of that shape, which stands before.
    """
    data, match, seconds = block.data, shape.pattern.match, shape.prefix.seconds
    steps, times, places = array("d"), array("d"), array("q")
    cells: list[float] = []
    while found := match(data, offset) or _next(block, offset, shape):
        stamp, step, *texts = found.groups()
        time = seconds(stamp)
        try:
            row = list(map(float, texts))
        except ValueError:
            break
        if time is None:
            break
        steps.append(float(step))
        times.append(time)
        places.append(found.start())
        cells += row
        offset = found.end()
    if not steps:
        return None, offset
    width = len(shape.groups)
    read = {
        metric: array("d", [value * factor for value in cells[place::width]])
        for place, (metric, factor) in enumerate(shape.groups)
    }
    values = {
        metric: read.get(metric) or array("d", [value]) * len(steps)
        for metric, value in shape.values.items()
    }
    return Rows(line, steps, times, block.line_numbers(places), values), offset


def _next(block: BlockText, offset: int, shape: Shape) -> re.Match[bytes] | None:
    """Return the next iteration line behind other lines, None where it is of another shape."""
    at = block.data.find(b"iteration ", offset)
    start = block.data.rfind(b"\n", 0, at) + 1
    return shape.pattern.match(block.data, start) if at >= 0 and start > offset else None
