"""Ranks whose program never made the call that others wait in."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnose.facts.collectives.report import Ranks, event, ranks_of
from diagnose.facts.collectives.state import Group, Member, Picture, Rank, at
from diagnose.facts.collectives.waits import Wait, all_late
from diagnose.model.event import Event, Value


@dataclass(frozen=True, slots=True)
class _Missed:
    """Those who wait in one group for a rank, and for all others that stand where it does.

    Args:
        first: Of them.
        peers: All of them.
        places: Calls that they wait in.
    """

    first: Member
    peers: Ranks
    places: int


def never_entered(picture: Picture, graph: Mapping[int, Wait]) -> Iterator[Event]:
    """Yield the ranks with nothing pending that others wait for.

    If the first wait of others is for some of them, they come before those that are only late for
    what others have queued up behind it. Where no group that waits is known to be theirs, ranks
    whose log lines show nothing pending are named with ``matched`` false.
    """
    idle = [rank for rank in picture.ranks.values() if rank.oldest is None]
    first = all_late(graph.values())
    direct = [rank for rank in idle if rank.number in first]
    found = _missed(direct or idle, picture, first_only=bool(direct))
    matched = bool(found)
    if not matched:
        # The counters that a rank prints with a dump signal are of its first group alone.
        everyone = _together([wait.member for wait in graph.values()])
        found = {rank.number: everyone for rank in idle if rank.basis == "text"}
    named = ranks_of(found)
    for number, missed in found.items():
        rank, wait = picture.ranks[number], missed.first
        mine = wait.group.members.get(number)
        own = mine or next((one for one in rank.members if one.enqueued is not None), None)
        more: dict[str, Value] = {
            "enqueued": own.enqueued if own else None,
            "completed": own.completed if own else None,
            "counted": _name(own) if own is not None and own is not mine else None,
            "places": missed.places,
            "matched": matched,
            "went": rank.event.fields.get("last_site"),
            "went_op": rank.event.fields.get("last_op"),
        }
        about = mine.event if mine else rank.event
        yield event(
            "collective.never_entered", about, wait, named, missed.peers, more,
            known=len(picture.ranks),
        )  # fmt: skip


def _name(member: Member) -> Value:
    """Return what the group of a member is for, as dumps or its own line say, else its name."""
    group = member.group
    return group.desc or member.event.fields.get("group") or group.name


def behind(picture: Picture, graph: Mapping[int, Wait]) -> Iterator[Event]:
    """Yield the ranks that others wait for and that wait for nobody, with something pending."""
    waiting = [wait for wait in graph.values() if not wait.member.group.p2p]
    late = {
        rank
        for rank in all_late(waiting) & graph.keys()
        if not (graph[rank].late or graph[rank].absent or graph[rank].blind)
    }
    named = ranks_of(late)
    for rank, missed in sorted(_late_for(late, waiting).items()):
        wait = missed.first
        mine, stands = wait.group.members[rank], graph[rank].member
        more: dict[str, Value] = {
            "enqueued": mine.enqueued,
            "completed": mine.completed,
            "went": stands.site,
            "went_op": stands.oldest.op if stands.oldest else None,
        }
        yield event(
            "collective.behind", mine.event, wait, named, missed.peers, more,
            known=len(picture.ranks),
        )  # fmt: skip


def _late_for(late: Iterable[int], waiting: Iterable[Wait]) -> dict[int, _Missed]:
    """Return who waits for each of some ranks."""
    waits: dict[frozenset[int], list[Member]] = {}
    for wait in waiting:
        waits.setdefault(wait.late, []).append(wait.member)
    sets_of: dict[int, list[frozenset[int]]] = {rank: [] for rank in late}
    for ranks in waits:
        for rank in ranks & sets_of.keys():
            sets_of[rank].append(ranks)
    known: dict[tuple[frozenset[int], ...], _Missed] = {}
    found: dict[int, _Missed] = {}
    for rank, sets in sets_of.items():
        key = tuple(sets)
        if key not in known:
            members = (member for ranks in sets for member in waits[ranks])
            known[key] = _together(sorted(members, key=lambda one: one.rank))
        found[rank] = known[key]
    return found


def _missed(idle: Sequence[Rank], picture: Picture, *, first_only: bool) -> dict[int, _Missed]:
    """Return who waits for each of some ranks, of its groups in the one in which most wait.

    Args:
        idle: Ranks with nothing pending.
        picture: All that is known.
        first_only: Whether only the first wait of each of the others counts.
    """
    numbers = {rank.number for rank in idle}
    found: dict[int, _Missed] = {}
    for group in picture.groups:
        waiting = [
            member
            for member in group.members.values()
            if member.oldest is not None
            and not (first_only and picture.ranks[member.rank].oldest is not member)
        ]
        for number, missed in _missed_in(group, waiting, numbers).items():
            if number not in found or missed.peers.number > found[number].peers.number:
                found[number] = missed
    return {rank.number: found[rank.number] for rank in idle if rank.number in found}


def _missed_in(group: Group, waiting: Sequence[Member], idle: set[int]) -> dict[int, _Missed]:
    """Return who of a group waits for those of its ranks that are idle."""
    here = idle & (group.members.keys() | group.ranks)
    if group.p2p:
        calling: dict[int | None, list[Member]] = {}
        for member in waiting:
            calling.setdefault(member.peer, []).append(member)
        return {number: _together(calling[number]) for number in here if number in calling}
    found: dict[int, _Missed] = {}
    known: dict[int, _Missed | None] = {}
    for number in here:
        mine = group.members.get(number)
        if not _may_miss(mine, group):
            continue
        made = -1 if mine is None or mine.enqueued is None else mine.enqueued
        if made not in known:
            ahead = [member for member in waiting if at(member)[1] > made]
            known[made] = _together(ahead) if ahead else None
        missed = known[made]
        if missed is not None:
            found[number] = missed
    return found


def _together(members: Sequence[Member]) -> _Missed:
    """Return some waits as one."""
    peers = ranks_of({member.rank for member in members})
    return _Missed(members[0], peers, len({at(member) for member in members}))


def _may_miss(mine: Member | None, group: Group) -> bool:
    """Return whether counters are of the group that waits.

    What others have finished this rank must have entered; log lines that name no group may have
    mixed up two.
    """
    if mine is None or mine.basis == "dumps":
        return True
    return mine.enqueued is not None and group.ended <= mine.enqueued
