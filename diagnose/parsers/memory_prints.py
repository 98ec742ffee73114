"""Memory that scripts print between their steps, to hunt a leak.

::

    torch.cuda.memory_allocated(0) 318986240
    GPU memory: allocated=3.12 GB, reserved = 4.50 GB
    iteration 40: RSS: 12,480 MB
    nvidia-smi GPU-0 memory (MB) 2804

A number counts with its unit, or as bytes behind a call of PyTorch's. What belongs to the host
(``RSS``, ``CPU``, a ``memory usage`` of nothing in particular) is ``host_memory``. Sizes of models,
totals, limits and what is free are left out, and of several devices the first is read, since a
process has one series.

*Empty*: nobody printed it. *Cut off*: a number whose unit is missing is not read.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import number

CALL = LazyPattern(
    rb"\bcuda\.((?:max_)?memory_(?:allocated|reserved|cached))(?:\((?:device=)?(?:cuda:)?\d*\))?"
    rb"[ \t]*[:=]?[ \t]*([\d,]+(?:\.\d+)?)(?: ?([KMG])i?B)?(?![\w.])"
)
STATED = LazyPattern(rb"[:=][ \t]*([\d,]+(?:\.\d+)?) ?([KMG])i?B(?![\w/])")
IN_HEAD = LazyPattern(
    rb"\b[Mm]emory \((?:in )?([KMG])i?B\)[ \t]*[:=]?[ \t]*([\d,]+(?:\.\d+)?)(?![\w.])"
)
NAME = LazyPattern(rb"[A-Za-z][\w -]*$")
WORD = LazyPattern(r"[a-z]+")
DEVICE = LazyPattern(
    rb"(?:GPU|gpu|cuda|device)[ :_-]?(\d+)|memory_\w+\((?:device=)?(?:cuda:)?(\d+)\)"
)
STEP_LINE = LazyPattern(rb"[Ll]oss\b|\| max allocated|MEMSTATS")
"""What other readers take."""

UNITS = {b"K": 2**10, b"M": 2**20, b"G": 2**30}
OTHER = frozenset(
    {"total", "free", "available", "avail", "limit", "capacity", "model", "file", "size", "budget",
     "estimated", "required", "needed", "buffer", "cache", "kv", "weight", "weights", "parameters",
     "optimizer", "disk", "swap", "checkpoint", "shm", "shared", "download", "tried", "delta", "change"}
)  # fmt: skip
"""A size with one of these words is no memory in use."""
HOST = frozenset({"rss", "host", "cpu", "ram", "resident"})
GPU = frozenset({"gpu", "cuda", "vram"})
MEMORY = frozenset({"memory", "mem", "vram"})
IN_USE = frozenset({"usage", "used", "use", "consumption"})
PEAK = frozenset({"max", "peak", "maximum"})
ALLOCATED, RESERVED = frozenset({"allocated", "alloc"}), frozenset({"reserved", "cached"})


def read(block: BlockText) -> Iterator[Measurement]:
    """Read the lines that state memory in use."""
    data = block.data
    by_line: dict[int, dict[str, float]] = {}
    device: bytes | None = None
    for at, text, value in sorted(_stated(data)):
        begin = data.rfind(b"\n", 0, at) + 1
        whose = DEVICE.search(text)
        index = (whose[1] or whose[2]) if whose else None
        device = device if device is not None else index
        metric = _metric(text.decode("utf-8", "replace"))
        if metric is not None and (index is None or index == device):
            by_line.setdefault(begin, {}).setdefault(metric, value)
    for begin, values in by_line.items():
        yield Measurement(block.line_at(begin), None, values)


def _stated(data: bytes) -> Iterator[tuple[int, bytes, float]]:
    """Yield where memory is stated, in which words, and how many bytes."""
    for found in CALL.finditer(data):
        unit = UNITS[found[3]] if found[3] else 1
        yield from _amount(data, found, found[0], found[2], unit)
    for found in STATED.finditer(data):
        yield from _amount(data, found, b"", found[1], UNITS[found[2]])
    for found in IN_HEAD.finditer(data):
        yield from _amount(data, found, b" memory", found[2], UNITS[found[1]])


def _amount(
    data: bytes, found: re.Match[bytes], named: bytes, value: bytes, unit: int
) -> Iterator[tuple[int, bytes, float]]:
    begin = data.rfind(b"\n", 0, found.start()) + 1
    before = data[max(begin, found.start() - 60) : found.start()]
    name = NAME.search(before.rstrip())
    if STEP_LINE.search(data, begin, found.start()) or b"cuda.m" in before:
        return
    text = named if named and not named.startswith(b" ") else (name[0] if name else b"") + named
    amount = number(value.decode())
    if text and amount:
        yield found.start(), text, amount * unit


def _metric(text: str) -> str | None:
    words = set(WORD.findall(text.lower()))
    if words & OTHER:
        return None
    if words & HOST:
        return "host_memory"
    if words & RESERVED:
        return "memory_reserved"
    if words & ALLOCATED:
        return "memory_peak" if words & PEAK else "memory_allocated"
    if words & MEMORY and words & GPU:
        return "memory_peak" if words & PEAK else "memory_used"
    return "host_memory" if words & MEMORY and words & IN_USE else None


PARSERS = (
    BulkParser(
        name="memory-prints",
        title="Memory in use that scripts print between their steps",
        opens=("emory", "RSS", "VRAM", "mem:", "mem="),
        read=read,
        emits=("memory_allocated", "memory_reserved", "memory_peak", "memory_used", "host_memory"),
        sample="GPU memory allocated: 3.12 GB, reserved: 4.50 GB\n",
    ),
)
