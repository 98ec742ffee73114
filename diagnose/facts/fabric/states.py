"""Ports that should be up and are not.

===================== ==============================================================================
``ib.port_flapped``   A port that one reading shows down and another one active
``ib.port_off``       A port that is down though it belongs to the job, or all ports like it are up
``ib.ports_waiting``  InfiniBand ports with a link that no subnet manager has set up, over hosts
===================== ==============================================================================

A port that nobody uses is down on purpose, so ``ib.port_off`` needs a ``basis``: ``job`` (NCCL used
it, or ``NCCL_IB_HCA`` names it), ``hosts`` (it is active on three quarters of four hosts or more)
or ``siblings`` (its host has at least three other ports of its type, and all of them are active).
``peers`` says how many others are up. Where NCCL of other hosts lists its adapters without this
one, the job does without it, whoever else has it up.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diagnose.facts.fabric.ports import (
    FEWEST_PEERS,
    MAJORITY,
    Key,
    key_of,
    newest,
    on_hosts,
    siblings,
)
from diagnose.model.event import Event, Value

EVENTS = ("ib.port_flapped", "ib.port_off", "ib.ports_waiting")

SHOWN = ("device", "port", "state", "phys_state", "link_layer", "lid", "sm_lid")
"""Fields that the derived events take from a reading."""

Used = set[tuple[str | None, str]]
"""Host and device of adapters; a host of None means all."""

SEEKING = ("Polling", "Sleep", "PortConfigurationTraining")
"""Physical states of a port that nobody switched off."""


def derive(ports: Sequence[Event], used: Sequence[Event]) -> Iterator[Event]:
    """Yield the events, each at the place of a reading.

    Args:
        ports: All readings of ports.
        used: The statements of NCCL and of the environment which adapters the job uses.
    """
    latest = newest(ports)
    yield from _flapped(ports)
    yield from _off(latest, _listed(used), _named(used))
    yield from _waiting(latest)


def _flapped(ports: Sequence[Event]) -> Iterator[Event]:
    """Yield the first reading that shows a port down which was or came up.

    Two hosts without a name in one file are told apart by the addresses of their ports.
    """
    down: dict[Key, Event] = {}
    up: set[Key] = set()
    addresses: dict[Key, set[Value]] = defaultdict(set)
    for event in ports:
        key = key_of(event)
        gid = event.fields.get("gid")
        addresses[key] |= {gid} if gid else set()
        if event.fields.get("state") == "DOWN" and event.fields.get("phys_state") is not None:
            down.setdefault(key, event)
        elif event.fields.get("state") == "ACTIVE":
            up.add(key)
    for key, event in down.items():
        if key in up and len(addresses[key]) < 2:
            yield _derived(event, "ib.port_flapped", {})


def _off(latest: Mapping[Key, Event], listed: Used, named: Used) -> Iterator[Event]:
    elsewhere: dict[tuple[Value, ...], list[int]] = defaultdict(lambda: [0, 0])
    beside: dict[tuple[Value, ...], list[int]] = defaultdict(lambda: [0, 0])
    for key, event in latest.items():
        if event.fields.get("state") is not None:
            for count in (elsewhere[on_hosts(key, event)], beside[siblings(key, event)]):
                count[0] += 1
                count[1] += event.fields["state"] == "ACTIVE"
    takers: dict[str, set[str]] = defaultdict(set)
    for host, name in listed:
        if host is not None:
            takers[name].add(host)
    listing = set().union(*takers.values())
    for key, event in latest.items():
        if event.fields.get("state") != "DOWN" or _kept_down(event):
            continue
        hosts, active = elsewhere[on_hosts(key, event)]
        ports, up = beside[siblings(key, event)]
        device = str(key[1])
        if {(event.host, device), (None, device)} & (listed | named):
            basis, peers = "job", 0
        elif _others(listing, event.host) and not _others(takers[device], event.host):
            continue
        elif hosts > FEWEST_PEERS and active >= MAJORITY * hosts:
            basis, peers = "hosts", active
        elif _is_odd(event) and ports > FEWEST_PEERS and up == ports - 1:
            basis, peers = "siblings", up
        else:
            continue
        yield _derived(event, "ib.port_off", {"basis": basis, "peers": peers})


def _others(hosts: set[str], host: str | None) -> int:
    """Return how many hosts there are beside one; NCCL there lists no port that is down."""
    return len(hosts) - (host in hosts)


def _waiting(latest: Mapping[Key, Event]) -> Iterator[Event]:
    infiniband = [one for one in latest.values() if one.fields.get("link_layer") == "InfiniBand"]
    linked = [one for one in infiniband if one.fields.get("phys_state") == "LinkUp"]
    waiting = [one for one in linked if one.fields.get("state") in ("INIT", "ARMED")]
    if not waiting:
        return
    hosts = sorted({one.host for one in waiting if one.host is not None})
    fields: dict[str, Value] = {
        "ports": len(waiting),
        "of": len(linked),
        "share": len(waiting) / len(linked),
        "hosts": [*hosts],
        "count": len(hosts),
        "unmanaged": sum(one.fields.get("sm_lid") in (None, 0) for one in waiting),
    }
    yield replace(
        waiting[0], name="ib.ports_waiting", fields=fields, fact=None, host=None, nic=None
    )


def _listed(statements: Sequence[Event]) -> Used:
    """Return the adapters that NCCL says it uses."""
    found: Used = set()
    for event in statements:
        hcas = event.fields.get("hcas") if event.name == "nccl.ib.devices" else None
        for name in hcas if isinstance(hcas, list) else ():
            # the ports of one adapter are joined by a plus
            found.update((event.host, one) for one in str(name).split("+"))
    return found


def _named(statements: Sequence[Event]) -> Used:
    """Return the adapters that NCCL_IB_HCA names in full."""
    found: Used = set()
    for event in statements:
        value = str(event.fields.get("value") or "")
        if event.fields.get("name") == "NCCL_IB_HCA" and value[:1] != "^":
            names = (name.partition(":")[0] for name in value.lstrip("=").split(","))
            found.update((event.host, name) for name in names if name[-1:].isdigit())
    return found


def _derived(event: Event, name: str, more: dict[str, Value]) -> Event:
    """Return an event about a port at its reading, with its state."""
    fields = {field: event.fields.get(field) for field in SHOWN}
    return replace(event, name=name, fields={**fields, **more}, fact=None)


def _kept_down(event: Event) -> bool:
    """Return whether the link is there and the subnet or the policy of the host keeps it down."""
    infiniband = event.fields.get("link_layer") == "InfiniBand"
    return infiniband and event.fields.get("phys_state") == "LinkUp"


def _is_odd(event: Event) -> bool:
    """Return whether a port down among active ones was not switched off and has a known type."""
    return event.fields.get("board") is not None and event.fields.get("phys_state") in SEEKING
