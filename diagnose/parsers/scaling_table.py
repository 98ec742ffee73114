"""Tables of throughput by size: a header with a number of GPUs or nodes, and no step.

What a scaling test is written down in, as CSV, TSV or Markdown. A column ``gpus`` (``num_gpus``,
``world_size``, ``ranks``) or ``nodes`` gives the size; one for tokens, samples or TFLOP/s gives the
throughput, of the job or of one GPU as its name says. A bare ``throughput`` is the job's where it
grows with the size, and is left out where that does not tell. ``scaling.point`` has ``size``,
``unit`` (``gpus`` or ``nodes``), ``metric``, ``per_gpu`` (of one of the unit) and ``global_batch``.

*Empty*: a header without rows. *Cut off*: a row with fewer cells than the header is left out.
"""

import re
from collections.abc import Iterator

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import Document, FileParser, make_event
from diagnose.parsers.gate import Gate
from diagnose.parsers.metric_names import STEP_NAMES, canonical, number, squash
from diagnose.parsers.table_head import may_be_table

DELIMITERS = ("|", ",", "\t", ";")

GPUS = frozenset({"gpus", "numgpus", "ngpus", "gpucount", "worldsize", "ranks", "numranks"})
NODES = frozenset({"nodes", "numnodes", "nnodes", "nodecount"})
STEPS = frozenset(squash(name) for name in STEP_NAMES)

PER_GPU = frozenset({"tokens_per_s_gpu", "tflops"})
OF_THE_JOB = frozenset({"tokens_per_s", "samples_per_s"})
BARE = "throughput"

GROWN = 1.3
"""Growth from the smallest to the largest size that only the throughput of a whole job has."""

Row = tuple[Line, dict[str, str]]


def accepts(name: str, head: bytes) -> bool:
    """Return whether one of the first lines is a header of sizes and throughput."""
    lines = head.decode("utf-8-sig", "replace").splitlines()[:10]
    return any(_header(line) is not None for line in lines)


def _header(text: str) -> tuple[str, list[str]] | None:
    """Return delimiter and column names if a line is such a header."""
    for delimiter in DELIMITERS:
        names = _cells(text, delimiter)
        if len(names) < 2 or not all(re.fullmatch(r"[A-Za-z#][^={}]{0,60}", one) for one in names):
            continue
        squashed = {squash(one) for one in names}
        if squashed & STEPS or not squashed & (GPUS | NODES):
            continue
        if any(_metric(one) for one in names):
            return delimiter, names
    return None


def _cells(text: str, delimiter: str) -> list[str]:
    cells = [cell.strip().strip('"') for cell in text.strip().strip("|").split(delimiter)]
    return [cell.lstrip("# ") for cell in cells]


def _metric(name: str) -> str | None:
    if squash(name) == BARE:
        return BARE
    known = canonical(name)
    return known[0] if known and known[0] in PER_GPU | OF_THE_JOB else None


def read(document: Document) -> Iterator[Event]:
    """Read a table."""
    rows = list(_rows(document.lines()))
    points = [found for line, row in rows if (found := _point(row, line)) is not None]
    rates = {size: rate for _, (size, rate, metric, *_) in points if metric == BARE}
    grows = len(rates) > 1 and rates[max(rates)] >= GROWN * rates[min(rates)]
    for line, (size, rate, metric, unit, batch) in points:
        if metric == BARE and not grows:
            continue
        fields: dict[str, Value] = {
            "size": size,
            "unit": unit,
            "metric": metric,
            "per_gpu": rate if metric in PER_GPU else rate / size,
            "global_batch": batch,
        }
        yield make_event("scaling.point", Nature.MEASUREMENT, line, fields)


def _rows(lines: Iterator[Line]) -> Iterator[Row]:
    header: tuple[str, list[str]] | None = None
    for line in lines:
        if again := _header(line.text):
            header = again
        elif header is not None:
            delimiter, names = header
            cells = _cells(line.text.rstrip("\r"), delimiter)
            if len(cells) >= len(names):
                yield line, dict(zip(names, cells, strict=False))


def _point(
    row: dict[str, str], line: Line
) -> tuple[Line, tuple[int, float, str, str, float | None]] | None:
    by_name = {squash(name): number(cell) for name, cell in row.items()}
    gpus = next((by_name[name] for name in GPUS if by_name.get(name)), None)
    nodes = next((by_name[name] for name in NODES if by_name.get(name)), None)
    size = gpus or nodes
    measured = ((metric, number(cell)) for name, cell in row.items() if (metric := _metric(name)))
    metric, rate = next(((one, value) for one, value in measured if value), ("", None))
    if not size or size < 1 or size != int(size) or not rate or rate < 0:
        return None
    batch = by_name.get("globalbatchsize") or by_name.get("globalbatch")
    return line, (int(size), rate, metric, "gpus" if gpus else "nodes", batch)


PARSERS = (
    FileParser(
        name="scaling-table",
        title="Tables of throughput by number of GPUs or nodes",
        accepts=accepts,
        gate=Gate(test=may_be_table),
        read=read,
        emits=("scaling.point",),
        sample="gpus,tokens_per_s,global_batch_size\n8,96000,256\n64,512000,2048\n",
    ),
)
