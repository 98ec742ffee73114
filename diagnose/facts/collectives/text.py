"""The picture that log lines give: the timeouts of the watchdog and the counters beside them.

A line names its group from 2.3 on and none before. A rank that prints a timeout waits; its
counters, or else the number it waits in, tell how far it got. The counters that a rank prints with
a dump signal are those of the group it belongs to first, so they count for that group alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from diagnose.facts.collectives.state import (
    NOT_COLLECTIVE,
    Call,
    Group,
    Member,
    Picture,
    Rank,
    whole_number,
)
from diagnose.model.event import Event, Value

WAIT, COUNTERS = "c10d.watchdog_timeout", "c10d.progress"

SIGNALS = frozenset({"c10d.dump_signal_observed", "c10d.dump_signal_sent"})
"""Events whose lines print counters of the moment in which the job had stopped."""

DEFAULT = frozenset({"0", "default_pg"})
"""Names of the group that spans the world."""

Key = tuple[str | None, bool]
"""Name of a group, and whether its numbers can be compared over ranks."""


@dataclass(slots=True)
class _Said:
    """What one rank printed of one group."""

    counters: Event | None = None
    waits: dict[int, Event] = field(default_factory=dict)


def add_text(events: Sequence[Event], world_size: int | None, picture: Picture) -> None:
    """Add what log lines of one attempt say of ranks that left no dump.

    Args:
        events: Of the attempt.
        world_size: Ranks of the job, if known.
        picture: Changed in place; dumps are in it already.
    """
    groups: dict[Key, Group] = {}
    for (rank, key), said in _said(events).items():
        if rank in picture.ranks and picture.ranks[rank].basis == "dumps":
            continue
        name, comparable = key
        group = _dumped(picture, rank, name) if comparable else None
        if group is None:
            group = groups.setdefault(key, Group(name, p2p=not comparable))
        member = _member(rank, group, said)
        if member is not None:
            group.members[rank] = member
            picture.ranks.setdefault(rank, Rank(rank, "text", member.event)).members.append(member)
    for (name, comparable), group in groups.items():
        if name in DEFAULT and comparable and world_size:
            group.ranks = frozenset(range(world_size))
    picture.groups.extend(group for group in groups.values() if group.members)


def _dumped(picture: Picture, rank: int, name: str | None) -> Group | None:
    """Return the group of that name that dumps of other ranks describe."""
    found = (one for one in picture.groups if one.name == name and rank in one.ranks)
    return next(found, None) if name is not None else None


def _said(events: Sequence[Event]) -> dict[tuple[int, Key], _Said]:
    stopped = {(event.file, event.line) for event in events if event.name in SIGNALS}
    said: dict[tuple[int, Key], _Said] = {}
    names = _names(events)
    rest = _rest(events, names)
    for event in events:
        if event.rank is None or event.name not in (WAIT, COUNTERS):
            continue
        seq, op = event.fields.get("seq"), event.fields.get("op")
        named = event.communicator or names.get((event.rank, seq))
        # Without a name, a rank that counts otherwise within its group shows a smaller group, and
        # several of them reach the same number.
        alike = named is not None or event.fields.get("pg_rank") in (None, event.rank)
        numbered = isinstance(seq, int) or event.name == COUNTERS
        comparable = alike and numbered and op not in NOT_COLLECTIVE
        one = said.setdefault((event.rank, (named or rest, comparable)), _Said())
        if event.name == WAIT:
            one.waits.setdefault(seq if isinstance(seq, int) else 0, event)
        elif isinstance(seq, int) or (event.file, event.line) in stopped:
            # Counters printed now and then while all is well say nothing of the stop.
            one.counters = event
    return said


def _names(events: Iterable[Event]) -> dict[tuple[int | None, Value], str]:
    """Return the group of each rank and call that counters of a failure name.

    The timeout above them does not, before 2.4.
    """
    return {
        (event.rank, event.fields["seq"]): event.communicator
        for event in events
        if event.name == COUNTERS and "seq" in event.fields and event.communicator is not None
    }


def _rest(events: Iterable[Event], names: Mapping[tuple[int | None, Value], str]) -> str | None:
    """Return the group of timeouts that nothing names: that of all ranks, if no other is known."""
    if not DEFAULT.issuperset(names.values()):
        return None
    found = (one.communicator for one in events if one.name == COUNTERS)
    return next((name for name in found if name in DEFAULT), None)


def _member(rank: int, group: Group, said: _Said) -> Member | None:
    seq = min(said.waits, default=None)
    wait = said.waits[seq] if seq is not None else None
    event = wait or said.counters
    if event is None:
        return None
    counted = said.counters.fields if said.counters else {}
    enqueued, completed = (
        whole_number(counted.get(f"last_{what}")) for what in ("enqueued", "completed")
    )
    calls = {number: _call(number, one) for number, one in said.waits.items()}
    member = Member(rank, group, "text", event, enqueued, completed, calls=calls)
    if seq is not None:
        member.oldest = calls[seq]
        member.enqueued = max(seq, -1 if enqueued is None else enqueued)
        member.completed = min(seq - 1, seq - 1 if completed is None else completed)
    elif enqueued is not None and completed is not None and enqueued > completed:
        member.oldest = Call(completed + 1, "UNKNOWN")
    return member


def _call(seq: int, wait: Event) -> Call:
    size = wait.fields.get("numel_in", wait.fields.get("shape"))
    onset = wait.onset
    return Call(
        seq,
        str(wait.fields.get("op")),
        size if isinstance(size, int | str) else None,
        place=0.0 if onset is None else onset,
    )
