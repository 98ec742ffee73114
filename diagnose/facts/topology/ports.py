"""Ports of the inventory, by the names that logs give them, and the parts they belong to."""

from typing import Literal, NamedTuple

from diagnose.model.event import Event
from diagnose.model.topology import Host, Nic, Topology

Part = Literal["leaf", "rail", "rack", "power", "location"]

PARTS: tuple[Part, ...] = ("leaf", "rail", "rack", "power", "location")
"""What ports may have in common, the narrowest first."""

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

    def part(self, port: Port, kind: Part) -> str | None:
        """Return the name of what a port depends on; a host as a whole has no rail.

        It has a leaf where all its adapters are connected to the same.
        """
        host = self.topology.hosts[port.host]
        if kind == "rack":
            return host.rack
        if kind == "power":
            return host.power
        if kind == "location":
            return host.location
        nic = host.kind.nic(port.device)
        if nic is not None:
            return nic.rail if kind == "rail" else host.leaf(nic)
        leaves = set(host.leaves.values())
        return next(iter(leaves)) if kind == "leaf" and len(leaves) == 1 else None
