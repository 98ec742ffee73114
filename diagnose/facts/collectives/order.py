"""Groups that ranks called in different orders, so that each waits in the first for the other."""

from collections.abc import Iterator, Mapping

from diagnose.facts.collectives.report import event, nobody, ranks_of
from diagnose.facts.collectives.state import Member, Picture, Place, Rank, at
from diagnose.facts.collectives.waits import Wait, cycle
from diagnose.model.event import Event, Value


def crossed_order(picture: Picture, graph: Mapping[int, Wait]) -> Iterator[Event]:
    """Yield the ranks whose order is not that of most; one event without a rank if none is."""
    places = cycle(graph) or _crossed(picture, graph)
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
    named, peers = ranks_of(odd or everyone), ranks_of(set(everyone) - set(odd))
    for rank in odd or everyone[:1]:
        member = graph[rank].member
        made = event(
            "collective.order_cycle", member.event, member, named, peers, more,
            known=len(picture.ranks),
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
    queued = {place: _queued(picture.ranks[rank]) for place, rank in first.items()}
    order = {place: number for number, place in enumerate(first)}
    for one in first:
        behind = (other for other in queued[one] if order.get(other, -1) > order[one])
        for other in sorted(behind, key=order.__getitem__):
            if one in queued[other]:
                return [one, other]
    return []


def _queued(rank: Rank) -> set[Place]:
    """Return the calls that a rank has made and that wait for its oldest ones to end."""
    return {
        (id(member.group), seq)
        for member in rank.members
        if member.oldest is not None
        for seq in member.calls
        if member.oldest.seq <= seq
    }
