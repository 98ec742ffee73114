"""Which rank waits in another collective than its group, by plain majority.

======================= ==========================================================================
``c10d.odd_collective`` The wait of a rank whose operation or size differs from what most ranks of
                        the group wait in under the same sequence number
======================= ==========================================================================

The lowest rank is no reference: it may be the odd one itself. Without a majority one event
names no rank. Sizes count only where all ranks must pass the same one;
uneven inputs are legitimate in the others, and point-to-point calls have numbers of their own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.model.event import Event, Nature, Value

EVENTS = ("c10d.odd_collective",)

EQUAL_SIZES = frozenset(
    {"ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"}
)
"""Operations that take the same number of elements on all ranks (torch.distributed, c10d Ops)."""

NOT_COLLECTIVE = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN"})
"""Point-to-point calls, and batches of them."""

Call = tuple[Value, Value]
Group = tuple[int, str | None, int]


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the waits that do not fit the group's, in the order of groups and ranks."""
    for members in _groups(events).values():
        yield from _odd_ones(members)


def _groups(events: Sequence[Event]) -> dict[Group, dict[int, Event]]:
    """Return the first wait of each rank by attempt, group and sequence number."""
    groups: dict[Group, dict[int, Event]] = {}
    for event in events:
        seq, op = event.fields.get("seq"), event.fields.get("op")
        if event.name != "c10d.watchdog_timeout" or not isinstance(seq, int):
            continue
        if event.rank is None or op is None or op in NOT_COLLECTIVE or not _knows_group(event):
            continue
        group = event.attempt, event.communicator, seq
        groups.setdefault(group, {}).setdefault(event.rank, event)
    return groups


def _knows_group(event: Event) -> bool:
    """Tell whether the wait belongs to one known group: named, or the default one.

    Without a name, a rank that counts otherwise within its group shows a smaller group, and
    several of them reach the same sequence number.
    """
    return event.communicator is not None or event.fields.get("pg_rank") in (None, event.rank)


def _odd_ones(members: dict[int, Event]) -> Iterator[Event]:
    calls = {rank: _call(event) for rank, event in members.items()}
    if any(size is None and op in EQUAL_SIZES for op, size in calls.values()):
        calls = {rank: (op, None) for rank, (op, _) in calls.items()}  # a line was cut off
    counts = Counter(calls.values())
    if len(counts) == 1:
        return
    (usual, most), *_ = counts.most_common(1)
    found = [_event(members[rank], usual, counts) for rank in sorted(calls) if calls[rank] != usual]
    if 2 * most > len(calls):
        yield from found
    else:
        yield replace(found[0], rank=None, local_rank=None, host=None)


def _call(event: Event) -> Call:
    op = event.fields["op"]
    size = event.fields.get("numel_in", event.fields.get("shape"))
    return op, size if op in EQUAL_SIZES else None


def _event(event: Event, usual: Call, counts: Counter[Call]) -> Event:
    op, numel = event.fields["op"], event.fields.get("numel_in")
    fields: dict[str, Value] = {
        **{name: event.fields[name] for name in ("timeout", "lasted") if name in event.fields},
        "op": op,
        "seq": event.fields["seq"],
        "numel": numel,
        "usual_op": usual[0],
        "usual_numel": usual[1],
        "usual_ranks": counts[usual],
        "differs": "operation" if op != usual[0] else "size",
        "calls": [f"{one} of {size}" if size is not None else str(one) for one, size in counts],
    }
    return replace(event, name=EVENTS[0], nature=Nature.MEASUREMENT, fields=fields, fact=None)
