"""The table of ``torch.cuda.memory_summary()``, of which 2.1 to 2.14 print the same layout.

``torch.memory_summary`` has the current figures in bytes, each with its ``_peak``:

============================= ====================================================================
``allocated``                 By tensors
``active``                    Also blocks that another stream still uses; ``held_by_streams`` is
                              what these are
``requested``                 As the program asked, before rounding; from 2.0 on
``reserved``                  Held by the allocator
``non_releasable``            Free, in segments that are partly used: the holes;
                              ``non_releasable_share`` of ``reserved``
``ooms``, ``retries``         Allocations that failed, and that needed the cache to be flushed
``gpu_index``                 Inside the process
============================= ====================================================================

``memory_allocated`` and ``memory_reserved`` are metrics of the same table.

*Empty*: nobody printed it. *Cut off*: rows behind the cut are None; without any row it is a note.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Measurement, Nature, Value
from diagnose.parsers.base import BlockParser, Note, Record, make_event
from diagnose.parsers.convert import SIZES
from diagnose.parsers.oom_figures import whole

_TABLE = "PyTorch CUDA memory summary, device ID"
_ROWS = {
    "Allocated memory": "allocated",
    "Active memory": "active",
    "Requested memory": "requested",
    "GPU reserved memory": "reserved",
    "Non-releasable memory": "non_releasable",
}
_ROW = LazyPattern(
    r"\|\s*([A-Z][\w -]*?) *\|\s*(\d+) *([KMGTP]?i?B)\s*\|\s*(\d+) *([KMGTP]?i?B)\s*\|"
)
_COUNTS = LazyPattern(r"CUDA OOMs: (\d+) *\| *cudaMalloc retries: (\d+)")


def _ends(lines: list[Line], following: Line) -> bool:
    closed = sum(line.text.strip().startswith("|====") for line in lines) >= 2
    return closed or not following.text.strip().startswith("|")


def _read(lines: list[Line]) -> Iterator[Record]:
    device = re.search(r"device ID (\d+)", lines[0].text)
    fields: dict[str, Value] = {name: None for name in (*_ROWS.values(), "ooms", "retries")}
    for line in lines:
        row = _ROW.search(line.text)
        counts = _COUNTS.search(line.text)
        if counts:
            fields["ooms"], fields["retries"] = int(counts[1]), int(counts[2])
        elif row and row[1] in _ROWS:
            fields[_ROWS[row[1]]] = _size(row[2], row[3])
            fields[f"{_ROWS[row[1]]}_peak"] = _size(row[4], row[5])
    if fields["allocated"] is None and fields["ooms"] is None:
        raise Note("a table of torch.cuda.memory_summary() is cut off before its first row")
    reserved, holes = whole(fields, "reserved"), whole(fields, "non_releasable")
    if reserved and holes is not None:
        fields["non_releasable_share"] = round(holes / reserved, 4)
    active, allocated = whole(fields, "active"), whole(fields, "allocated")
    if active is not None and allocated is not None:
        fields["held_by_streams"] = active - allocated
    fields["gpu_index"] = int(device[1]) if device else None
    yield make_event(
        "torch.memory_summary", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )
    values = {"memory_allocated": allocated, "memory_reserved": reserved}
    measured = {name: float(value) for name, value in values.items() if value is not None}
    if measured:
        yield Measurement(lines[0], None, measured)


def _size(number: str, unit: str) -> int:
    return int(number) * (1 << 50 if unit == "PiB" else SIZES[unit.lower()])


MEMORY_SUMMARY = BlockParser(
    name="torch-memory-summary",
    title="the table of torch.cuda.memory_summary()",
    opens=(_TABLE,),
    starts=lambda line: _TABLE in line.text,
    ends=_ends,
    read=_read,
    emits=("torch.memory_summary", "memory_allocated", "memory_reserved"),
    sample=(
        "|                  PyTorch CUDA memory summary, device ID 2                 |\n"
        "|---------------------------------------------------------------------------|\n"
        "|            CUDA OOMs: 2            |        cudaMalloc retries: 23        |\n"
        "|===========================================================================|\n"
        "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
        "|---------------------------------------------------------------------------|\n"
        "| Allocated memory      |  58204 MiB |  66318 MiB |  71540 GiB |  71483 GiB |\n"
        "|       from large pool |  57911 MiB |  65902 MiB |  69877 GiB |  69820 GiB |\n"
        "|---------------------------------------------------------------------------|\n"
        "| GPU reserved memory   |  77412 MiB |  78644 MiB | 162930 MiB |  85518 MiB |\n"
        "|---------------------------------------------------------------------------|\n"
        "| Non-releasable memory |  18903 MiB |  19220 MiB |  33109 GiB |  33090 GiB |\n"
        "|===========================================================================|\n"
    ),
    maximum=80,
)

PARSERS = (MEMORY_SUMMARY,)
