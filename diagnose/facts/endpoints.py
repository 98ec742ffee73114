"""Which end is at fault where connections between hosts fail: a vote over all of them.

======================= ==========================================================================
``nccl.endpoint_vote``  What the failed connections of one kind have in common, at the first of them
======================= ==========================================================================

Every survivor names its peer, so one message blames whoever it happens to talk to. Taken together,
the pairs of hosts show the host in most of them, the one rail (adapter of the same name) on many
hosts, or everybody with everybody. Fields of the vote:

``kind``      ``rdma``, ``closed`` (a connection ended) or ``connect`` (none could be made)
``edges``     pairs of hosts; each direction and each repetition counts once
``hosts``     hosts in them
``suspect``   the host in most pairs, None where several share that place
``share``     of the pairs that have this host
``rail``      the adapter in most pairs, by the name the reporting hosts give it
``rail_share`` of the pairs that have it
``rails``     adapters that the hosts of the job list, None where they list none
``reporters`` hosts that report the rail
``coverage``  of all pairs that the hosts could form
``sides``     two groups of two hosts or more, where each pair has one host of either
``across``    of the pairs that these two groups could form

A pair within one host says nothing of the network and is left out, and so is work that was flushed
because its queue had failed before. Of connections that ended only the first of each process
counts: a process that gives up closes all of its own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from diagnose.facts.identity import host_addresses
from diagnose.model.event import Event, Nature, Value
from diagnose.model.reading import Reading

EVENTS = ("nccl.endpoint_vote",)

NO_EVIDENCE = frozenset({0, 5})
"""Status of work that succeeded, and of work flushed after another error (``ibv_wc_status``)."""

Pair = frozenset[str]


@dataclass(frozen=True, slots=True)
class Edge:
    """One failed connection: who reports it, the other end, and over which adapter."""

    source: str
    peer: str
    adapter: str | None
    event: Event

    @property
    def pair(self) -> Pair:
        """Both hosts, in no order."""
        return frozenset((self.source, self.peer))


def derive(reading: Reading) -> Iterator[Event]:
    """Yield one vote for each attempt and kind of failed connection."""
    groups: dict[tuple[int, str], list[Edge]] = {}
    owners = host_addresses(reading.events, reading.topology)
    for event in reading.events:
        kind, peer = kind_of(event), event.fields.get("peer")
        if kind is None or event.host is None or not isinstance(peer, str):
            continue
        peer = owners.get(peer, peer)
        if peer != event.host:
            edge = Edge(event.host, peer, event.nic, event)
            groups.setdefault((event.attempt, kind), []).append(edge)
    rails = _rails(reading.events)
    for (_, kind), edges in groups.items():
        yield _vote(kind, _first_each(edges) if kind == "closed" else edges, rails)


def kind_of(event: Event) -> str | None:
    """Return the kind of failed connection that an event reports, None where it reports none."""
    if event.fields.get("level") == "INFO":
        return None
    if event.name == "nccl.ib.completion_error":
        return None if event.fields.get("status") in NO_EVIDENCE else "rdma"
    if event.name in ("nccl.socket_closed", "nccl.socket_failed"):
        return "closed"
    if event.name == "nccl.connect_failed" and not event.fields.get("retrying"):
        return "connect"
    return None


def _first_each(edges: list[Edge]) -> list[Edge]:
    """Return the first edge of each process."""
    first: dict[tuple[str, int | None], Edge] = {}
    for edge in edges:
        first.setdefault((edge.event.file, edge.event.pid), edge)
    return list(first.values())


def _rails(events: Sequence[Event]) -> int | None:
    """Return how many adapters a host of the job has at most."""
    listed = [
        len(names)
        for event in events
        if event.name == "nccl.ib.devices" and isinstance(names := event.fields.get("hcas"), list)
    ]
    return max(listed, default=None)


def _vote(kind: str, edges: list[Edge], rails: int | None) -> Event:
    pairs = {edge.pair for edge in edges}
    members = Counter(host for pair in pairs for host in sorted(pair))
    host, of_host = _most(members)
    by_adapter: dict[str, set[Pair]] = {}
    for edge in edges:
        if edge.adapter is not None:
            by_adapter.setdefault(edge.adapter, set()).add(edge.pair)
    rail, of_rail = _most(Counter({name: len(found) for name, found in by_adapter.items()}))
    possible = len(members) * (len(members) - 1) // 2
    fields: dict[str, Value] = {
        "kind": kind,
        "edges": len(pairs),
        "hosts": [*sorted(members)],
        "suspect": host,
        "share": round(of_host / len(pairs), 3),
        "rail": rail,
        "rail_share": round(of_rail / len(pairs), 3),
        "rails": rails,
        "reporters": len({edge.source for edge in edges if edge.adapter == rail}) if rail else 0,
        "coverage": round(len(pairs) / possible, 3),
    }
    if sides := _sides(pairs):
        one, other = sides
        fields["sides"] = [", ".join(sorted(one)), ", ".join(sorted(other))]
        fields["across"] = round(len(pairs) / (len(one) * len(other)), 3)
    first = edges[0].event
    return replace(
        first, name=EVENTS[0], nature=Nature.MEASUREMENT, fields=fields, fact=None,
        rank=None, local_rank=None, nic=None,
    )  # fmt: skip


def _sides(pairs: set[Pair]) -> tuple[set[str], set[str]] | None:
    """Return two groups of hosts of which each pair has one of either, None where there are none.

    Both have two hosts at least, and all hosts hang together through the pairs, so that the groups
    are the only ones.
    """
    peers: dict[str, set[str]] = {}
    for pair in pairs:
        for host in pair:
            peers.setdefault(host, set()).update(pair - {host})
    start = min(peers)
    side, waiting = {start: 0}, [start]
    while waiting:
        host = waiting.pop()
        for peer in peers[host]:
            if peer not in side:
                side[peer] = 1 - side[host]
                waiting.append(peer)
            elif side[peer] == side[host]:
                return None
    groups = {host for host in side if side[host] == 0}, {host for host in side if side[host]}
    whole = len(side) == len(peers) and min(map(len, groups)) > 1
    return groups if whole else None


def _most(counts: Counter[str]) -> tuple[str | None, int]:
    """Return who has most, None where several do, and how many that is."""
    ranked = counts.most_common(2)
    if not ranked:
        return None, 0
    (name, most), *others = ranked
    tied = bool(others) and others[0][1] == most
    return (None if tied else name), most
