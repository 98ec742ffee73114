"""Who keeps a group waiting: questions in their order, each asked where none before named anybody.

1. Completion: a call ended elsewhere and not on this rank, which had made it too: its device.
2. Nothing pending: others wait for a call that this rank never made: its program is elsewhere.
3. Behind: others wait for a call of this rank, which has another pending and waits for nobody.
4. Order: ranks wait in a ring over several groups, or two groups were called in either order.
5. Start: all made the call, most devices began it and this one did not.

A stuck device makes its own program late, so 1 comes before 2 and 3. Calls that do not agree stop
programs at different places, so they come before 3. If nobody is named, the ranks of which nothing
is known come into question, and if there are none, everybody waits.
"""

from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts.collectives.devices import not_finished, not_started
from diagnose.facts.collectives.mismatch import disagreements, odd_calls
from diagnose.facts.collectives.order import crossed_order
from diagnose.facts.collectives.programs import behind, never_entered
from diagnose.facts.collectives.report import event, nobody, ranks_of
from diagnose.facts.collectives.state import Picture, at
from diagnose.facts.collectives.waits import Wait, waits
from diagnose.model.event import Event, Value

WITNESSES = 2
"""Ranks that have to wait together for a rank without a dump before it alone is in question."""


def findings(picture: Picture) -> Iterator[Event]:
    """Yield what is known of who keeps whom waiting, with one event on the ranks that wait."""
    graph = waits(picture)
    mixed = [one for group in picture.collectives() for one in disagreements(group)]
    for one in mixed:
        yield from odd_calls(one, picture)
    if not graph:
        yield from _nobody_waits(picture)
        return
    for found in (
        not_finished(picture, graph, mixed),
        never_entered(picture, graph),
        *([] if mixed else _sound(picture, graph)),
    ):
        named = list(found)
        if named:
            yield from named
            yield from _waiting(picture, named)
            return
    if not mixed:
        yield from _unnamed(picture, graph)


def _sound(picture: Picture, graph: Mapping[int, Wait]) -> list[Iterator[Event]]:
    """Return the questions that only make sense where all calls agree."""
    return [behind(picture, graph), crossed_order(picture, graph), not_started(picture, graph)]


def _nobody_waits(picture: Picture) -> Iterator[Event]:
    """Yield that the dumps show no unfinished call, at the first of them."""
    dumped = [one for group in picture.groups for one in group.members.values()
              if one.basis == "dumps"]  # fmt: skip
    if dumped:
        ranks = ranks_of({one.rank for one in dumped})
        name, first, none = "collective.nobody_waits", dumped[0], ranks_of(())
        yield nobody(event(name, first.event, first, none, ranks, known=len(picture.ranks)))


def _waiting(picture: Picture, named: Sequence[Event]) -> Iterator[Event]:
    """Yield one event for the ranks that wait for those named, at the first of them."""
    guilty = {one.rank for one in named}
    missed = {(one.communicator, one.fields["seq"]) for one in named}
    waiting = [one for one in picture.waiting() if one.rank not in guilty]
    there = [one for one in waiting if (one.group.name, at(one)[1]) in missed]
    chosen = there or waiting
    if chosen:
        ranks = ranks_of(one.rank for one in chosen)
        first = chosen[0]
        yield event(
            "collective.waiting", first.event, first, ranks, ranks, known=len(picture.ranks)
        )


def _unnamed(picture: Picture, graph: Mapping[int, Wait]) -> Iterator[Event]:
    """Yield who comes into question, or that everybody waits.

    Of a group in which several wait for those who left no dump, the latter come into question;
    where one rank alone says so, it may itself be the one that stopped.
    """
    ends = [wait for wait in graph.values() if wait.absent and not wait.late]
    together: dict[frozenset[int], list[int]] = {}
    for wait in ends:
        if not wait.member.group.p2p:
            together.setdefault(wait.absent, []).append(wait.member.rank)
    clear: set[int] = set()
    for absent, there in together.items():
        if len(there) >= max(WITNESSES, len(absent)):
            clear |= absent
    doubtful = {absent: there for absent, there in together.items() if not absent & clear}
    suspects = clear.union(*(absent.union(there) for absent, there in doubtful.items()))
    for wait in ends:
        if wait.absent.isdisjoint(suspects):  # a send or receive, of which either end may be stuck
            doubtful[wait.absent] = [wait.member.rank]
            suspects |= wait.absent | {wait.member.rank}
    first = (ends or list(graph.values()))[0].member
    if suspects:
        name = "collective.suspects"
        more: dict[str, Value] = {
            "absent": len(frozenset().union(*{one.absent for one in ends})),
            "certain": not doubtful,
        }
    else:
        name, suspects = "collective.all_waiting", set(graph)
        more = {"idle": len(picture.ranks) - len(graph)}
    named, peers = ranks_of(suspects), ranks_of(graph)
    yield nobody(event(name, first.event, first, named, peers, more, known=len(picture.ranks)))
