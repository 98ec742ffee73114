"""What readings of ports and counters say of the fabric when they are laid side by side."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from diagnose.facts.clock import Clocks
from diagnose.facts.fabric import (
    addresses,
    affinity,
    counters,
    mtu,
    ports,
    rails,
    slots,
    socket_interfaces,
    subnets,
)
from diagnose.facts.fabric.adapters import Adapters
from diagnose.model.event import Event

EVENTS = (
    *subnets.EVENTS,
    *counters.EVENTS,
    *ports.EVENTS,
    *addresses.EVENTS,
    *mtu.EVENTS,
    *affinity.EVENTS,
    *rails.EVENTS,
    *slots.EVENTS,
    *socket_interfaces.EVENTS,
)


def derive(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield the derived events, each at the place of a reading."""
    of_ports = [event for event in events if event.name == "ib.port"]
    yield from subnets.derive(of_ports)
    yield from ports.derive(of_ports)
    yield from counters.derive([event for event in events if event.name == "ib.counter"], clocks)
    yield from _of_hosts(events)


def _of_hosts(events: Sequence[Event]) -> Iterator[Event]:
    """Yield what the tools of each host say of its addresses, interfaces, slots and cables."""
    named: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        named[event.name].append(event)
    adapters = Adapters(named)
    yield from addresses.derive(named, adapters)
    yield from mtu.derive(named, adapters)
    yield from affinity.derive(named, adapters)
    yield from rails.derive(named, adapters)
    yield from slots.derive(named)
    yield from socket_interfaces.derive(named)
