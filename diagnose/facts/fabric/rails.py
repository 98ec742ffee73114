"""Interfaces that are cabled to another leaf switch than the same interface of the other hosts.

Ethernet ports learn their switch from its announcements, InfiniBand ones from a view of the
fabric. ``net.rail_odd`` is such an interface or RDMA device: ``interface``, ``switch``, ``usual``
(the leaf of most hosts), ``agree`` of ``of`` hosts, ``rail``, the interface that usually has this
switch, and ``crossed``, that two cables of the host are exchanged. A host of which no leaf is
known to be usual stands elsewhere, and is no fault; so is an interface for which the hosts do not
agree, such as one for management with a switch in each rack.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from diagnose.facts.fabric.adapters import Adapters
from diagnose.facts.records import Named
from diagnose.facts.stated import Member, usual_of
from diagnose.model.event import Event

EVENTS = ("net.rail_odd",)

CABLES = (("net.neighbour", "interface"), ("ib.link", "device"))
"""Events that name both ends of a cable, with the field that holds the host's end."""


def derive(named: Named, adapters: Adapters) -> Iterator[Event]:
    """Yield the interfaces on another leaf, at what their switch said."""
    by_interface: dict[str, dict[str, Event]] = defaultdict(dict)
    by_host: dict[str, dict[str, Event]] = defaultdict(dict)
    for name, end in CABLES:
        for event in named.get(name, ()):
            interface = event.fields.get(end)
            if event.host is not None and interface and event.fields.get("switch"):
                by_interface[str(interface)][event.host] = event
                by_host[event.host][str(interface)] = event
    usual = {interface: _usual(found) for interface, found in by_interface.items()}
    rails = {switch: interface for interface, switch in usual.items() if switch is not None}
    for interface, found in by_interface.items():
        for host in sorted(found):
            switch = _switch(found[host])
            if usual[interface] in (None, switch):
                continue
            rail = rails.get(switch)
            others = by_host[host]
            in_place = [one for one, event in others.items() if usual[one] == _switch(event)]
            if rail is None and not in_place:
                continue
            crossed = rail in others and _switch(others[rail]) == usual[interface]
            agree = sum(_switch(event) == usual[interface] for event in found.values())
            nic = adapters.device(host, interface) or interface
            yield replace(found[host], name=EVENTS[0], fact=None, nic=nic, fields={
                "interface": interface, "switch": switch, "usual": usual[interface],
                "switch_port": found[host].fields.get("switch_port"),
                "seconds": found[host].fields.get("seconds"), "rail": rail,
                "crossed": crossed, "agree": agree, "of": len(found),
            })  # fmt: skip


def _usual(found: Mapping[str, Event]) -> str | None:
    return usual_of(Member(_switch(event), event) for event in found.values())


def _switch(event: Event) -> str:
    return str(event.fields["switch"])
