"""What readings of ports, counters and hosts say of the fabric when they are laid side by side."""

from collections.abc import Iterator

from diagnose.facts.clock import Clocks
from diagnose.facts.fabric import (
    addresses,
    affinity,
    counters,
    drops,
    flow_control,
    idle,
    mtu,
    odd_hosts,
    outliers,
    ports,
    rails,
    readings,
    silence,
    slots,
    socket_interfaces,
    states,
    subnets,
)
from diagnose.facts.fabric.adapters import Adapters
from diagnose.facts.records import Named
from diagnose.model.event import Event

EVENTS = (
    *subnets.EVENTS,
    *ports.EVENTS,
    *states.EVENTS,
    *odd_hosts.EVENTS,
    *counters.EVENTS,
    *drops.EVENTS,
    *outliers.EVENTS,
    *silence.EVENTS,
    *idle.EVENTS,
    *flow_control.EVENTS,
    *addresses.EVENTS,
    *mtu.EVENTS,
    *affinity.EVENTS,
    *rails.EVENTS,
    *slots.EVENTS,
    *socket_interfaces.EVENTS,
)

USED = ("nccl.ib.devices", "nccl.env")
"""Statements which adapters a job uses."""


def derive(named: Named, clocks: Clocks) -> Iterator[Event]:
    """Yield the derived events, each at the place of a reading.

    Args:
        named: All of the input, with hosts completed.
        clocks: Of the input, repaired.
    """
    yield from _of_ports(named)
    yield from _counted(named, clocks)
    yield from _of_hosts(named)


def _of_ports(named: Named) -> Iterator[Event]:
    """Yield what the states and rates of ports say beside each other."""
    of_ports = named.get("ib.port", ())
    yield from subnets.derive(of_ports)
    yield from ports.derive(of_ports)
    yield from states.derive(of_ports, [event for name in USED for event in named.get(name, ())])
    yield from odd_hosts.derive(named)


def _counted(named: Named, clocks: Clocks) -> Iterator[Event]:
    """Yield what follows from the counters of ports."""
    by_port = readings.by_port(readings.place(named))
    if not by_port:
        return
    grown = {key: counters.growths(of_port, clocks) for key, of_port in by_port.items()}
    yield from counters.derive(grown)
    yield from drops.derive(by_port, grown)
    yield from outliers.derive(by_port, grown, named.get("ib.errors_summary", ()))
    yield from silence.derive(grown)
    yield from idle.derive(by_port, grown)
    yield from flow_control.derive(by_port, grown, named.get("roce.pfc", ()))


def _of_hosts(named: Named) -> Iterator[Event]:
    """Yield what the tools of each host say of its addresses, interfaces, slots and cables."""
    adapters = Adapters(named)
    yield from addresses.derive(named, adapters)
    yield from mtu.derive(named, adapters)
    yield from affinity.derive(named, adapters)
    yield from rails.derive(named, adapters)
    yield from slots.derive(named)
    yield from socket_interfaces.derive(named)
