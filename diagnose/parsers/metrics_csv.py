"""Metrics as CSV or TSV: a header with a step and at least one known metric.

Lightning's ``metrics.csv``, exported W&B history, and home-made tables of one row a step or one row
a step and rank. In a chart that W&B exported, the name of the run stands before the metric (``run 7 -
train/loss``); a chart of one run is read. Blank cells are absent. Columns ``rank``, ``host`` and a time stamp say whose a row
is and when it was written. A column ``device`` or ``gpu`` is the rank where most steps have one row
for each of several; where every host counts its own from 0 it is not. A header that comes again (after a restart) is skipped.

*Empty*: a header without rows. *Cut off*: a row with fewer cells than the header is left out.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from diagnose.model.event import Event, Line, Measurement
from diagnose.parsers.base import Document, FileParser
from diagnose.parsers.gate import Gate
from diagnose.parsers.metric_names import (
    ALIASES,
    RANK_NAMES,
    STEP_NAMES,
    canonical,
    number,
    squash,
    step_of,
    with_nan_events,
)
from diagnose.parsers.metric_rows import PROBE, Row, measure
from diagnose.parsers.table_head import may_be_table

DELIMITERS = (",", "\t", ";")
DEVICES = ("device", "gpu", "worker")
STEPS = frozenset(squash(name) for name in STEP_NAMES)


def accepts(name: str, head: bytes) -> bool:
    """Return whether the first line that is no comment is a header of metrics."""
    return any(_header(line) for line in head.decode("utf-8-sig", "replace").splitlines()[:10])


def _header(text: str) -> tuple[str, list[str]] | None:
    """Return delimiter and names if a line is a header with a step and a metric."""
    text = text.lstrip("\ufeff# ").strip()
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        names = _without_run([name.strip() for name in _cells(text, delimiter)])
        if not all(re.fullmatch(r"[A-Za-z_][^={}]{0,60}", name) for name in names):
            continue
        measured = [name for name in names if (known := canonical(name)) and known[0] != "epoch"]
        if measured and any(squash(name) in STEPS for name in names):
            return delimiter, names
    return None


def _without_run(names: list[str]) -> list[str]:
    """Return the names without that of the run, where all but the step have the same."""
    runs = {name.rpartition(" - ")[0] for name in names if squash(name) not in STEPS}
    return [name.rpartition(" - ")[2] for name in names] if len(runs) == 1 else names


def _cells(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a NUL, or a field over the limit of the csv module
        return []


def read(document: Document) -> Iterator[Event | Measurement]:
    """Read a table of metrics."""
    return with_nan_events(measure(_ranked(_rows(document.lines()))))


def _rows(lines: Iterator[Line]) -> Iterator[Row]:
    header: tuple[str, list[str]] | None = None
    for line in lines:
        if again := _header(line.text):
            header = again
            continue
        if header is None:
            continue
        delimiter, names = header
        cells = _cells(line.text.rstrip("\r"), delimiter)
        if len(cells) >= len(names):
            present = zip(names, cells, strict=False)
            yield line, {name: cell.strip() for name, cell in present if cell.strip()}


def _ranked(rows: Iterator[Row]) -> Iterator[Row]:
    """Add the rank to rows that say it as the number of a device."""
    probe = list(islice(rows, PROBE))
    column = _device_column([row for _, row in probe])
    for line, row in chain(probe, rows):
        yield line, {**row, RANK_NAMES[0]: row[column]} if column in row else row


def _device_column(rows: Sequence[dict[str, object]]) -> str:
    """Return the name of the column that numbers the ranks, empty where none does."""
    names = {name.lower(): name for row in rows for name in row}
    column = next((names[name] for name in DEVICES if name in names), "")
    if not column or any(name in names for name in RANK_NAMES):
        return ""
    by_step: dict[float | None, list[float]] = {}
    for row in rows:
        device = number(row.get(column))
        if device is None or not device.is_integer():
            return ""
        by_step.setdefault(step_of(row), []).append(device)
    apart = sum(len(set(one)) == len(one) > 1 for one in by_step.values())
    return column if 2 * apart > len(by_step) else ""


PARSERS = (
    FileParser(
        name="metrics-csv",
        title="Tables of metrics with a step column (CSV, TSV)",
        accepts=accepts,
        gate=Gate(test=may_be_table),
        read=read,
        emits=(*ALIASES, "train.nan_loss", "train.nan_gradient"),
        sample="step,rank,host,step_time,data_time,loss\n10,0,node-07,0.52,0.01,1.73\n10,1,node-07,0.52,0.02,1.73\n",
    ),
)
