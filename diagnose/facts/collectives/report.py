"""The derived events: what is known of a hang, in the words that rules ask for.

Fields that all of them have: ``group`` (what it is for), ``seq``, ``op``, ``numel``, ``basis``
(``dumps`` or ``text``), ``ranks`` (whom it names), ``peers`` (ranks that say so, by number in
``waiting_ranks``), ``known`` and ``members`` (ranks of the group of which something is known, and
all), ``share`` (of the known ranks that it names), ``site`` (where the program made the call).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from diagnose.facts.collectives.state import Call, Member
from diagnose.model.event import Clock, Event, Nature, Value

LISTED = 1024
"""Ranks that a field lists."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks as fields hold them, made once for all events that name the same.

    Args:
        number: How many.
        listed: The lowest of them.
    """

    number: int
    listed: list[Value]


def ranks_of(ranks: Iterable[int]) -> Ranks:
    """Return ranks, each of which comes once, as fields hold them."""
    found = sorted(ranks)
    return Ranks(len(found), [*found[:LISTED]])


def event(
    name: str,
    about: Event,
    wait: Member,
    ranks: Ranks,
    peers: Ranks,
    more: Mapping[str, Value] | None = None,
    *,
    known: int,
    call: Call | None = None,
) -> Event:
    """Return a derived event.

    Args:
        name: Of the event.
        about: The statement it stands on and cites: of the rank that it names, if it names one.
        wait: A place in the group that waits, with the call.
        ranks: Whom it names.
        peers: Who says so.
        more: Further fields.
        known: Ranks of the job of which something is known.
        call: The call in question, of ``wait`` the oldest by default.
    """
    call = call or wait.oldest
    group = wait.group
    fields: dict[str, Value] = {
        **{key: about.fields[key] for key in ("lasted", "timeout") if key in about.fields},
        "group": group.desc,
        "seq": call.seq if call else None,
        "op": call.op if call else None,
        "numel": call.numel if call else None,
        "basis": wait.basis,
        "ranks": ranks.listed,
        "peers": peers.number,
        "waiting_ranks": peers.listed,
        "known": len(group.members),
        "members": len(group.ranks) or len(group.members),
        "share": ranks.number / max(known, 1),
        "site": wait.site,
        **(more or {}),
    }
    made = replace(
        about,
        name=name,
        nature=Nature.MEASUREMENT,
        communicator=group.name,
        fields=fields,
        fact=None,
    )
    if wait.onset is not None and about.time is None:
        made.time, made.clock = wait.onset, Clock.UTC
    return made


def nobody(made: Event) -> Event:
    """Return an event that is about no rank, though it cites the statement of one."""
    return replace(made, rank=None, local_rank=None, host=None)
