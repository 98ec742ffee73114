"""Which rank's last NCCL call does not fit its communicator.

==================== =============================================================================
``nccl.call_behind`` The last call of a rank that made fewer calls than all others
``nccl.odd_call``    The last call of a rank that differs from what most ranks called as their call
                     of the same number
==================== =============================================================================

Calls are numbered for each communicator. They come from the trace of collectives
(``NCCL_DEBUG_SUBSYS=COLL``), of which the last call of each rank is kept. ``agree`` counts the
other ranks that stopped at one and the same number, which those of a job that goes on hardly do.
Without the lines of the start a communicator has no name. All processes that trace calls of a
single communicator of one size, and are not more than that size, are then taken for its members;
of these only another operation under the same number counts, and nobody is named. Where the ranks
of the processes are known and that size is more than half of the job, it is one communicator.
Sends and receives are matched by pairs and have no common order; on a communicator that has them
the numbers of the other calls may differ as well, so it is left out.

A report of the RAS service gets the field ``seen``: how many reports so far said the same of its
communicator. The second one shows that nothing moves.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.settings import whole
from diagnose.facts.votes import standing
from diagnose.model.event import Event, Nature, Value

EVENTS = ("nccl.call_behind", "nccl.odd_call")

PAIRWISE = frozenset({"Send", "Recv"})

ARGUMENTS = ("op", "count", "datatype", "reduction", "root")
"""What all ranks must pass alike."""

REPORTED = ("comm", "kind", "operation", "lowest", "highest", "missing", "statuses")

FEWEST = 3
"""Ranks of a communicator, of which one can be odd."""

MOST_BEHIND = 0.25
"""Share of the ranks that may be behind; of four or fewer, one."""

Call = tuple[Value, ...]
Process = tuple[str, int]


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the last calls that do not fit, in the order of communicators and ranks."""
    for members in _groups(events).values():
        if len(members) >= FEWEST:
            yield from _behind(members)
        yield from _odd(members)
    for members, sure in _unnamed(events):
        if sure and len(members) >= FEWEST:
            yield from _behind(members)
        yield from _odd(members)


def count_repeats(events: Sequence[Event]) -> None:
    """Give the reports of the RAS service the field ``seen``, in place."""
    seen: Counter[tuple[str, ...]] = Counter()
    for event in events:
        if event.name == "nccl.ras_report":
            said = tuple(str(event.fields.get(name)) for name in REPORTED)
            seen[said] += 1
            event.fields["seen"] = seen[said]


def _groups(events: Sequence[Event]) -> dict[tuple[int, str], dict[int, Event]]:
    """Return the last call of each rank by attempt and communicator."""
    groups: dict[tuple[int, str], dict[int, Event]] = {}
    pairwise: set[tuple[int, str]] = set()
    for event in events:
        if event.name != "nccl.collective" or event.communicator is None or event.rank is None:
            continue
        group = event.attempt, event.communicator
        if event.fields["op"] in PAIRWISE:
            pairwise.add(group)
        elif isinstance(event.fields.get("op_count"), int):
            groups.setdefault(group, {})[event.rank] = event
    return {group: members for group, members in groups.items() if group not in pairwise}


def _unnamed(events: Sequence[Event]) -> Iterator[tuple[dict[int, Event], bool]]:
    """Yield the last calls of processes whose communicators have no name, by its size.

    Such calls surely belong to one communicator where no second one of the size has room beside it:
    it takes more than half of the largest. Of any others no rank is named.
    """
    sizes = (whole(event.fields.get("nranks")) or 0 for event in events)
    ranks = (event.rank + 1 for event in events if event.rank is not None)
    world = max(max(sizes, default=0), max(ranks, default=0))
    found: dict[tuple[int, int], dict[Process, dict[Value, Event]]] = {}
    for event in events:
        size = event.fields.get("nranks")
        if event.name != "nccl.collective" or event.communicator is not None or event.pid is None:
            continue
        if isinstance(size, int) and isinstance(event.fields.get("op_count"), int):
            process = event.file if event.host is None else event.host, event.pid
            calls = found.setdefault((event.attempt, size), {}).setdefault(process, {})
            calls[event.fields["comm"]] = event
    for (_, size), processes in found.items():
        last = [event for calls in processes.values() for event in calls.values()]
        alone = len(last) == len(processes) <= size
        if not alone or any(event.fields["op"] in PAIRWISE for event in last):
            continue
        named = {event.rank: event for event in last if event.rank is not None}
        if len(named) == len(last) and 2 * size > world:
            yield named, True
        else:
            nobody = (replace(event, rank=None, local_rank=None, host=None) for event in last)
            yield dict(enumerate(nobody)), False


def _behind(members: dict[int, Event]) -> Iterator[Event]:
    counts = {rank: _number(event) for rank, event in members.items()}
    least = min(counts.values())
    last = [rank for rank in sorted(counts) if counts[rank] == least]
    others = Counter(count for count in counts.values() if count != least)
    if not others or len(last) > max(1, int(MOST_BEHIND * len(members))):
        return
    usual, agree = others.most_common(1)[0]
    for rank in last:
        event = members[rank]
        fields = {**event.fields, "usual_count": usual, "behind": usual - least, "agree": agree}
        yield replace(event, name=EVENTS[0], nature=Nature.MEASUREMENT, fields=fields)


def _odd(members: dict[int, Event]) -> Iterator[Event]:
    number, together = Counter(_number(event) for event in members.values()).most_common(1)[0]
    same = {rank: event for rank, event in members.items() if _number(event) == number}
    calls = Counter(_call(event) for event in same.values())
    others = len({event.fields["op"] for event in same.values()}) > 1
    if len(calls) == 1 or (together < FEWEST and not others):
        return
    usual, most = calls.most_common(1)[0]
    odd = [same[rank] for rank in sorted(same) if _call(same[rank]) != usual]
    if 2 * most <= together:
        odd = [replace(odd[0], rank=None, local_rank=None, host=None)]
    sizes = (event.fields.get("nranks") for event in members.values())
    size = max((one for one in sizes if isinstance(one, int)), default=0)
    absent = max(0, size - len(members))
    for event in odd:
        fields = {
            **event.fields, **standing(most, together - most, absent),
            "usual_op": usual[0], "usual_elements": usual[1], "agree": most,
            "differs": "operation" if event.fields["op"] != usual[0] else "arguments",
        }  # fmt: skip
        yield replace(event, name=EVENTS[1], nature=Nature.MEASUREMENT, fields=fields)


def _number(event: Event) -> int:
    number = event.fields["op_count"]
    return number if isinstance(number, int) else 0


def _call(event: Event) -> Call:
    return tuple(
        event.fields.get(name) for name in ("op", "count", "datatype", "reduction", "root")
    )
