"""Ports of the inventory, by the names that logs give them, and the parts they belong to."""

from collections.abc import Mapping
from typing import NamedTuple

from diagnose.model.event import Event
from diagnose.model.topology import Host, Nic, Topology

COMPUTE = "compute"

NAMED = ("device", "interface", "netdev", "pci")
"""Fields that may name an adapter."""


class Port(NamedTuple):
    """One port: the host, and the RDMA device; without one, the host as a whole."""

    host: str
    device: str | None


class Ports:
    """Finds ports.

    Args:
        topology: The inventory.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._parts: dict[Port, Mapping[str, str]] = {}

    def host(self, name: str | None) -> Host | None:
        """Return a host of the inventory."""
        return self.topology.hosts.get(name or "")

    def nic(self, event: Event) -> Nic | None:
        """Return the listed adapter that an event is about, by device, interface or PCI address."""
        host = self.host(event.host)
        if host is None:
            return None
        names = (event.nic, *(event.fields.get(field) for field in NAMED))
        found = (host.kind.nic(name) for name in names if isinstance(name, str))
        return next((nic for nic in found if nic is not None), None)

    def port(self, event: Event) -> Port | None:
        """Return the port for compute traffic that an event is about."""
        nic = self.nic(event)
        if nic is None or nic.role != COMPUTE or event.host is None:
            return None
        return Port(event.host, nic.device)

    def behind(self, address: str) -> Port | None:
        """Return the port for compute traffic that has an address or a GID."""
        found = self.topology.port(address)
        host = self.host(found[0]) if found else None
        nic = host.kind.nic(found[1]) if found and host else None
        return Port(host.name, nic.device) if host and nic and nic.role == COMPUTE else None

    def parts(self, port: Port) -> Mapping[str, str]:
        """Return the names of what a port depends on, by kind: leaf, rail, rack, power, location.

        A host as a whole has a leaf where all its adapters are connected to the same.
        """
        if port not in self._parts:
            self._parts[port] = dict(self._find(port))
        return self._parts[port]

    def _find(self, port: Port) -> list[tuple[str, str]]:
        host = self.host(port.host)
        if host is None:
            return []
        nic = host.kind.nic(port.device)
        leaves = set(host.leaves.values()) if nic is None else {host.leaf(nic)}
        found = {
            "leaf": next(iter(leaves)) if len(leaves) == 1 else None,
            "rail": nic.rail if nic else None,
            "rack": host.rack,
            "power": host.power,
            "location": host.location,
        }
        return [(kind, name) for kind, name in found.items() if name is not None]
