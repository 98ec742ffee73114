"""A run held against the inventory: what differs from it, and which part the failures share."""

from collections.abc import Iterator

from diagnose.facts.case import Case
from diagnose.facts.topology import differences, failures, vote
from diagnose.facts.topology.observations import observe
from diagnose.facts.topology.ports import Ports
from diagnose.model.event import Event
from diagnose.model.topology import Topology


def derive(topology: Topology, case: Case) -> Iterator[Event]:
    """Yield what follows from the logs and an inventory together.

    Args:
        topology: The inventory.
        case: The run, its hosts called as the inventory calls them.
    """
    ports = Ports(topology)
    observations = list(observe(ports, case))
    yield from differences.derive(ports, case, observations)
    for kind, failing, well in failures.groups(ports, case, observations):
        yield from vote.derive(ports, kind, failing, well)
