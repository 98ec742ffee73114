"""The inventory that logs show: a draft, for a person to complete and correct.

Only what the logs say without contradiction gets into it. What they show of some hosts alone is
taken for that of all with the same adapters, where nothing speaks against it. Adapters that NCCL
uses are for compute traffic, others that tools list are taken for storage; without a list of NCCL
all are for compute. Rails are guessed by the order of the adapters.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from diagnose.facts.case import Case
from diagnose.facts.topology.built import built, completed, natural, only
from diagnose.facts.topology.differences import WRITERS
from diagnose.model.event import Event, Value
from diagnose.model.topology import (
    Host,
    HostClass,
    Routing,
    Topology,
    is_guid,
    port_key,
)
from diagnose.parsers.convert import address

NAME = re.compile(r"[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
"""What a host may be called; an address is no name."""


def draft(case: Case, file: str) -> Topology:
    """Return the inventory of the hosts in the logs; it has none where they name none.

    Args:
        case: The run.
        file: What the inventory will be called.
    """
    by_host: dict[str, list[Event]] = defaultdict(list)
    for event in case.events:
        if event.host is not None and NAME.fullmatch(event.host) and _is_own(event):
            by_host[event.host].append(event)
    names = sorted(by_host, key=natural)
    ports = _unique(one for name in names for one in _ports(name, by_host[name]))
    addresses: dict[str, dict[str, str]] = defaultdict(dict)
    for key, (host, interface) in ports.items():
        if not is_guid(key):
            addresses[host][interface] = key
    kinds: dict[HostClass, HostClass] = {}
    hosts = {}
    for name, found in zip(names, completed([built(by_host[one]) for one in names]), strict=True):
        kind = kinds.setdefault(found, replace(found, name=f"class-{len(kinds) + 1}"))
        hosts[name] = Host(
            name=name,
            line=0,
            kind=kind,
            leaves=dict(_leaves(kind, by_host[name])),
            addresses=addresses.get(name, {}),
        )
    rails = {nic.rail for kind in kinds.values() for nic in kind.nics if nic.rail is not None}
    return Topology(
        file=file,
        rails=tuple(sorted(rails, key=natural)),
        hosts=hosts,
        ports=ports,
        routing=_routing(case),
    )


def _is_own(event: Event) -> bool:
    return event.name.startswith(WRITERS) or isinstance(event.fields.get("switch"), str)


def _ports(host: str, events: Iterable[Event]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the addresses and port GUIDs of a host with their interfaces."""
    for event in events:
        said = event.fields.get("address")
        real = event.name == "nccl.bootstrap_interface" and not event.fields.get("virtual")
        key = port_key(address(said)) if real and isinstance(said, str) else None
        if key is not None and not is_guid(key):
            yield key, (host, str(event.fields.get("interface")))
        gid = event.fields.get("gid")
        infiniband = event.fields.get("link_layer") == "InfiniBand"
        if event.name == "ib.port" and infiniband and isinstance(gid, str) and gid.count(":") == 7:
            yield "".join(gid.lower().split(":")[4:]), (host, str(event.fields.get("device")))


def _unique(found: Iterable[tuple[str, tuple[str, str]]]) -> dict[str, tuple[str, str]]:
    """Return the owner of each key; keys of two owners, and owners with two keys, are left out."""
    owners: dict[str, set[tuple[str, str]]] = defaultdict(set)
    keys: dict[tuple[bool, tuple[str, str]], set[str]] = defaultdict(set)
    for key, owner in found:
        owners[key].add(owner)
        keys[is_guid(key), owner].add(key)
    single = {key: next(iter(several)) for key, several in owners.items() if len(several) == 1}
    return {key: owner for key, owner in single.items() if len(keys[is_guid(key), owner]) == 1}


def _leaves(kind: HostClass, events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    found: dict[str, set[Value]] = defaultdict(set)
    for event in events:
        names = (event.nic, event.fields.get("interface"))
        nic = next((one for name in names if (one := kind.nic(str(name))) is not None), None)
        if nic is not None and nic.rail is not None and event.fields.get("switch"):
            found[nic.rail].add(event.fields.get("switch"))
    for rail, switches in sorted(found.items(), key=lambda one: natural(one[0])):
        if isinstance(switch := only(switches), str):
            yield rail, switch


def _routing(case: Case) -> Routing:
    mtus = {event.fields.get("active_mtu") for event in case.named("ib.port")}
    said: dict[Value, set[Value]] = defaultdict(set)
    for event in case.named("nccl.env"):
        said[event.fields.get("name")].add(str(event.fields.get("value")))
    index, mtu = only(said["NCCL_IB_GID_INDEX"]), only(mtus)
    return Routing(
        gid_index=int(index) if isinstance(index, str) and index.isdecimal() else None,
        mtu=mtu if isinstance(mtu, int) else None,
    )
