"""PCIe slots of GPUs and network adapters: against the network rate, and beside their like.

``pci.slot`` has the fields of ``pci.link`` and ``rate_gbps``, the rate of the adapter's port;
``raw_gbps``, what the slot carries one way before any overhead (GT/s by lanes); ``nic``, the RDMA
device or else the interface; ``alike``, how many devices of its model were read, and ``same``,
how many of these have its link. Where ``same`` is all of them, the machine is made so.

``pci.redirected`` is a port of a PCIe switch whose access control sends requests between devices
up to the root, with ``below``, the GPUs and adapters behind it. On a root port they go there
anyway.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from diagnose.facts.fabric.adapters import place
from diagnose.facts.records import Named
from diagnose.model.event import Event, Value

EVENTS = ("pci.slot", "pci.redirected")

KINDS = ("gpu", "nic")

Slot = tuple[str, str]
"""Host or file, and PCI address."""


def derive(named: Named) -> Iterator[Event]:
    """Yield both events, at the line of the link or of the access control."""
    links = [event for event in named.get("pci.link", ()) if event.fields.get("kind") in KINDS]
    yield from _slots(links, named)
    yield from _redirected(links, named)


def _slots(links: list[Event], named: Named) -> Iterator[Event]:
    owners = _owners(named)
    rates = _rates(named)
    alike = Counter(event.fields.get("device") for event in links)
    same = Counter(_state(event) for event in links)
    for event in links:
        where, address = place(event), str(event.fields.get("pci"))
        names = owners.get((where, address), [])
        known = [rate for name in names if (rate := rates.get((where, name)))]
        fields: dict[str, Value] = {
            **event.fields,
            "rate_gbps": max(known, default=None),
            "raw_gbps": (event.number("speed") or 0) * (event.number("width") or 0),
            "alike": alike[event.fields.get("device")],
            "same": same[_state(event)],
        }
        nic = names[0] if names else None
        yield replace(event, name=EVENTS[0], fields=fields, fact=None, nic=nic)


def _state(event: Event) -> tuple[Value, ...]:
    return tuple(event.fields.get(name) for name in ("device", "speed", "width"))


def _owners(named: Named) -> dict[Slot, list[str]]:
    """Return the RDMA device and the interface behind each PCI address."""
    found: dict[Slot, list[str]] = {}
    for kind, names in (("ib.netdev", ("device", "netdev")), ("net.driver", ("interface",))):
        for event in named.get(kind, ()):
            if address := event.fields.get("pci"):
                known = found.setdefault((place(event), str(address)), [])
                known += [str(name) for one in names if (name := event.fields.get(one))]
    return found


def _rates(named: Named) -> dict[tuple[str, str], float]:
    """Return the rate in Gbit/s of devices and interfaces that have a link."""
    found: dict[tuple[str, str], float] = {}
    for event in named.get("ib.port", ()):
        rate = event.number("rate_gbps")
        if rate and event.fields.get("state") == "ACTIVE":
            found[place(event), str(event.fields.get("device"))] = rate
    for event in named.get("net.link", ()):
        speed = event.number("speed_gbps")
        if speed:
            found[place(event), str(event.fields.get("interface"))] = speed
    return found


def _redirected(links: list[Event], named: Named) -> Iterator[Event]:
    devices: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for event in links:
        domain, bus, _ = str(event.fields.get("pci")).split(":")
        label = f"{event.fields['kind']} {event.fields['pci']}"
        devices.setdefault((place(event), domain), []).append((int(bus, 16), label))
    for event in named.get("pci.access_control", ()):
        first, last = event.number("secondary"), event.number("subordinate")
        switched = event.fields.get("port") == "Downstream" and event.fields.get("redirects")
        if not switched or first is None or last is None:
            continue
        domain = str(event.fields.get("pci")).partition(":")[0]
        behind = devices.get((place(event), domain), [])
        below: list[Value] = [label for bus, label in behind if first <= bus <= last]
        if below:
            fields: dict[str, Value] = {**event.fields, "below": below}
            yield replace(event, name=EVENTS[1], fields=fields, fact=None)
