"""Benchmarks of communication that came to their end: OSU, Intel MPI and nccl-tests.

::

    # OSU MPI-CUDA Allreduce Latency Test v7.5
    # Size       Avg Latency(us)
    4                       8.91

A benchmark that prints results has communicated, so what its libraries complained of before was
overcome. ``bench.finished`` says which ``program`` it was, with ``reason`` always ``done``; figures of
nccl-tests are events of their own. A check of results that failed is no success.

*Empty*: no benchmark, or one that printed no result. *Cut off*: the rows that are there count.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event

_OSU = LazyPattern(r"^# OSU [\w./ -]{3,60} (?:Test|Latency|Bandwidth)\b")
_OSU_ROW = LazyPattern(r"^\d+\s+\d[\d.]*(?:\s+(?:[\d.]+|Pass))*\s*$")


def _osu_ends(lines: list[Line], following: Line) -> bool:
    text = following.text.strip()
    return bool(text) and not text.startswith("#") and _OSU_ROW.match(text) is None


def _read_osu(lines: list[Line]) -> Iterator[Event]:
    rows = [line for line in lines if _OSU_ROW.match(line.text.strip())]
    if rows:
        fields = {"program": "OSU", "reason": "done"}
        yield make_event("bench.finished", Nature.PROGRESS, rows[-1], fields)


OSU = BlockParser(
    name="osu-benchmarks",
    title="OSU micro-benchmarks that printed results",
    opens=("# OSU ",),
    starts=lambda line: _OSU.match(line.text) is not None,
    ends=_osu_ends,
    read=_read_osu,
    emits=("bench.finished",),
    sample="# OSU MPI-CUDA Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n4                       8.91",
)

ENDS = LineParser(
    name="benchmark-ends",
    title="Intel MPI benchmarks and nccl-tests that ended well",
    patterns=(
        Pattern(
            event="bench.finished",
            regex=r"^# All processes entering MPI_Finalize",
            nature=Nature.PROGRESS,
            source="Intel MPI Benchmarks 2018 to 2021",
            sample="# All processes entering MPI_Finalize",
            constants={"program": "IMB", "reason": "done"},
        ),
        Pattern(
            event="bench.finished",
            regex=r"^# Out of bounds values : 0 OK",
            nature=Nature.PROGRESS,
            source="nccl-tests 2.0 to 2.17, common.cu",
            sample="# Out of bounds values : 0 OK",
            constants={"program": "nccl-tests", "reason": "done"},
        ),
    ),
)

PARSERS = (OSU, ENDS)
