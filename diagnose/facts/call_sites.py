"""Where in the program the ranks of a group call the collective that got stuck.

================= ================================================================================
``c10d.odd_site`` The call of a rank in another place of the program than most ranks of its group,
                  though all are at the same number
================= ================================================================================

PyTorch 2.5 and later print the stack of the collective that timed out, if the flight recorder is
on. Ranks at different numbers are at different places rightly. Without a majority one event names
no rank.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.model.event import Event, Nature, Value

EVENTS = ("c10d.odd_site",)

FEWEST = 2
"""Ranks that must state their place."""

Group = tuple[int, str | None, Value]


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the calls at another place than most, in the order of groups and ranks."""
    numbers: dict[tuple[int, int | None], Value] = {}
    for event in events:
        if event.name == "c10d.watchdog_timeout" and "seq" in event.fields:
            numbers.setdefault((event.attempt, event.rank), event.fields["seq"])
    groups: dict[Group, dict[int, Event]] = {}
    for event in events:
        if event.name == "c10d.collective_site" and event.rank is not None:
            number = numbers.get((event.attempt, event.rank))
            group = event.attempt, event.communicator, number
            groups.setdefault(group, {}).setdefault(event.rank, event)
    for members in groups.values():
        if len(members) >= FEWEST:
            yield from _odd_ones(members)


def _odd_ones(members: dict[int, Event]) -> Iterator[Event]:
    places = Counter(event.fields["site"] for event in members.values())
    if len(places) == 1:
        return
    (usual, most), *_ = places.most_common(1)
    majority = 2 * most > len(members)
    for rank in sorted(members):
        event = members[rank]
        if event.fields["site"] == usual:
            continue
        fields: dict[str, Value] = {
            **event.fields, "usual_site": usual, "usual_ranks": most, "sites": list(places)
        }  # fmt: skip
        odd = replace(event, name=EVENTS[0], nature=Nature.MEASUREMENT, fields=fields)
        if majority:
            yield odd
        else:
            yield replace(odd, rank=None, local_rank=None, host=None)
            return
