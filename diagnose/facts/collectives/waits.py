"""Who waits for whom: the graph over the oldest unfinished call of each rank.

A rank waits for those members of the group of its oldest call that have not made that call; of a
send or receive, for its other end. Ranks of which nothing is known stand apart: they may have made
it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from diagnose.facts.collectives.state import Group, Member, Picture, Place, at


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
    late: frozenset[int] = frozenset()
    absent: frozenset[int] = frozenset()
    blind: bool = False


def waits(picture: Picture) -> dict[int, Wait]:
    """Return what each rank with an unfinished call waits for, by rank."""
    found: dict[int, Wait] = {}
    late: dict[Place, frozenset[int]] = {}
    for member in picture.waiting():
        wait = found[member.rank] = Wait(member)
        group, call = member.group, member.oldest
        if call is None:
            continue
        if group.p2p:
            wait.blind = member.peer is None
            peer = frozenset(() if member.peer is None else (member.peer,))
            wait.absent = peer.difference(picture.ranks)
            wait.late = peer - wait.absent
            continue
        if at(member) not in late:
            late[at(member)] = _late(group, call.seq)
        # All who wait in one call share the set: it may hold thousands of ranks.
        shared = late[at(member)]
        wait.late = shared - {member.rank} if member.rank in shared else shared
        wait.absent = group.absent
    return found


def _late(group: Group, seq: int) -> frozenset[int]:
    """Return the ranks of a group known not to have made a call."""
    return frozenset(rank for rank, member in group.members.items() if member.entered(seq) is False)


def all_late(waits: Iterable[Wait]) -> frozenset[int]:
    """Return the ranks that any of some waits is for."""
    return frozenset().union(*{wait.late for wait in waits})


def cycle(graph: Mapping[int, Wait]) -> list[Place]:
    """Return the calls of one ring of waits over several groups, in its order; empty if none is.

    Sends and receives are left out: a pipeline waits in both directions.
    """
    stands = {rank: at(wait.member) for rank, wait in graph.items() if not wait.member.group.p2p}
    edges: dict[Place, list[Place]] = {}
    for rank, place in stands.items():
        if place not in edges:
            late = (stands[one] for one in sorted(graph[rank].late) if one in stands)
            edges[place] = list(dict.fromkeys(late))
    state: dict[Place, int] = {}
    for start in edges:
        path: list[Place] = []
        todo = [(start, iter(edges[start]))] if start not in state else []
        while todo:
            place, following = todo[-1]
            if state.get(place) is None:
                state[place] = 1
                path.append(place)
            after = next(following, None)
            if after is None:
                state[place] = 2
                path.pop()
                todo.pop()
            elif state.get(after) == 1:
                ring = path[path.index(after) :]
                if len({group for group, _ in ring}) > 1:
                    return ring
            elif state.get(after) is None:
                todo.append((after, iter(edges[after])))
    return []
