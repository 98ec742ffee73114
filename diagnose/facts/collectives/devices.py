"""Ranks whose program made a call that their device does not carry out."""

from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts.collectives.mismatch import Disagreement
from diagnose.facts.collectives.report import Ranks, event, ranks_of
from diagnose.facts.collectives.state import NOT_COLLECTIVE, ROOTED, Member, Picture, Place, at
from diagnose.facts.collectives.waits import Wait
from diagnose.model.event import Event, Value

NAME = "collective.stuck_on_device"


def not_finished(
    picture: Picture, graph: Mapping[int, Wait], mixed: Sequence[Disagreement]
) -> Iterator[Event]:
    """Yield the ranks on which a call has not ended that ended elsewhere, at the first such call.

    A call that takes data from everybody ends nowhere before all have made it, so whoever has not
    ended it is not late. Of the others a rank may run ahead; there it counts only where it is known
    that all have made it.
    """
    disputed = {(id(one.group), one.seq) for one in mixed}
    found: dict[int, tuple[Member, Ranks]] = {}
    ended: dict[Place, Ranks] = {}
    for group in picture.collectives():
        for member in group.members.values():
            call = member.oldest
            if call is None or at(member) in disputed:
                continue
            if at(member) not in ended:
                ended[at(member)] = ranks_of(
                    one.rank
                    for one in group.members.values()
                    if one.completed is not None and one.completed >= call.seq
                )
            ahead = ended[at(member)]
            if not ahead.number or not (
                _needs_all(member) or _all_came(member, graph[member.rank])
            ):
                continue
            known = found.get(member.rank)
            if known is None or _place(member) < _place(known[0]):
                found[member.rank] = member, ahead
    if found.keys() >= graph.keys():
        return  # Nobody waits for them: dumps of a job at work, taken at slightly different times.
    ranks = ranks_of(found)
    for _, (member, ahead) in sorted(found.items()):
        more = _counters(member, "completion")
        yield event(NAME, member.event, member, ranks, ahead, more, known=len(picture.ranks))


def not_started(picture: Picture, graph: Mapping[int, Wait]) -> Iterator[Event]:
    """Yield the few ranks whose device has not begun the call that it has begun on most."""
    calls: dict[tuple[int, int], list[Member]] = {}
    for wait in graph.values():
        if not (wait.late or wait.absent or wait.member.group.p2p):
            calls.setdefault(at(wait.member), []).append(wait.member)
    for members in calls.values():
        begun = ranks_of(one.rank for one in members if one.state == "started")
        named = [one for one in members if one.state == "scheduled"]
        if 2 * begun.number <= len(members):
            continue
        ranks = ranks_of(one.rank for one in named)
        for member in named:
            more = _counters(member, "start")
            yield event(NAME, member.event, member, ranks, begun, more, known=len(picture.ranks))


def _counters(member: Member, shows: str) -> dict[str, Value]:
    return {
        "shows": shows,
        "enqueued": member.enqueued,
        "completed": member.completed,
        "state": member.state,
    }


def _needs_all(member: Member) -> bool:
    """Return whether what others have ended and this rank has not includes data of this rank."""
    ended = member.group.ended
    first = member.oldest.seq if member.oldest else ended + 1
    return any(
        first <= seq <= ended and call.op not in ROOTED and call.op not in NOT_COLLECTIVE
        for seq, call in member.calls.items()
    )


def _all_came(member: Member, wait: Wait) -> bool:
    """Return whether a rank's first wait is this one and the whole group has made the call."""
    alone = wait.member is not member or wait.late or wait.absent
    return not alone and bool(member.group.ranks)


def _place(member: Member) -> float:
    return member.oldest.place if member.oldest else 0.0
