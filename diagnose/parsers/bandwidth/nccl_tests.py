"""Bandwidth tables of nccl-tests (and rccl-tests): one event a run.

::

    # nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907
    # Collective test starting: all_reduce_perf
    # nThread 1 nGpus 8 minBytes 8388608 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20
    #  Rank  0 Group  0 Pid  81234 on     node-17 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
    #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
      1073741824     268435456     float     sum      -1  4051.60  265.02  463.78       0  4049.20  265.17  464.05       0
    # Out of bounds values : 0 OK
    # Avg bus bandwidth    : 365.967

The columns are taken from the heading: releases before 2.13 call the last one ``error`` and print a
floating-point difference there, ``root`` came later; ``-I 1`` adds ``i_min`` to ``i_cv%`` behind each half,
``-C`` says ``cputime``, a time stamp may close the row, and ``-c 0`` prints ``N/A`` for ``#wrong``.
``nccl_tests.result`` has ``tool``, ``collective``, ``ranks``, ``nodes``, ``hosts``, ``gpus_per_node``, ``gpu_model``,
``largest_size`` (bytes), ``peak_busbw``, ``plateau_busbw`` and ``avg_busbw`` (GB/s, 10^9 bytes),
``plateau_size``, ``wrong``, and ``sizes`` with ``busbws``: the out-of-place rows. ``verdict`` is the ``OK`` or
``FAILED`` behind the average where NCCL_TESTS_MIN_BW is set, ``reduced_to`` the largest message (bytes)
that fits the memory of the GPUs, ``headed`` whether the heading of the table was reached, and ``alone`` how
many processes call themselves rank 0: over 1 where
the program was built without MPI, so that each of them tests itself.

The plateau is the best out-of-place row of 1 GiB and more, else of 256 MiB and more, where
``plateau_size`` tells which; without such a row it is None, since smaller messages say nothing about
a link. The average that the program prints is over all sizes from a few bytes on and is no measure.
The event stands at the row that decides: the first wrong one, else the one of the plateau.
``wrong`` counts results that differ from the expected ones: damaged data, whatever the bandwidth.

*Empty*: devices or a heading without rows is a test that hung or failed while connecting: ``rows`` is 0.
*Cut off*: the rows that are there count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.bandwidth.collective import Row, collective_name, measured, telling
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import short_host

_STARTING = LazyPattern(r"# Collective test starting: (\w+?)(?:_perf(?:_mpi)?)?\s*$")
_PARAMETERS = LazyPattern(r"# nThread \d+ nGpus (\d+) ")
_DEVICES = LazyPattern(r"^# Using devices\s*$")
_VERSION = LazyPattern(r"# (nccl|rccl)-tests(?: version|: )")
_COMMAND = LazyPattern(
    r"\b(all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|reduce|sendrecv|gather|scatter|hypercube)_perf\b"
)
_RANK = LazyPattern(
    r"^#\s+Rank\s+(\d+)(?:\s+Group\s+\d+)?\s+Pid\s+(\d+) on\s+(\S+)\s+device\s+\d+ \[[^\]]+\] (.*?)\s*$"
)
_HEADING = LazyPattern(r"^#?\s*size\s+count\b.*\balgbw\s+busbw\b")
_ROW = LazyPattern(r"^\s*\d+\s+\d+\s+[a-z]\w+\s+\w+\s+-?[\d.]")
_AVERAGE = LazyPattern(r"# Avg bus bandwidth\s*: ([\d.]+(?:e[+-]?\d+)?)\s*(OK|FAILED)?")
_BOUNDS = LazyPattern(r"# Out of bounds values\s*: (\d+)")
_REDUCED = LazyPattern(r"Reducing maxBytes to (\d+) due to memory limitation")

_WITH_ROOT = ["size", "count", "type", "redop", "root", *(["time", "algbw", "busbw", "#wrong"] * 2)]
_WITHOUT_ROOT = [name for name in _WITH_ROOT if name != "root"]


@dataclass(slots=True)
class _Run:
    tool: str = "nccl-tests"
    collective: str | None = None
    gpus: int | None = None
    ranks: dict[int, tuple[str, str]] = field(default_factory=dict)
    first_pids: set[tuple[str, str]] = field(default_factory=set)
    columns: list[str] | None = None
    rows: list[Row] = field(default_factory=list)
    out_of_bounds: int | None = None
    average: float | None = None
    verdict: str | None = None
    reduced_to: int | None = None
    redop: str | None = None


def _starts(line: Line) -> bool:
    return any(
        pattern.search(line.text) is not None
        for pattern in (_STARTING, _PARAMETERS, _DEVICES, _HEADING)
    )


def _ends(lines: list[Line], following: Line) -> bool:
    if _AVERAGE.search(lines[-1].text) or _STARTING.search(following.text):
        return True
    if _PARAMETERS.search(following.text) is None:
        return False
    return any(_PARAMETERS.search(line.text) or _ROW.match(line.text) for line in lines)


def _gather(lines: list[Line]) -> _Run:
    run = _Run()
    for line in lines:
        text = line.text
        if _ROW.match(text):
            _add_row(run, line)
        elif rank := _RANK.match(text):
            host = short_host(rank[3])
            run.ranks[int(rank[1])] = host, rank[4]
            if rank[1] == "0":
                run.first_pids.add((host, rank[2]))
        elif _HEADING.match(text):
            run.columns = text.lstrip("# ").split()
        elif found := _AVERAGE.search(text):
            run.average, run.verdict = float(found[1]), found[2]
        elif found := _BOUNDS.search(text):
            run.out_of_bounds = int(found[1])
        elif found := _REDUCED.search(text):
            run.reduced_to = int(found[1])
        elif found := _STARTING.search(text) or _COMMAND.search(text):
            run.collective = found[1]
        elif found := _PARAMETERS.search(text):
            run.gpus = int(found[1])
        elif found := _VERSION.search(text):
            run.tool = f"{found[1]}-tests"
    return run


def _add_row(run: _Run, line: Line) -> None:
    values = line.text.split()
    columns = run.columns
    if columns is None or len(values) < len(columns):
        columns = _WITH_ROOT if len(values) >= len(_WITH_ROOT) else _WITHOUT_ROOT
    if len(values) < len(columns):
        return  # cut off
    place = columns.index("busbw")
    algbw, busbw = float(values[place - 1]), float(values[place])
    run.rows.append(Row(int(values[0]), busbw, line, _wrong(columns, values), algbw))
    run.redop = values[columns.index("redop")] if "redop" in columns else None


def _wrong(columns: list[str], values: list[str]) -> int | None:
    """Return the wrong results of both halves, None where both say ``N/A``."""
    counts = [
        int(float(value))  # large ones are printed as 1e+06
        for name, value in zip(columns, values, strict=False)
        if name == "#wrong" and value[0].isdigit()
    ]
    return sum(counts) if counts else None


def _collective(run: _Run, ranks: int | None) -> str | None:
    """Return the collective by the ratio of the two bandwidths, where no line names it."""
    if run.collective is not None or not run.rows or ranks is None or ranks < 3:
        return run.collective and collective_name(run.collective)
    largest = max(run.rows, key=lambda row: row.size)
    factor = (largest.busbw or 0.0) / largest.algbw if largest.algbw else 0.0
    if abs(factor - 2 * (ranks - 1) / ranks) < 0.03:
        return "all_reduce"
    if abs(factor - (ranks - 1) / ranks) < 0.03:
        return "reduce_scatter" if run.redop == "sum" else "all_gather"
    return None


def _read(lines: list[Line]) -> Iterator[Event]:
    run = _gather(lines)
    if not run.rows and not run.ranks and run.columns is None:
        return  # its parameters alone: the rest is another process's
    hosts = sorted({host for host, _ in run.ranks.values()})
    ranks = len(run.ranks) or None
    models = {model for _, model in run.ranks.values() if model}
    fields: dict[str, Value] = {
        "tool": run.tool,
        "collective": _collective(run, ranks),
        "ranks": ranks,
        "nodes": len(hosts) or None,
        "hosts": list(hosts),
        "gpus_per_node": ranks // len(hosts) if ranks else run.gpus,
        "gpu_model": next(iter(models)) if len(models) == 1 else None,
        "avg_busbw": run.average,
        "verdict": run.verdict,
        "reduced_to": run.reduced_to,
        "alone": len(run.first_pids) or None,
        "headed": run.columns is not None,
        **measured(run.rows),
    }
    if not fields["wrong"] and run.out_of_bounds is not None:
        fields["wrong"] = run.out_of_bounds
    if len(hosts) == 1 and not re.match(r"localhost|hostname$", hosts[0]):
        fields["host"] = hosts[0]
    event = make_event("nccl_tests.result", Nature.MEASUREMENT, telling(run.rows, lines[0]), fields)
    if len(hosts) > 1:
        event.host = None  # whatever the file is called
    yield event


RESULT = BlockParser(
    name="nccl-tests",
    title="nccl-tests and rccl-tests: bus bandwidth by message size",
    opens=("# Collective test starting", "# nThread ", "# Using devices", "algbw   busbw"),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("nccl_tests.result",),
    sample=(
        "# nThread 1 nGpus 8 minBytes 8388608 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20\n"
        "#\n"
        "# Using devices\n"
        "#  Rank  0 Group  0 Pid  81234 on     node-17 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
        "#  Rank  1 Group  0 Pid  81234 on     node-17 device  1 [0000:43:00] NVIDIA H100 80GB HBM3\n"
        "#\n"
        "#                                                              out-of-place                       in-place\n"
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n"
        "  1073741824     268435456     float     sum      -1  4051.60  265.02  265.02       0  4049.20  265.17  265.17       0\n"
        "# Out of bounds values : 0 OK\n"
        "# Avg bus bandwidth    : 265.02\n"
    ),
    maximum=4000,
)

PARSERS = (RESULT,)
