"""OSU micro-benchmarks: bandwidth and latency between two ranks, and collectives by message size.

::

    # OSU MPI-CUDA Bandwidth Test v7.5
    # Datatype: MPI_CHAR.
    # Size      Bandwidth (MB/s)
    4194304             23947.73

A benchmark that prints results has communicated, so what its libraries complained of before was
overcome: ``bench.finished`` says which ``program`` it was, with ``reason`` always ``done``.

Between two ranks a run is one event ``bench.link``: ``tool``, ``operation`` (``mpi``), ``size``, ``gbps`` (Gb/s,
one way; MB are 10^6 bytes and both directions are printed as their sum) or ``latency`` (s). A collective
is one event ``bench.collective`` with ``tool``, ``collective``, ``rows``, ``largest_size`` and ``wrong``: the
program prints no number of ranks, so that no bus bandwidth follows. ``wrong`` counts the rows whose
column ``Validation`` says Fail.

*Empty*: a heading without rows ended early. *Cut off*: the rows that are there count.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.bandwidth.collective import Row, collective_name, measured, telling
from diagnose.parsers.bandwidth.link import link
from diagnose.parsers.base import BlockParser, make_event

_TITLE = LazyPattern(
    r"^# OSU [\w.-]{3,20} ?(?P<what>[\w ./()-]{3,60}?) ?(?P<test>Test|Latency|Bandwidth)\b"
)
_UNIT = LazyPattern(r"^# Size\s.*?(?:(?P<rate>Bandwidth|BW) \(MB/s\)|(?P<delay>Latency) ?\(us\))")
_ROW = LazyPattern(r"^\d+\s+\d[\d.]*(?:\s+(?:[\d.]+|Pass|Fail))*\s*$")


def _ends(lines: list[Line], following: Line) -> bool:
    text = following.text.strip()
    return bool(text) and not text.startswith("#") and _ROW.match(text) is None


def _read(lines: list[Line]) -> Iterator[Event]:
    rows = [line for line in lines if _ROW.match(line.text.strip())]
    title = _TITLE.match(lines[0].text)
    if not rows or title is None:
        return
    done: dict[str, Value] = {"program": "OSU", "reason": "done"}
    yield make_event("bench.finished", Nature.PROGRESS, rows[-1], done)
    what = title["what"].removeprefix("Non-blocking ").removesuffix("Latency").strip()
    unit = next((unit for line in lines if (unit := _UNIT.match(line.text.strip()))), None)
    collective = collective_name(what)
    if collective is not None:
        table = [_row(line) for line in rows]
        fields: dict[str, Value] = {
            "tool": "OSU", "collective": collective, "ranks": None, "nodes": None, "hosts": [],
            "gpus_per_node": None, "gpu_model": None, "avg_busbw": None, **measured(table),
        }  # fmt: skip
        yield make_event("bench.collective", Nature.MEASUREMENT, telling(table, lines[0]), fields)
    elif unit is not None and "Multi" not in what:
        yield _between_two(rows, both="Bi-Directional" in what, rate=unit["rate"] is not None)


def _row(line: Line) -> Row:
    size, *others = line.text.split()
    checked = [other for other in others if other in ("Pass", "Fail")]
    return Row(int(size), None, line, checked.count("Fail") if checked else None)


def _between_two(rows: list[Line], *, both: bool, rate: bool) -> Event:
    """Return the result of the largest message, of latency that of the smallest."""
    line = rows[-1] if rate else rows[0]
    size, value = line.text.split()[:2]
    fields: dict[str, Value] = {"tool": "OSU", "operation": "mpi", "size": int(size)}
    if rate:
        fields["gbps"] = float(value) * 8e-3 / (2 if both else 1)
        fields["bidirectional"] = both
    else:
        fields["latency"] = float(value) * 1e-6
    return link(line, fields)


OSU = BlockParser(
    name="osu-benchmarks",
    title="OSU micro-benchmarks: two ranks, and collectives",
    opens=("# OSU ",),
    starts=lambda line: _TITLE.match(line.text) is not None,
    ends=_ends,
    read=_read,
    emits=("bench.finished", "bench.link", "bench.collective"),
    sample="# OSU MPI-CUDA Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n4                       8.91",
)

PARSERS = (OSU,)
