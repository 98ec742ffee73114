"""A team's inventory of its network and machines: who has which address, adapter and switch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal

Role = Literal["compute", "storage", "management"]
Layer = Literal["InfiniBand", "Ethernet"]
Reach = Literal["full", "rail-only"]

MEMBER = 0x7FFF
"""Bits of a partition key without that of full membership."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One network adapter of every host of a class.

    Args:
        device: RDMA device, such as ``mlx5_3``.
        rail: The rail it belongs to, None where it belongs to none.
        role: What it is for; jobs use those for ``compute``.
        rate: Gb/s of the link.
        link_layer: What the link is.
        pci: PCI address, as ``0000:5d:00.0``.
        netdev: Network interface of the same port.
        gpu: Index of the GPU that it serves.
    """

    device: str
    rail: str | None = None
    role: Role = "compute"
    rate: float | None = None
    link_layer: Layer | None = None
    pci: str | None = None
    netdev: str | None = None
    gpu: int | None = None


@dataclass(frozen=True, kw_only=True)
class HostClass:
    """Hosts that are built alike.

    Args:
        name: As the team calls them.
        gpu: Model of the GPUs, such as ``H100``.
        gpus: How many there are.
        nics: The adapters, in the order of the file.
    """

    name: str
    gpu: str | None = None
    gpus: int | None = None
    nics: tuple[Nic, ...] = ()

    def nic(self, name: str | None) -> Nic | None:
        """Return the adapter of a device, network interface or PCI address."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str | None, Nic]:
        names = [(name, one) for one in self.nics for name in (one.pci, one.netdev, one.device)]
        return {name: one for name, one in names if name is not None}


NO_CLASS = HostClass(name="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host; texts that are not stated are None.

    Args:
        name: Its short name.
        line: Where it stands in the file.
        kind: How it is built.
        rack: Where it stands.
        power: What feeds it.
        location: Room, row or building.
        leaves: The switch that it is connected to, by rail; without rails by an empty name.
        addresses: IP address by interface.
    """

    name: str
    line: int
    kind: HostClass = NO_CLASS
    rack: str | None = None
    power: str | None = None
    location: str | None = None
    leaves: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)

    def leaf(self, nic: Nic) -> str | None:
        """Return the switch that an adapter is connected to."""
        return self.leaves.get(nic.rail or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One InfiniBand partition: hosts without a common one cannot talk.

    Args:
        name: As the team calls it.
        pkey: Its key, without the bit of full membership.
        hosts: Its members.
    """

    name: str
    pkey: int
    hosts: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """How the network is set up; None where it is not stated.

    Args:
        reach: Whether rails reach one another or only themselves.
        gid_index: Index of the GID that RoCE uses.
        mtu: Bytes of an RDMA packet.
        traffic_class: ToS byte of RoCE packets.
        subnets: IP network by rail.
    """

    reach: Reach | None = None
    gid_index: int | None = None
    mtu: int | None = None
    traffic_class: int | None = None
    subnets: Mapping[str, IPv4Network | IPv6Network] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A topology file.

    Args:
        file: As the user named it.
        rails: Their names, in order.
        hosts: By name.
        names: Host of each other name and of each address.
        ports: Host and interface of each address and port GUID, as ``port_key`` writes them.
        partitions: In the order of the file.
        routing: How the network is set up.
    """

    file: str
    rails: tuple[str, ...] = ()
    hosts: Mapping[str, Host]
    names: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    partitions: tuple[Partition, ...] = ()
    routing: Routing = field(default_factory=Routing)

    def port(self, text: str) -> tuple[str, str] | None:
        """Return host and interface of an address, GID or port GUID, None where nobody has it."""
        found = self.ports.get(port_key(text) or "")
        if found is None and text.count(":") == 7:
            # The subnet prefix of an InfiniBand GID is the fabric's own; its end is the GUID.
            return self.ports.get("".join(text.lower().split(":")[4:]))
        return found

    def owner(self, text: str) -> str | None:
        """Return the host that has a name or an address."""
        if text in self.hosts:
            return text
        found = self.port(text)
        return self.names.get(text) or (found[0] if found else None)


def is_guid(key: str) -> bool:
    """Return whether a key of ``port_key`` is the GUID of a port, not an IP address."""
    return "." not in key and ":" not in key


def port_key(text: str) -> str | None:
    """Return what an address, GID or port GUID names: an IP address, else the GUID in hexadecimal.

    ``::ffff:10.20.3.9`` (the GID of RoCE v2) is ``10.20.3.9``; a link-local GID ends in the GUID of
    its port. None for anything else.
    """
    bare = text.lower().removeprefix("0x")
    if len(bare) == 16 and set(bare) <= set("0123456789abcdef"):
        return bare
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{int(found) & 0xFFFF_FFFF_FFFF_FFFF:016x}" if found.is_link_local else str(found)
