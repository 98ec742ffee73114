"""What readings of ports and counters say of the fabric when they are laid side by side."""

from collections.abc import Iterator, Sequence

from diagnose.facts.clock import Clocks
from diagnose.facts.fabric import (
    counters,
    drops,
    flow_control,
    idle,
    odd_hosts,
    outliers,
    ports,
    readings,
    silence,
    states,
    subnets,
)
from diagnose.model.event import Event

EVENTS = (
    *subnets.EVENTS,
    *counters.EVENTS,
    *drops.EVENTS,
    *outliers.EVENTS,
    *silence.EVENTS,
    *idle.EVENTS,
    *flow_control.EVENTS,
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
    yield from _counted(events, clocks)


def _counted(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield what follows from the counters of ports."""
    by_port = readings.by_port(readings.place(events))
    if not by_port:
        return
    grown = {key: counters.growths(of_port, clocks) for key, of_port in by_port.items()}
    yield from counters.derive(grown)
    yield from drops.derive(by_port, grown)
    summaries = [event for event in events if event.name == "ib.errors_summary"]
    yield from outliers.derive(by_port, grown, summaries)
    yield from silence.derive(grown)
    yield from idle.derive(by_port, grown)
    classes = [event for event in events if event.name == "roce.pfc"]
    yield from flow_control.derive(by_port, grown, classes)
