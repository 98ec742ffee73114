"""Ranks whose program never made the call that others wait in."""

from collections.abc import Iterator, Mapping

from diagnose.facts.collectives.report import event
from diagnose.facts.collectives.state import Group, Member, Picture, Rank, at
from diagnose.facts.collectives.waits import Wait
from diagnose.model.event import Event, Value


def never_entered(picture: Picture, graph: Mapping[int, Wait]) -> Iterator[Event]:
    """Yield the ranks with nothing pending that others wait for.

    If the first wait of others is for some of them, they come before those that are only late for
    what others have queued up behind it. Where no group that waits is known to be theirs, ranks
    whose log lines show nothing pending are named with ``matched`` false.
    """
    idle = [rank for rank in picture.ranks.values() if rank.oldest is None]
    first = {rank for wait in graph.values() for rank in wait.late}
    direct = [rank for rank in idle if rank.number in first]
    found: dict[int, list[Member]] = {}
    for rank in direct or idle:
        missed = _missed(rank, picture, first_only=bool(direct))
        if missed:
            found[rank.number] = missed
    matched = bool(found)
    if not matched:
        # The counters that a rank prints with a dump signal are of its first group alone.
        found = {rank.number: [wait.member for wait in graph.values()]
                 for rank in idle if rank.basis == "text"}  # fmt: skip
    for number, missed in found.items():
        rank, wait = picture.ranks[number], missed[0]
        mine = wait.group.members.get(number)
        own = mine or next((one for one in rank.members if one.enqueued is not None), None)
        more: dict[str, Value] = {
            "enqueued": own.enqueued if own else None,
            "completed": own.completed if own else None,
            "counted": _name(own) if own is not None and own is not mine else None,
            "places": len({at(one) for one in missed}),
            "matched": matched,
            "went": rank.event.fields.get("last_site"),
            "went_op": rank.event.fields.get("last_op"),
        }
        about = mine.event if mine else rank.event
        peers = {one.rank for one in missed}
        yield event(
            "collective.never_entered", about, wait, found.keys(), peers, more,
            known=len(picture.ranks),
        )  # fmt: skip


def _name(member: Member) -> Value:
    """Return what the group of a member is for, as dumps or its own line say, else its name."""
    group = member.group
    return group.desc or member.event.fields.get("group") or group.name


def behind(picture: Picture, graph: Mapping[int, Wait]) -> Iterator[Event]:
    """Yield the ranks that others wait for and that wait for nobody, with something pending."""
    direct = {rank for wait in graph.values() if not wait.member.group.p2p for rank in wait.late}
    named = [
        rank
        for rank in sorted(direct & graph.keys())
        if not (graph[rank].late or graph[rank].absent or graph[rank].blind)
    ]
    for rank in named:
        missed = [
            wait.member
            for wait in graph.values()
            if rank in wait.late and not wait.member.group.p2p
        ]
        wait = missed[0]
        mine, stands = wait.group.members[rank], graph[rank].member
        more: dict[str, Value] = {
            "enqueued": mine.enqueued,
            "completed": mine.completed,
            "went": stands.site,
            "went_op": stands.oldest.op if stands.oldest else None,
        }
        peers = {one.rank for one in missed}
        yield event(
            "collective.behind", mine.event, wait, named, peers, more, known=len(picture.ranks)
        )


def _missed(rank: Rank, picture: Picture, *, first_only: bool) -> list[Member]:
    """Return the waits for a rank, those in the group in which most wait."""
    by_group: dict[int, list[Member]] = {}
    for group in picture.groups:
        mine = group.members.get(rank.number)
        if mine is None and rank.number not in group.ranks:
            continue
        for other in group.members.values():
            call = other.oldest
            if call is None or (first_only and picture.ranks[other.rank].oldest is not other):
                continue
            if group.p2p:
                missing = other.peer == rank.number
            else:
                made = mine is not None and mine.entered(call.seq) is True
                missing = not made and _may_miss(mine, group)
            if missing:
                by_group.setdefault(id(group), []).append(other)
    return max(by_group.values(), key=len, default=[])


def _may_miss(mine: Member | None, group: Group) -> bool:
    """Return whether counters are of the group that waits.

    What others have finished this rank must have entered; log lines that name no group may have
    mixed up two.
    """
    if mine is None or mine.basis == "dumps":
        return True
    finished = max((one.completed or 0 for one in group.members.values()), default=0)
    return mine.enqueued is not None and finished <= mine.enqueued
