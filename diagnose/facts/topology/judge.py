"""Holds a run against an inventory."""

from diagnose.facts.case import Case
from diagnose.facts.topology import differences, failures, vote
from diagnose.facts.topology.observations import nccl_lists, observe
from diagnose.facts.topology.ports import Ports
from diagnose.model.topology import Topology


def hold_against(topology: Topology, case: Case) -> None:
    """Add what follows from the logs and an inventory together to a case.

    Args:
        topology: The inventory.
        case: The run, its hosts called as the inventory calls them.
    """
    ports = Ports(topology)
    lists = nccl_lists(ports, case)
    observations = list(observe(ports, case, lists))
    found = list(differences.derive(ports, case, observations))
    for kind, failing, well in failures.groups(ports, case, lists, observations):
        found += vote.derive(ports, kind, failing, well)
    case.add(found)
