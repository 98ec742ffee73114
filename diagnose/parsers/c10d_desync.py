r"""What PyTorch's own checks say of ranks that do not agree: desync report and fingerprints.

Samples::

    \t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
    \t     [7] finished collective #182, but didn't join collective #183 (count from 1)
    RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=BROADCAST, ...), but Rank 0 is running ...

The report appears with ``TORCH_NCCL_DESYNC_DEBUG=1``, the fingerprints with
``TORCH_DISTRIBUTED_DEBUG=DETAIL``. Ranks count within the process group and are taken for global
ones, as no group is named. The number behind ``#`` counts collectives on the store and differs from
``SeqNum``. A rank compares itself with the first that differs, so the odd one out is the minority of
all mismatch events, not the one that a single line blames.

Empty: the checks were off. Cut off: a rank list without its state gives nothing.
"""

from collections.abc import Iterable

import regex

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, Record, make_event

FINGERPRINT = regex.compile(
    r"Rank (?P<rank>\d+) is running (?:inconsistent )?collective: CollectiveFingerPrint\("
    r"(?:SequenceNumber=(?P<seq>\d+),? ?)?OpType=(?P<op>[A-Z_]+)"
    r"(?:, TensorShape=\[(?P<shape>[^\]]*)\])?(?:, TensorDtypes=(?P<dtype>\w+))?"
)

DESYNC_RANKS = 512
"""Ranks of one line of the desync report at most."""

DESYNC = regex.compile(
    r"ranks \[(?P<never>[\d, ]+)\] are the lagging ranks|\[(?P<ranks>[\d, ]+)\] (?:"
    r"finished collective #(?P<finished>\d+), but didn't join collective #(?P<missing>\d+)"
    r"|joined but didn't finish collective #(?P<joined>\d+))"
)


def integers(text: str) -> Value:
    """Return the numbers in ``0, 1, 2``."""
    return [int(number) for number in regex.findall(r"\d+", text)]


def refine(event: Event, line: Line) -> Event | None:
    """Read the two fingerprints of a mismatch."""
    mine, *others = FINGERPRINT.finditer(line.text)
    event.fields["pg_rank"] = int(mine["rank"])
    if event.rank is None:
        event.rank = int(mine["rank"])
    for prefix, found in (("", mine), *(("other_", other) for other in others[:1])):
        event.fields[f"{prefix}op"] = found["op"]
        event.fields[f"{prefix}shape"] = found["shape"]
        event.fields[f"{prefix}dtype"] = found["dtype"]
        event.fields[f"{prefix}seq"] = int(found["seq"]) if found["seq"] else None
        if prefix:
            event.fields["other_rank"] = int(found["rank"])
    return event


def _desync_starts(line: Line) -> bool:
    return DESYNC.search(line.text) is not None


def _one_line(lines: list[Line], following: Line) -> bool:
    return True


def read_desync(lines: list[Line]) -> Iterable[Record]:
    """Return an event for each rank that a line of the desync report names."""
    found = DESYNC.search(lines[0].text)
    if found is None:
        return
    ranks = integers(found["never"] or found["ranks"])
    state = (
        "never-joined" if found["never"] else "not-joined" if found["missing"] else "not-finished"
    )
    fields: dict[str, Value] = {"state": state, "ranks": ranks}
    for name in ("finished", "missing", "joined"):
        if found[name]:
            fields[name] = int(found[name])
    for rank in ranks[:DESYNC_RANKS] if isinstance(ranks, list) else ():
        named: dict[str, Value] = {**fields, "rank": rank, "pg_rank": rank}
        yield make_event("c10d.desync_rank", Nature.ERROR, lines[0], named)


PATTERNS = (
    Pattern(
        event="c10d.mismatch",
        regex=r"Detected mismatch between collectives on ranks\. Rank \d+ is running (?:inconsistent )?collective: CollectiveFingerPrint\((?:SequenceNumber=\d+,? ?)?OpType=[A-Z_]+",
        literals=("Detected mismatch between collectives on ranks",),
        nature=Nature.ERROR,
        source="PyTorch 1.9 to 2.12, ProcessGroupWrapper.cpp, with TORCH_DISTRIBUTED_DEBUG=DETAIL",
        sample="RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=BROADCAST, TensorShape=[20], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)), but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=5, OpType=ALLREDUCE, TensorShape=[10], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)).Collectives differ in the following aspects: ",
    ),
)

PARSERS = (
    LineParser(
        name="c10d-fingerprints",
        title="PyTorch's check that all ranks call the same collective",
        patterns=PATTERNS,
        refine=refine,
    ),
    BlockParser(
        name="c10d-desync",
        title="PyTorch's desync report: which ranks lag behind",
        opens=("are the lagging ranks", "didn't join collective #", "didn't finish collective #"),
        starts=_desync_starts,
        ends=_one_line,
        read=read_desync,
        emits=("c10d.desync_rank",),
        sample="\t     [7] finished collective #182, but didn't join collective #183 (count from 1)",
        maximum=1,
    ),
)
