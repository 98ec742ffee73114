"""Tables of collectives that other programs than nccl-tests print.

``all_reduce_bench.py`` of the ml-engineering book::

    - hardware: _CudaDeviceProperties(name='NVIDIA H100 80GB HBM3', major=9, ...)
    The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):
    | payload |    busbw   |    algbw   |
    | ------: | ---------: | ---------: |
    |    1GiB | 463.58GBps | 264.90GBps |

HCCL test on Ascend, where only the algorithm bandwidth is printed::

    data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:
    1073741824        | 7200.10        | 149.12                | success

nccom-test on Trainium, whose GB are 2^30 bytes, and others that name the unit in the heading::

    size(B)    count(elems)    type    time(us)    algbw(GB/s)    busbw(GB/s)
    1073741824    536870912    bf16    8123.1    132.18    256.10

Each table is one event ``bench.collective`` with ``tool``, ``collective``, ``ranks``, ``gpu_model`` and the
figures that ``nccl_tests.result`` has; hosts are not printed. ``wrong`` counts the rows whose check
failed. *Empty*: a heading without rows: ``rows`` is 0. *Cut off*: the rows that are there count.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.bandwidth.collective import Row, collective_name, measured, telling
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import size

_MODEL = LazyPattern(r"^- hardware: _CudaDeviceProperties\(name='([^']+)'")
_OVER = LazyPattern(r"bandwidth of (\w+) over (\d+) ranks")
_HEADING = LazyPattern(
    r"^\|\s*payload\s*\|\s*busbw\s*\|"
    r"|^data_size\(Bytes\):\s*\|"
    r"|^#?\s*size ?\(B\)\s+count.*\balgbw ?\(GB/s\)\s+busbw ?\(GB/s\)"
)
_CELL = LazyPattern(r"[|\s]+")
_FIGURE = LazyPattern(r"^(\d[\d.]*(?:e[+-]?\d+)?)(?:GBps)?$")


_TOOLS = {"payload": ("all_reduce_bench.py", "all_reduce"), "data_size": ("HCCL test", None)}
"""Programs by their first column, and the collective of those that have only one."""


def _starts(line: Line) -> bool:
    return any(one.search(line.text) for one in (_MODEL, _OVER, _HEADING))


def _ends(lines: list[Line], following: Line) -> bool:
    if not any(_HEADING.match(line.text) for line in lines):
        return _OVER.search(following.text) is not None and any(
            _OVER.search(line.text) for line in lines
        )
    text = following.text.strip()
    return bool(text) and re.match(r"[|\d]", text) is None


def _columns(heading: str) -> list[str]:
    """Return what the columns hold, units and colons left off."""
    bare = re.sub(r"\([^)]*\)|:", "", heading.strip("# "))
    return [one for one in _CELL.split(bare) if one]


def _read(lines: list[Line]) -> Iterator[Event]:
    place = next((at for at, line in enumerate(lines) if _HEADING.match(line.text)), None)
    if place is None:
        return
    columns = _columns(lines[place].text)
    rows = [row for line in lines[place + 1 :] if (row := _row(columns, line)) is not None]
    head = "\n".join(line.text for line in lines[:place])
    over, model = _OVER.search(head), re.search(_MODEL.pattern, head, re.MULTILINE)
    tool, only = _TOOLS.get(columns[0], ("nccom-test", None))
    fields: dict[str, Value] = {
        "tool": tool, "collective": collective_name(over[1]) if over else only,
        "ranks": int(over[2]) if over else None, "nodes": None, "hosts": [], "gpus_per_node": None,
        "gpu_model": model[1] if model else None, "avg_busbw": None, **measured(rows),
    }  # fmt: skip
    yield make_event("bench.collective", Nature.MEASUREMENT, telling(rows, lines[place]), fields)


def _row(columns: list[str], line: Line) -> Row | None:
    cells = [one for one in _CELL.split(line.text.strip()) if one]
    if len(cells) < len(columns):
        return None
    told = dict(zip(columns, cells, strict=False))
    try:
        bytes_ = size(cells[0])
    except ValueError:
        return None
    check = told.get("check_result")
    wrong = None if check in (None, "NULL") else int(check != "success")
    algorithm = _figure(told.get("algbw") or told.get("alg_bandwidth"))
    return Row(bytes_, _figure(told.get("busbw")), line, wrong, algorithm or 0.0)


def _figure(text: str | None) -> float | None:
    found = _FIGURE.match(text) if text else None
    return float(found[1]) if found else None


TABLES = BlockParser(
    name="collective-tables",
    title="all_reduce_bench.py, HCCL test and nccom-test: bandwidth by message size",
    opens=("- hardware: _Cuda", "bandwidth of ", "busbw", "data_size(Bytes):"),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("bench.collective",),
    sample=(
        "The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):\n"
        "\n"
        "| payload |    busbw   |    algbw   |\n"
        "| ------: | ---------: | ---------: |\n"
        "|    1GiB | 463.58GBps | 264.90GBps |\n"
    ),
)

PARSERS = (TABLES,)
