r"""What PyTorch's own checks say of ranks that do not agree: desync report and fingerprints.

Samples::

    \t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
    \t     [7] finished collective #182, but didn't join collective #183 (count from 1)
    RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=BROADCAST, ...), but Rank 0 is running ...

The report appears with ``TORCH_NCCL_DESYNC_DEBUG=1``, the fingerprints with
``TORCH_DISTRIBUTED_DEBUG=DETAIL``. Ranks count within the process group and are taken for global
ones, as no group is named. The number behind ``#`` counts collectives on the store and differs from
``SeqNum``. The snapshot at the end of the report lists the last call of all ranks; two operations
under one number are ``c10d.desync_mismatch``. A rank compares itself with the first that differs, so the odd one out is the minority of
all mismatch events, not the one that a single line blames.

Empty: the checks were off. Cut off: a rank list without its state gives nothing.
"""

from collections.abc import Iterable
from re import Match

import regex

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, Record, make_event
from diagnose.parsers.c10d_group import integers

FINGERPRINT = LazyPattern(
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


SNAPSHOT = "Snapshot of ranks' latest states"
STATE = LazyPattern(r"^\s*#(?P<number>\d+) (?P<state>started|finished) ranks:\s*$")
CALL = LazyPattern(r"^\s*\[(?P<ranks>[\d, ]+)\] (?P<state>started|finished) (?P<op>\w+)\s*$")


def refine(event: Event, line: Line) -> Event | None:
    """Read the two fingerprints of a mismatch."""
    return _compared(event, list(FINGERPRINT.finditer(line.text)))


def _compared(event: Event, found_ranks: list[Match[str]]) -> Event:
    mine, *others = found_ranks
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


MISMATCH = "Detected mismatch between collectives on ranks"
CALLED = LazyPattern(
    r"\b[Rr]ank (?P<rank>\d+)(?: is running (?:inconsistent )?collective)?:?\s+(?:CollectiveFingerPrint\()?"
    r"(?:SequenceNumber=(?P<seq>\d+),? ?)?(?:OpType=)?(?P<op>_?[A-Z][A-Z0-9_]{3,})\b"
    r"(?:, TensorShape=\[(?P<shape>[^\]]*)\])?(?:, TensorDtypes=(?P<dtype>\w+))?"
)
"""A fingerprint, whole or shortened by who copied it."""

MISMATCH_LINES = 12
"""Lines over which the two fingerprints are spread at most."""


def _mismatch_starts(line: Line) -> bool:
    return MISMATCH in line.text and FINGERPRINT.search(line.text) is None


def _mismatch_ends(lines: list[Line], following: Line) -> bool:
    text = following.text
    if "Traceback (" in text or MISMATCH in text:
        return True
    return not text.strip() and len(_called(lines)) > 1


def _called(lines: list[Line]) -> list[Match[str]]:
    return list(CALLED.finditer(" ".join(line.text.strip() for line in lines)))


def read_mismatch(lines: list[Line]) -> Iterable[Record]:
    """Return the mismatch whose ranks stand on lines of their own."""
    found = _called(lines)
    if len(found) > 1:
        last = max(line.number for line in lines if CALLED.search(line.text) or line is lines[0])
        event = make_event("c10d.mismatch", Nature.ERROR, lines[0], {}, end_line=last)
        yield _compared(event, found)


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


def _snapshot_starts(line: Line) -> bool:
    return SNAPSHOT in line.text


def _snapshot_ends(lines: list[Line], following: Line) -> bool:
    return not (STATE.match(following.text) or CALL.match(following.text))


def read_snapshot(lines: list[Line]) -> Iterable[Record]:
    """Return the last call of the ranks, and where one number has two operations.

    ``odd`` are the ranks whose operation fewer than half of those under the number called.
    """
    number = None
    calls: dict[int, dict[str, list[Value]]] = {}
    for line in lines[1:]:
        if found := STATE.match(line.text):
            number = int(found["number"])
            continue
        if number is None or (found := CALL.match(line.text)) is None:
            continue
        ranks = integers(found["ranks"])
        fields: dict[str, Value] = {
            "number": number, "state": found["state"], "op": found["op"], "ranks": ranks
        }  # fmt: skip
        yield make_event("c10d.desync_state", Nature.MEASUREMENT, line, fields)
        if isinstance(ranks, list):
            calls.setdefault(number, {}).setdefault(found["op"], []).extend(ranks)
    for shared, by_op in calls.items():
        if len(by_op) > 1:
            total = sum(map(len, by_op.values()))
            odd = [rank for ranks in by_op.values() if 2 * len(ranks) < total for rank in ranks]
            usual = [op for op, ranks in by_op.items() if 2 * len(ranks) > total]
            fields = {
                "number": shared, "ops": list(by_op), "usual_op": usual[0] if usual else None,
                "odd": odd if usual else [],
            }  # fmt: skip
            yield make_event(
                "c10d.desync_mismatch", Nature.ERROR, lines[0], fields, end_line=lines[-1].number
            )


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

JOIN = (
    Pattern(
        event="c10d.uneven_inputs",
        regex=r"Detected uneven input skew of greater than \d+\. This means that rank (?P<rank>\d+) has at least (?P<fewer>\d+) fewer inputs",
        nature=Nature.ERROR,
        source="PyTorch 1.7 to 2.12, algorithms/join.py, nn/parallel/distributed.py before 1.10",
        sample="UserWarning: Detected uneven input skew of greater than 1000. This means that rank 3 has at least 1000 fewer inputs than other currently-active ranks.",
        types={"rank": int, "fewer": int},
    ),
    Pattern(
        event="c10d.uneven_inputs",
        regex=r"Detected at least one rank that exhausted inputs\. Throwing across all ranks",
        nature=Nature.ERROR,
        source="PyTorch 1.9 to 2.12, algorithms/join.py, with throw_on_early_termination",
        sample="RuntimeError: Detected at least one rank that exhausted inputs. Throwing across all ranks.",
    ),
)

PARSERS = (
    LineParser(
        name="c10d-join",
        title="PyTorch's Join: ranks with fewer inputs than others",
        patterns=JOIN,
    ),
    LineParser(
        name="c10d-fingerprints",
        title="PyTorch's check that all ranks call the same collective",
        patterns=PATTERNS,
        refine=refine,
    ),
    BlockParser(
        name="c10d-fingerprint-lines",
        title="the same check, with the ranks on lines of their own",
        opens=(MISMATCH,),
        starts=_mismatch_starts,
        ends=_mismatch_ends,
        read=read_mismatch,
        emits=("c10d.mismatch",),
        sample="""RuntimeError: Detected mismatch between collectives on ranks.
Rank 3: ALLREDUCE, TensorShape=[20]
Rank 0: BROADCAST, TensorShape=[10]""",
        maximum=MISMATCH_LINES,
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
    BlockParser(
        name="c10d-desync-snapshot",
        title="PyTorch's desync report: the last call of each rank",
        opens=(SNAPSHOT,),
        starts=_snapshot_starts,
        ends=_snapshot_ends,
        read=read_snapshot,
        emits=("c10d.desync_state", "c10d.desync_mismatch"),
        sample="""\t - Snapshot of ranks' latest states:
\t   #315 started ranks:
\t     [0, 1, 2] started ALLREDUCE
\t     [3] started BROADCAST""",
        maximum=2000,
    ),
)
