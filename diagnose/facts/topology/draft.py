"""The inventory that logs show: a draft, for a person to complete and correct.

Only what the logs say without contradiction gets into it. What they show of some hosts alone is
taken for that of all with the same adapters, where nothing speaks against it. Adapters that NCCL
uses are for compute traffic, others that tools list are taken for storage; without a list of NCCL
all are for compute. Rails are guessed by the order of the adapters.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from diagnose.facts.case import Case
from diagnose.facts.topology.differences import WRITERS
from diagnose.facts.topology.observations import LAYERS
from diagnose.model.event import Event, Value
from diagnose.model.topology import (
    Host,
    HostClass,
    Layer,
    Nic,
    Role,
    Routing,
    Topology,
    port_key,
)
from diagnose.parsers.convert import address

NAME = re.compile(r"[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
"""What a host may be called; an address is no name."""

Part = TypeVar("Part", Nic, HostClass)

_NUMBER = re.compile(r"(\d+)")


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
    names = sorted(by_host, key=_natural)
    ports = _unique(one for name in names for one in _ports(name, by_host[name]))
    addresses: dict[str, dict[str, str]] = defaultdict(dict)
    for key, (host, interface) in ports.items():
        if "." in key:
            addresses[host][interface] = key
    kinds: dict[HostClass, HostClass] = {}
    hosts = {}
    for name, found in zip(names, _filled([_kind(by_host[one]) for one in names]), strict=True):
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
        rails=tuple(sorted(rails, key=_natural)),
        hosts=hosts,
        ports=ports,
        routing=_routing(case),
    )


def _is_own(event: Event) -> bool:
    return event.name.startswith(WRITERS) or isinstance(event.fields.get("switch"), str)


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key by which node-9 comes before node-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBER.split(name)]


def _ports(host: str, events: Iterable[Event]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the addresses and port GUIDs of a host with their interfaces."""
    for event in events:
        said = event.fields.get("address")
        real = event.name == "nccl.bootstrap_interface" and not event.fields.get("virtual")
        if real and isinstance(said, str):
            yield port_key(address(said)) or "", (host, str(event.fields.get("interface")))
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
        keys["." in key, owner].add(key)
    return {
        key: owner
        for key, (owner, *others) in ((key, sorted(all_)) for key, all_ in owners.items())
        if key and not others and len(keys["." in key, owner]) == 1
    }


def _kind(events: Iterable[Event]) -> HostClass:
    """Return how a host is built, without a name."""
    values: dict[str, set[Value]] = defaultdict(set)
    listed: dict[str, dict[str, set[Value]]] = defaultdict(lambda: defaultdict(set))
    used: set[str] = set()
    slots: dict[str, str] = {}
    for event in events:
        device = str(event.fields.get("device"))
        if event.name == "nvidia_smi.gpu":
            values["gpu"].add(event.fields.get("name"))
            values["gpus"].add(event.fields.get("listed"))
        elif event.name == "ib.port":
            active = event.fields.get("state") == "ACTIVE"
            unsaid = event.fields.get("tool") == "ibstatus" and event.fields.get("speed") is None
            listed[device]["rate"].add(event.number("rate_gbps") if active and not unsaid else None)
            listed[device]["link_layer"].add(event.fields.get("link_layer"))
            listed[device]["netdev"].add(event.fields.get("netdev"))
        elif event.name == "nccl.ib.devices" and event.fields.get("net") == "IB":
            for said in _texts(event.fields.get("devices")):
                name = said.partition(":")[0]
                used.add(name)
                listed[name]["link_layer"].add(LAYERS.get(said.rpartition("/")[2]))
        elif event.name == "kernel.nic" and event.nic and isinstance(event.fields.get("pci"), str):
            slots[event.nic] = str(event.fields["pci"])
    rails = {device: str(at) for at, device in enumerate(sorted(used or listed, key=_natural))}
    nics = [
        _nic(device, listed[device], slots, rails.get(device))
        for device in sorted(listed, key=_natural)
    ]
    gpu, gpus = _one(values["gpu"]), _one(values["gpus"])
    return HostClass(
        name="",
        gpu=gpu if isinstance(gpu, str) else None,
        gpus=int(gpus) if isinstance(gpus, int | float) else None,
        nics=tuple(nics),
    )


def _filled(kinds: Sequence[HostClass]) -> list[HostClass]:
    """Return classes with what others of the same adapters say of what they leave open."""
    alike: dict[tuple[tuple[str, Role], ...], list[HostClass]] = defaultdict(list)
    for kind in kinds:
        alike[tuple((nic.device, nic.role) for nic in kind.nics)].append(kind)
    filled: dict[HostClass, HostClass] = {}
    for several in alike.values():
        rows = zip(*(kind.nics for kind in several), strict=True)
        known = [_stated(row, ("rate", "link_layer", "pci", "netdev")) for row in rows]
        of_host = _stated(several, ("gpu", "gpus"))
        for kind in set(several):
            pairs = zip(kind.nics, known, strict=True)
            nics = tuple(_completed(nic, of_nic) for nic, of_nic in pairs)
            filled[kind] = replace(_completed(kind, of_host), nics=nics)
    return [filled[kind] for kind in kinds]


def _stated(things: Iterable[Nic | HostClass], fields: Sequence[str]) -> dict[str, Any]:
    """Return the fields of which several things say one value."""
    found = {field: _one({getattr(thing, field) for thing in things}) for field in fields}
    return {field: value for field, value in found.items() if value is not None}


def _completed(thing: Part, known: Mapping[str, Any]) -> Part:
    """Return a thing with known values for what it leaves open."""
    return replace(
        thing, **{key: value for key, value in known.items() if getattr(thing, key) is None}
    )


def _nic(
    device: str, said: Mapping[str, set[Value]], slots: Mapping[str, str], rail: str | None
) -> Nic:
    rates = [rate for rate in said.get("rate", ()) if isinstance(rate, int | float)]
    netdev, layer = (_one(said.get(key, set())) for key in ("netdev", "link_layer"))
    role: Role = "storage" if rail is None else "compute"
    layers: tuple[Layer, ...] = ("InfiniBand", "Ethernet")
    return Nic(
        device=device,
        rail=rail,
        role=role,
        rate=min(rates, default=None),
        link_layer=next((one for one in layers if one == layer), None),
        pci=slots.get(device) or slots.get(str(netdev)),
        netdev=netdev if isinstance(netdev, str) else None,
    )


def _leaves(kind: HostClass, events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    found: dict[str, set[Value]] = defaultdict(set)
    for event in events:
        names = (event.nic, event.fields.get("interface"))
        nic = next((one for name in names if (one := kind.nic(str(name))) is not None), None)
        if nic is not None and nic.rail is not None and event.fields.get("switch"):
            found[nic.rail].add(event.fields.get("switch"))
    for rail, switches in sorted(found.items(), key=lambda one: _natural(one[0])):
        if isinstance(switch := _one(switches), str):
            yield rail, switch


def _routing(case: Case) -> Routing:
    mtus = {event.fields.get("active_mtu") for event in case.named("ib.port")}
    said: dict[Value, set[Value]] = defaultdict(set)
    for event in case.named("nccl.env"):
        said[event.fields.get("name")].add(str(event.fields.get("value")))
    index, mtu = _one(said["NCCL_IB_GID_INDEX"]), _one(mtus)
    return Routing(
        gid_index=int(index) if isinstance(index, str) and index.isdecimal() else None,
        mtu=mtu if isinstance(mtu, int) else None,
    )


def _one(values: set[Value]) -> Value:
    """Return the only value that was said, None where there are none or several."""
    known = values - {None}
    return known.pop() if len(known) == 1 else None


def _texts(values: Value) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []
