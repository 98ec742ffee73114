"""Exported system metrics of W&B: use, power, heat and clock of each GPU, as CSV or JSON lines.

Columns are ``system.gpu.0.gpu`` (use), ``.memory``, ``.temp``, ``.powerWatts`` and, in newer releases,
``.smClock``; before 2023 ``system/gpu.0.gpu``. Each GPU gives one ``nvidia_smi.monitor``, as a monitor of
nvidia-smi does. GPUs are counted as the program sees them.

*Empty*: no sample. *Cut off*: a last row that is not whole is left out.
"""

import csv
import json
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import Document, FileParser
from diagnose.parsers.gate import Gate
from diagnose.parsers.gpu_samples import Samples, monitored
from diagnose.parsers.metric_names import number

COLUMN = LazyPattern(r"(?:system[./])?gpu\.(\d{1,3})\.(gpu|temp|powerWatts|smClock)")
MARK = LazyPattern(rb"(?:system[./])?gpu\.\d{1,3}\.(?:gpu|powerWatts)\b")
NAMES = {"gpu": "use", "temp": "temperature", "powerWatts": "power", "smClock": "clock"}


def accepts(name: str, head: bytes) -> bool:
    """Return whether the first line names system metrics of a GPU, as columns or in an object."""
    first = head.lstrip().partition(b"\n")[0]
    return MARK.search(first) is not None and (first.startswith(b"{") or b"," in first)


def read(document: Document) -> Iterator[Event]:
    """Read the samples, one event a GPU."""
    by_gpu: dict[str, Samples] = {}
    for line, row in _rows(document.lines()):
        for name, value in row.items():
            column, amount = COLUMN.fullmatch(name), number(value)
            if column is None or amount is None:
                continue
            samples = by_gpu.setdefault(column[1], Samples(line))
            samples.last = line
            known = samples.values.setdefault(NAMES[column[2]], [])
            known.append(amount)
            samples.count = max(samples.count, len(known))
    for which, samples in by_gpu.items():
        yield monitored(which, samples)


def _rows(lines: Iterator[Line]) -> Iterator[tuple[Line, dict[str, object]]]:
    names: list[str] = []
    for line in lines:
        text = line.text.strip()
        if text.startswith("{"):
            try:
                yield line, json.loads(text)
            except (ValueError, RecursionError):  # cut off
                continue
        elif "\0" not in text:
            cells = next(csv.reader([text]), [])
            if names and len(cells) == len(names):
                yield line, dict(zip(names, cells, strict=True))
            names = names or cells


PARSERS = (
    FileParser(
        name="wandb-system-metrics",
        title="Exported system metrics of W&B: use, power, heat and clock of each GPU",
        accepts=accepts,
        gate=Gate(holds=(b".gpu", b".powerWatts")),
        read=read,
        emits=("nvidia_smi.monitor",),
        sample="_runtime,_timestamp,system.gpu.0.gpu,system.gpu.0.temp,system.gpu.0.powerWatts,system.gpu.1.gpu\n15,1767607200.1,98,61,640,12\n30,1767607215.1,99,62,650,100\n",
    ),
)
