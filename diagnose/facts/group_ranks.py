"""Global ranks behind the numbers that process groups give them, and whom a message names by them.

A line that carries both, ``[rank9]:`` and ``[PG ID 2 PG GUID 5 Rank 1]``, tells which rank a number
of that group is. ``PG 2`` of 2.3 and 2.4 counts the groups of one process and is another group on
another rank, so a group in which two ranks share a number is dropped.

Lines of such a group that carry the number alone get the rank. Two kinds of events say more:

* ``c10d.store_timeout`` of a communicator that was never set up gets ``awaited``, the rank that had
  to publish the id: the first of the group, or the other one of a pair. One that waits for an id
  itself is passed over, so that of a chain only its end is named.
* ``c10d.remote_error`` gets ``first_rank``, the rank whose communicator failed first.
"""

from collections.abc import Iterable, Sequence

from diagnose.facts.identity import DEFAULT_GROUPS, Numbered, group_rank
from diagnose.facts.records import Named
from diagnose.facts.settings import whole
from diagnose.model.event import Event

Numbers = dict[str, dict[int, int]]
"""Global rank by group and number in it."""


def number_groups(numbered: Iterable[Numbered]) -> Numbers:
    """Return the global rank of each number of each group, as far as lines carry both."""
    found: Numbers = {}
    shared: set[str] = set()
    for event, number in numbered:
        if event.communicator is None or event.rank is None:
            continue
        known = found.setdefault(event.communicator, {}).setdefault(number, event.rank)
        if known != event.rank:
            shared.add(event.communicator)
    return {group: numbers for group, numbers in found.items() if group not in shared}


def name_ranks(numbered: Sequence[Numbered], named: Named) -> None:
    """Complete the events that name a rank, their own or another, by its number in a group.

    Args:
        numbered: Those that number their own rank.
        named: Those that name another are among them.
    """
    groups = number_groups(numbered)
    for event, number in numbered:
        if event.rank is None and event.communicator is not None:
            event.rank = groups.get(event.communicator, {}).get(number)
    waits = [
        event
        for event in named.get("c10d.store_timeout", ())
        if whole(event.fields.get("target_rank")) is not None
    ]
    waiting = {event.rank for event in waits} - {None}
    for event in waits:
        pair, target = event.fields.get("pair"), whole(event.fields.get("target_rank"))
        if isinstance(pair, list):
            others = [one for one in pair if one != group_rank(event)]
            target = whole(others[0]) if len(others) == 1 else None
        rank = _global(event, target, groups)
        event.fields["awaited"] = None if rank in waiting else rank
    for event in named.get("c10d.remote_error", ()):
        rank = _global(event, whole(event.fields.get("by_rank")), groups)
        event.fields["first_rank"] = None if rank == event.rank else rank


def _global(event: Event, number: int | None, groups: Numbers) -> int | None:
    """Return the rank behind a number of the group that an event is about."""
    if number is None:
        return None
    group = event.communicator
    if group is not None and group not in DEFAULT_GROUPS:
        return groups.get(group, {}).get(number)
    # Without a name it is the group of all, unless its writer has another number there.
    return number if group is not None or group_rank(event) in (None, event.rank) else None
