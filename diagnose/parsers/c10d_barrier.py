r"""gloo's monitoredBarrier: rank 0 says who did not arrive.

Samples::

    [rank0]:[E321 02:07:08.432379535 ProcessGroupGloo.cpp:145] [Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 30000 ms
    [rank0]: RuntimeError: Rank 0 timed out in monitoredBarrier after 30000 ms.
    Successfully processed ranks: 1, 2

Ranks count within the group. Only ``c10d.monitored_barrier`` names the missing. Where rank 0 ran out
of time it had asked the ranks one after the other: ``arrived`` are those it had heard of, and of the
others nothing is known. A rank that got through and lost rank 0 points at rank 0's log.

Empty: no monitored barrier failed. Cut off: the ranks behind the cut are missing.
"""

from collections.abc import Iterable

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers import convert
from diagnose.parsers.base import BlockParser, LineParser, Pattern, Record, make_event
from diagnose.parsers.c10d_group import integers, place_in_group

TIMED_OUT = LazyPattern(
    r"Rank (?P<rank>\d+) timed out in monitoredBarrier after (?P<lasted>\d+) ?ms"
)
ARRIVED = LazyPattern(
    r"(?P<none>No ranks successfully processed in monitoredBarrier)|Successfully processed ranks: (?P<ranks>\d[\d, ]*)"
)


def refine(event: Event, line: Line) -> Event | None:
    """Say whose rank it is."""
    place_in_group(event, line.text)
    return event


def _starts(line: Line) -> bool:
    return TIMED_OUT.search(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    return ARRIVED.search(following.text) is None


def read_timeout(lines: list[Line]) -> Iterable[Record]:
    """Return the timeout of rank 0 with the ranks it had heard of until then."""
    found = TIMED_OUT.search(lines[0].text)
    if found is None:
        return
    said = next((one for line in lines if (one := ARRIVED.search(line.text))), None)
    fields: dict[str, Value] = {
        "pg_rank": int(found["rank"]),
        "lasted": convert.milliseconds(found["lasted"]),
        "arrived": None if said is None else [] if said["none"] else integers(said["ranks"]),
    }
    event = make_event(
        "c10d.monitored_barrier_failed", Nature.EFFECT, lines[0], fields, end_line=lines[-1].number
    )
    place_in_group(event, lines[0].text)
    yield event


PATTERNS = (
    Pattern(
        event="c10d.monitored_barrier",
        regex=r"Ranks? (?P<missing>\d[\d, ]*) failed to pass monitoredBarrier in (?P<lasted>\d+) ms",
        nature=Nature.ERROR,
        source="PyTorch 1.8 to 2.12, ProcessGroupGloo.cpp",
        sample="[rank0]:[E321 02:07:08.432379535 ProcessGroupGloo.cpp:145] [Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 30000 ms",
        types={"missing": integers, "lasted": convert.milliseconds},
    ),
    Pattern(
        event="c10d.monitored_barrier_failed",
        regex=r"Rank (?P<pg_rank>\d+) successfully reached monitoredBarrier, but received errors",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.12, ProcessGroupGloo.cpp",
        sample="RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
        types={"pg_rank": int},
    ),
    Pattern(
        event="c10d.monitored_barrier_failed",
        regex=r"Monitored Barrier encountered error running collective: CollectiveFingerPrint\((?:SequenceNumber=(?P<seq>\d+),? ?)?OpType=(?P<op>[A-Z_]+)",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, ProcessGroupWrapper.cpp, with TORCH_DISTRIBUTED_DEBUG=DETAIL",
        sample="RuntimeError: ProcessGroupWrapper: Monitored Barrier encountered error running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=BROADCAST, TensorShape=[20], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)). Error: ",
        types={"seq": int},
    ),
)

PARSERS = (
    LineParser(
        name="c10d-barrier",
        title="gloo's monitored barrier: who did not arrive",
        patterns=PATTERNS,
        refine=refine,
    ),
    BlockParser(
        name="c10d-barrier-timeout",
        title="gloo's monitored barrier that ran out of time, with the ranks that had arrived",
        opens=("timed out in monitoredBarrier",),
        starts=_starts,
        ends=_ends,
        read=read_timeout,
        emits=("c10d.monitored_barrier_failed",),
        sample="RuntimeError: Rank 0 timed out in monitoredBarrier after 30000 ms.\nSuccessfully processed ranks: 1, 2",
        maximum=2,
    ),
)
