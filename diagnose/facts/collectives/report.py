"""The derived events: what is known of a hang, in the words that rules ask for.

Fields that all of them have: ``group`` (what it is for), ``seq``, ``op``, ``numel``, ``basis``
(``dumps`` or ``text``), ``ranks`` (whom it names), ``peers`` (ranks that say so, by number in
``waiting_ranks``), ``known`` and ``members`` (ranks of the group of which something is known, and
all), ``share`` (of the known ranks that it names), ``site`` (where the program made the call).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from diagnose.facts.collectives.state import Call, Member
from diagnose.model.event import Clock, Event, Nature, Value

LISTED = 1024
"""Ranks that a field lists."""


def event(
    name: str,
    about: Event,
    wait: Member,
    ranks: Collection[int],
    peers: Collection[int],
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
        "ranks": listed(ranks),
        "peers": len(peers),
        "waiting_ranks": listed(peers),
        "known": len(group.members),
        "members": len(group.ranks) or len(group.members),
        "share": len(ranks) / max(known, 1),
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


def listed(ranks: Iterable[int]) -> list[Value]:
    """Return ranks as a field holds them."""
    return [*sorted(ranks)[:LISTED]]
