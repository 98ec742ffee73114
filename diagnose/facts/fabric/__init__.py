"""What readings of ports and counters say of the fabric when they are laid side by side."""

from collections.abc import Iterator, Sequence

from diagnose.facts.clock import Clocks
from diagnose.facts.fabric import counters, odd_hosts, ports, states, subnets
from diagnose.model.event import Event

EVENTS = (
    *subnets.EVENTS,
    *counters.EVENTS,
    *ports.EVENTS,
    *states.EVENTS,
    *odd_hosts.EVENTS,
)

USED = ("nccl.ib.devices", "nccl.env")
"""Statements which adapters a job uses."""


def derive(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield the derived events, each at the place of a reading."""
    of_ports = [event for event in events if event.name == "ib.port"]
    yield from subnets.derive(of_ports)
    yield from ports.derive(of_ports)
    yield from states.derive(of_ports, [event for event in events if event.name in USED])
    yield from odd_hosts.derive(events)
    yield from counters.derive([event for event in events if event.name == "ib.counter"], clocks)
