"""Groups that ranks called in different orders, so that each waits in the first for the other."""

from collections.abc import Iterator, Mapping

from diagnose.facts.collectives.report import event, nobody
from diagnose.facts.collectives.state import Member, Picture, Place, Rank, at
from diagnose.facts.collectives.waits import Wait, cycle
from diagnose.model.event import Event, Value


def crossed_order(picture: Picture, graph: Mapping[int, Wait]) -> Iterator[Event]:
    """Yield the ranks whose order is not that of most; one event without a rank if none is."""
    places = [at(graph[rank].member) for rank in cycle(graph)] or _crossed(picture, graph)
    sides: dict[Place, list[int]] = {}
    for rank, wait in graph.items():
        if at(wait.member) in places:
            sides.setdefault(at(wait.member), []).append(rank)
    if len(sides) < 2:
        return
    sizes = sorted(map(len, sides.values()))
    decided = sizes[-2] < sizes[-1]
    odd = [r for ranks in sides.values() if decided and len(ranks) < sizes[-1] for r in ranks]
    members = [graph[ranks[0]].member for ranks in sides.values()]
    everyone = [rank for ranks in sides.values() for rank in ranks]
    more: dict[str, Value] = {
        "calls": [_called(one) for one in members],
        "sites": [one.site for one in members],
        "groups": [one.group.name for one in members],
    }
    for rank in odd or everyone[:1]:
        member = graph[rank].member
        made = event(
            "collective.order_cycle", member.event, member, odd or everyone,
            set(everyone) - set(odd), more, known=len(picture.ranks),
        )  # fmt: skip
        yield made if odd else nobody(made)


def _called(member: Member) -> str:
    call, group = member.oldest, member.group
    return f"{call.op if call else 'a call'} of {group.desc or group.name or 'a group'}"


def _crossed(picture: Picture, graph: Mapping[int, Wait]) -> list[Place]:
    """Return two calls that the ranks of both groups made, some in one order, some in the other."""
    first: dict[Place, int] = {}
    for rank, wait in graph.items():
        if not (wait.late or wait.absent or wait.member.group.p2p):
            first.setdefault(at(wait.member), rank)
    for one, rank in first.items():
        for other, another in first.items():
            if (
                one < other
                and _queued(picture.ranks[rank], other)
                and _queued(picture.ranks[another], one)
            ):
                return [one, other]
    return []


def _queued(rank: Rank, place: Place) -> bool:
    """Return whether a rank has made a call that waits behind its oldest one."""
    group, seq = place
    return any(
        id(member.group) == group
        and member.oldest is not None
        and member.oldest.seq <= seq
        and seq in member.calls
        for member in rank.members
    )
