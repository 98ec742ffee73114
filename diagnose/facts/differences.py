"""In what one host or rank differs from the others: settings, versions, networks, paths.

================== ===============================================================================
``job.difference``  A host or rank with another value than the rest, or without one where the rest
                    have it (``missing``)
================== ===============================================================================

Fields: ``subject`` (see ``stated.py``), ``level`` (``host`` or ``rank``), ``value``, ``usual``,
``agree`` of ``of`` members, ``missing``, ``fewer`` (a list that lacks members of the usual one),
``effect``, ``steers`` (of a variable) and ``values``. One event for each odd member; where less
than four are known, or less than three quarters agree, one event for the subject that names nobody
and has no ``usual``. What a difference means (``effect``) stands in ``rules/variables.yaml``; what
differs by design there is left out.

Attempts are compared apart: a setting that was mended before a restart is no difference.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from diagnose.facts.stated import (
    FEWEST,
    MAJORITY,
    Member,
    Stated,
    Subject,
    Writer,
    collect,
    of_writer,
    usual_of,
)
from diagnose.facts.variables import table
from diagnose.model.event import Event, Nature, Value

EVENTS = ("job.difference",)

SHOWN = 3
"""Members that a difference names for each value."""

Key = TypeVar("Key", str, int)


def derive(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the differences, by subject and member.

    Args:
        events: All of the input, with ranks and hosts completed.
    """
    events = list(events)
    stated = collect(events)
    spoke = _spoke(events)
    for (attempt, name, _, _), one in stated.items():
        meaning = _meaning(name)
        if meaning == "normal":
            continue
        if len(one.values) > 1:
            yield from _different(name, one, meaning)
        if meaning in ("fatal", "slow") and name in table().variables:
            yield from _missing(name, one, spoke.get(attempt, {}), stated, attempt, meaning)


def _meaning(name: str) -> str:
    variable = table().variables.get(name)
    return variable.differs if variable else table().compared.get(name, "noted")


def _different(name: str, one: Stated, meaning: str) -> Iterator[Event]:
    """Yield the ranks that differ from the others of their host, and the hosts that do."""
    if name in table().variables:
        for host, writers in one.hosts.items():
            yield from _within(name, host, writers, meaning)
    yield from _compared(name, "host", one.of_hosts(), meaning)


def _within(
    name: str, host: str | None, writers: Mapping[Writer, Mapping[str, Event]], meaning: str
) -> Iterator[Event]:
    """Yield the ranks that differ from the others of their host."""
    ranks = {
        rank: of_writer(values) for (rank, _, _), values in writers.items() if rank is not None
    }
    if len(ranks) > 1:
        yield from _compared(name, "rank", ranks, meaning, host)


def _compared(
    name: str, level: str, members: Mapping[Key, Member], meaning: str, host: str | None = None
) -> Iterator[Event]:
    if len({one.value for one in members.values()}) < 2:
        return
    usual = usual_of(members.values())
    if usual is None and level == "rank" and meaning != "fatal":
        return  # each rank with the adapter next to its GPU, and the like
    spelled = {one.value: one.shown for one in members.values()}
    fields: dict[str, Value] = {
        "subject": name,
        "steers": table().steers(name),
        "level": level,
        "usual": usual and spelled[usual],
        "of": len(members),
        "agree": sum(one.value == usual for one in members.values()),
        "missing": False,
        "fewer": False,
        "effect": meaning,
        "values": _listed(members),
    }
    if usual is None:
        first = members[min(members)]
        both = {**fields, "value": " or ".join(sorted(spelled.values()))}
        yield _event(first.event, both, host=host, named=False)
        return
    for key in sorted(members):
        one = members[key]
        if one.value != usual:
            fewer = set(one.value.split(",")) < set(usual.split(","))
            own = {**fields, "value": one.shown, "fewer": fewer}
            yield _event(one.event, own, host=one.event.host, named=True, rank=level == "rank")


def _listed(members: Mapping[Key, Member]) -> list[Value]:
    """Return each value with those that have it, the first few by name."""
    holders: dict[str, list[Key]] = {}
    for key in sorted(members):
        holders.setdefault(members[key].value, []).append(key)
    return [
        f"{members[who[0]].shown}: {', '.join(map(str, who[:SHOWN]))}"
        + (f" and {len(who) - SHOWN} more" if len(who) > SHOWN else "")
        for _, who in sorted(holders.items())
    ]


def _spoke(events: Iterable[Event]) -> dict[int, dict[str, Event]]:
    """Return by attempt the hosts that state variables to the end of their start-up.

    A host that stopped before may only not have come to a variable; one that prints a list
    of its variables, and nothing of NCCL's, has.
    """
    first: dict[int, dict[str, Event]] = {}
    printed: dict[tuple[int, str], set[Value]] = {}
    echoed: set[tuple[int, str]] = set()
    through: set[tuple[int, str]] = set()
    for event in events:
        if event.host is None:
            continue
        place = event.attempt, event.host
        if event.name == "nccl.env":
            first.setdefault(event.attempt, {}).setdefault(event.host, event)
            if "NCCL INFO" in event.text:
                echoed.add(place)
            else:
                printed.setdefault(place, set()).add(event.fields["name"])
        elif event.name == "nccl.comm_init" and event.fields.get("phase") == "complete":
            through.add(place)
    lists = {place for place, names in printed.items() if len(names) > 1}
    through |= lists - echoed
    return {
        attempt: {host: event for host, event in hosts.items() if (attempt, host) in through}
        for attempt, hosts in first.items()
    }


def _missing(
    name: str,
    one: Stated,
    spoke: Mapping[str, Event],
    stated: Mapping[Subject, Stated],
    attempt: int,
    meaning: str,
) -> Iterator[Event]:
    """Yield the hosts that state other variables but not this one, which the rest have alike.

    A host on another network does not use the variables of the usual one, so says nothing.
    """
    lacking = sorted(spoke.keys() - one.hosts.keys())
    if not lacking:
        return
    holders = one.of_hosts()
    total = len(lacking) + len(holders)
    if total < FEWEST or len(holders) < MAJORITY * total:
        return
    if len({one.value for one in holders.values()}) > 1:
        return
    networks = {
        host: member
        for (when, subject, _, _), other in stated.items()
        if when == attempt and subject == "nccl.net"
        for host, member in other.of_hosts().items()
    }
    chosen = usual_of(networks.values()) if networks else None
    for host in lacking:
        if chosen is not None and host in networks and networks[host].value != chosen:
            continue
        fields: dict[str, Value] = {
            "subject": name,
            "steers": table().steers(name),
            "level": "host",
            "value": None,
            "usual": next(iter(holders.values())).shown,
            "of": total,
            "agree": len(holders),
            "missing": True,
            "fewer": False,
            "effect": meaning,
            "values": _listed(holders),
        }
        yield _event(spoke[host], fields, host=host, named=True)


def _event(
    event: Event, fields: dict[str, Value], *, host: str | None, named: bool, rank: bool = False
) -> Event:
    return replace(
        event, name=EVENTS[0], nature=Nature.MEASUREMENT, fields=fields, fact=None,
        host=host if named or host else None, rank=event.rank if rank and named else None,
        local_rank=None, gpu=None, nic=None, communicator=None, pid=None,
    )  # fmt: skip
