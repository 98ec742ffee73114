"""How hosts are built, as their logs show it: GPUs and adapters."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from diagnose.facts.topology.observations import LAYERS, active_rate, texts
from diagnose.model.event import Event, Value
from diagnose.model.topology import HostClass, Layer, Nic, Role

Thing = TypeVar("Thing", Nic, HostClass)

_NUMBER = re.compile(r"(\d+)")


def built(events: Iterable[Event]) -> HostClass:
    """Return how a host is built as its records show it, without a name for that."""
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
            listed[device]["rate"].add(active_rate(event))
            listed[device]["link_layer"].add(event.fields.get("link_layer"))
            listed[device]["netdev"].add(event.fields.get("netdev"))
        elif event.name == "nccl.ib.devices" and event.fields.get("net") == "IB":
            for said in texts(event.fields.get("devices")):
                name = said.partition(":")[0]
                used.add(name)
                listed[name]["link_layer"].add(LAYERS.get(said.rpartition("/")[2]))
        elif event.name == "kernel.nic" and event.nic and isinstance(event.fields.get("pci"), str):
            slots[event.nic] = str(event.fields["pci"])
    rails = {device: str(at) for at, device in enumerate(sorted(used or listed, key=natural))}
    nics = [
        _nic(device, listed[device], slots, rails.get(device))
        for device in sorted(listed, key=natural)
    ]
    gpu, gpus = only(values["gpu"]), only(values["gpus"])
    return HostClass(
        name="",
        gpu=gpu if isinstance(gpu, str) else None,
        gpus=int(gpus) if isinstance(gpus, int | float) else None,
        nics=tuple(nics),
    )


def completed(kinds: Sequence[HostClass]) -> list[HostClass]:
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
            nics = tuple(_with(nic, of_nic) for nic, of_nic in pairs)
            filled[kind] = replace(_with(kind, of_host), nics=nics)
    return [filled[kind] for kind in kinds]


def _stated(things: Iterable[Nic | HostClass], fields: Sequence[str]) -> dict[str, Any]:
    """Return the fields of which several things say one value."""
    found = {field: only({getattr(thing, field) for thing in things}) for field in fields}
    return {field: value for field, value in found.items() if value is not None}


def _with(thing: Thing, known: Mapping[str, Any]) -> Thing:
    """Return a thing with known values for what it leaves open."""
    return replace(
        thing, **{key: value for key, value in known.items() if getattr(thing, key) is None}
    )


def _nic(
    device: str, said: Mapping[str, set[Value]], slots: Mapping[str, str], rail: str | None
) -> Nic:
    rates = [rate for rate in said.get("rate", ()) if isinstance(rate, int | float)]
    netdev, layer = (only(said.get(key, set())) for key in ("netdev", "link_layer"))
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


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key by which node-9 comes before node-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBER.split(name)]


def only(values: set[Value]) -> Value:
    """Return the only value that was said, None where there are none or several."""
    known = values - {None}
    return known.pop() if len(known) == 1 else None
