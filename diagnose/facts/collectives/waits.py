"""Who waits for whom: the graph over the oldest unfinished call of each rank.

A rank waits for those members of the group of its oldest call that have not made that call; of a
send or receive, for its other end. Ranks of which nothing is known stand apart: they may have made
it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.facts.collectives.state import Member, Picture


@dataclass(slots=True)
class Wait:
    """What one rank waits for.

    Args:
        member: Its place in the group of its oldest unfinished call.
        late: Ranks known not to have made that call.
        absent: Ranks that may have made it: nothing is known of them.
        blind: Whom it waits for cannot be told, since its group sends and receives.
    """

    member: Member
    late: set[int] = field(default_factory=set)
    absent: set[int] = field(default_factory=set)
    blind: bool = False


def waits(picture: Picture) -> dict[int, Wait]:
    """Return what each rank with an unfinished call waits for, by rank."""
    found: dict[int, Wait] = {}
    for member in picture.waiting():
        wait = found[member.rank] = Wait(member)
        group, call = member.group, member.oldest
        if call is None:
            continue
        if group.p2p:
            wait.blind = member.peer is None
            if member.peer is not None:
                (wait.late if member.peer in picture.ranks else wait.absent).add(member.peer)
            continue
        wait.absent = group.absent()
        wait.late = {
            rank
            for rank, other in group.members.items()
            if rank != member.rank and other.entered(call.seq) is False
        }
    return found


def cycle(graph: Mapping[int, Wait]) -> list[int]:
    """Return the ranks of one ring of waits over several groups, in its order; empty if none is.

    Sends and receives are left out: a pipeline waits in both directions.
    """
    edges = {
        rank: sorted(wait.late & graph.keys())
        for rank, wait in graph.items()
        if not wait.member.group.p2p
    }
    state: dict[int, int] = {}
    for start in sorted(edges):
        path: list[int] = []
        todo = [(start, iter(edges[start]))] if start not in state else []
        while todo:
            rank, following = todo[-1]
            if state.get(rank) is None:
                state[rank] = 1
                path.append(rank)
            after = next((one for one in following if one in edges), None)
            if after is None:
                state[rank] = 2
                path.pop()
                todo.pop()
            elif state.get(after) == 1:
                ring = path[path.index(after) :]
                if len({id(graph[one].member.group) for one in ring}) > 1:
                    return ring
            elif state.get(after) is None:
                todo.append((after, iter(edges[after])))
    return []
