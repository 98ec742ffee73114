"""MTU of RDMA ports and of the interfaces below them, and where hosts differ.

=================== =============================================================================
``ib.mtu``          A device with ``active_mtu`` and ``max_mtu`` of its port and
                    ``interface_mtu`` of its network interface in bytes; what was not read is None;
                    ``used`` by NCCL, None where nothing tells; ``larger_beside``, another device
                    of the host has more
``net.mtu_differs`` A device or interface whose MTU is not the same on all hosts; ``of`` says which
                    MTU and ``subject`` of what, ``carries`` whether RDMA goes over it (``rdma``,
                    ``other``, ``unknown``), ``values`` who has which. Where most hosts agree
                    (``usual``), one event for each of the others; else one that names nobody
=================== =============================================================================

An RDMA packet of 4096 bytes needs 4200 of Ethernet; 1500 leave room for 1024.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from diagnose.facts.fabric.adapters import Adapters, place, said
from diagnose.facts.records import Named
from diagnose.facts.stated import Member, usual_of
from diagnose.model.event import Event, Value

EVENTS = ("ib.mtu", "net.mtu_differs")

LARGEST = 4096
"""Bytes of the largest RDMA packets."""

Readings = dict[str, dict[str, Event]]
"""By device or interface and host or file."""


def derive(named: Named, adapters: Adapters) -> Iterator[Event]:
    """Yield the MTU of each device, and the differences."""
    ports: Readings = {}
    for event in named.get("ib.port", ()):
        if event.fields.get("state") == "ACTIVE" and event.number("active_mtu"):
            ports.setdefault(str(event.fields.get("device")), {})[place(event)] = event
    interfaces: Readings = {}
    for event in named.get("net.interface", ()):
        if event.fields.get("carrier") and event.number("mtu"):
            interfaces.setdefault(str(event.fields["interface"]), {})[place(event)] = event
    yield from _devices(ports, interfaces, adapters)
    for device, found in ports.items():
        if not any(adapters.used(where, device) is False for where in found):
            yield from _differences(device, found, "active_mtu", "rdma")
    for interface, found in interfaces.items():
        if any(event.fields.get("addresses") for event in found.values()):
            yield from _differences(interface, found, "mtu", _carries(interface, found, adapters))


def _devices(ports: Readings, interfaces: Readings, adapters: Adapters) -> Iterator[Event]:
    below = {
        (where, device): interfaces[name][where]
        for where, device, name in adapters.interfaces()
        if where in interfaces.get(name, {})
    }
    keys = {(where, device) for device, found in ports.items() for where in found}
    largest: dict[str, float] = {}
    for where, device in keys | set(below):
        size = _size(ports.get(device, {}).get(where), below.get((where, device)))
        largest[where] = max(largest.get(where, 0), size)
    for where, device in sorted(keys | set(below)):
        port, interface = ports.get(device, {}).get(where), below.get((where, device))
        cited = interface or port
        assert cited is not None
        over_ethernet = port.fields.get("link_layer") != "InfiniBand" if port else True
        ethernet = over_ethernet and interface is not None and _is_ethernet(interface)
        fields: dict[str, Value] = {
            "device": device,
            "interface": interface.fields["interface"] if interface else None,
            "interface_mtu": interface.fields["mtu"] if interface and ethernet else None,
            "active_mtu": port.fields["active_mtu"] if port else None,
            "max_mtu": port.fields.get("max_mtu") if port else None,
            "larger_beside": _size(port, interface) < largest[where],
            "used": adapters.used(where, device),
        }
        yield replace(cited, name=EVENTS[0], fields=fields, fact=None, nic=device)


def _size(port: Event | None, interface: Event | None) -> float:
    """Return the RDMA MTU of a port, else the most that its interface could have room for."""
    if port is not None:
        return port.number("active_mtu") or 0
    return min((interface.number("mtu") or 0) if interface else 0, LARGEST)


def _is_ethernet(interface: Event) -> bool:
    return interface.fields.get("link") in ("ether", None)


def _carries(interface: str, found: Mapping[str, Event], adapters: Adapters) -> str:
    """Return whether RDMA goes over an interface on any of its hosts."""
    for where in found:
        device = adapters.device(where, interface)
        if device is not None and adapters.used(where, device) is not False:
            return "rdma"
    return "other" if adapters.interfaces() else "unknown"


def _differences(name: str, found: Mapping[str, Event], of: str, carries: str) -> Iterator[Event]:
    values: dict[str, Value] = {where: event.fields[of] for where, event in found.items()}
    if len(set(values.values())) < 2 or None in (event.host for event in found.values()):
        return
    usual = usual_of(Member(str(value), found[where]) for where, value in values.items())
    fields: dict[str, Value] = {
        "subject": name, "of": of, "carries": carries, "usual": usual, "values": said(values),
    }  # fmt: skip
    if usual is None:
        first = found[min(found)]
        yield replace(first, name=EVENTS[1], fields=fields, fact=None, host=None, nic=None)
        return
    for where in sorted(found):
        if str(values[where]) != usual:
            own = {**fields, "value": values[where]}
            yield replace(found[where], name=EVENTS[1], fields=own, fact=None)
