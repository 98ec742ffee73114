"""RDMA devices of hosts: which of them the job uses, and which network interface each one has."""

from collections.abc import Mapping

from diagnose.facts.records import Named
from diagnose.model.event import Event, Value

NAMED = 10
"""Hosts that a text names at most."""


def place(event: Event) -> str:
    """Return the host of a reading, else the file, which then stands for one."""
    return event.host or event.file


def selected(name: str, value: str, *, exact: bool = False) -> bool:
    """Return whether a list of names selects one, by the rules of NCCL's misc/socket.cc.

    Args:
        name: Of an interface or device.
        value: Names with commas between; ``=`` in front makes them whole names instead of
            beginnings, ``^`` excludes them.
        exact: They are whole names in any case.
    """
    refused = value.startswith("^")
    exact = exact or value.lstrip("^").startswith("=")
    names = [one.partition(":")[0] for one in value.lstrip("^=").split(",")]
    matches = any(name == one if exact else name.startswith(one) for one in names if one)
    return matches != refused


class Adapters:
    """What the logs say of the devices of each host.

    Args:
        named: Events by name.
    """

    def __init__(self, named: Named) -> None:
        self._listed: dict[str, set[str]] = {}
        for event in named.get("nccl.ib.devices", ()):
            hcas = event.fields.get("hcas")
            for name in hcas if isinstance(hcas, list) else ():
                # the ports of one adapter are joined by a plus
                self._listed.setdefault(place(event), set()).update(str(name).split("+"))
        self._of_any = set().union(*self._listed.values())
        self._filters = {
            str(event.fields.get("value"))
            for event in named.get("nccl.env", ())
            if event.fields.get("name") == "NCCL_IB_HCA"
        }
        self._devices = _devices(named)
        self._infiniband = _infiniband(named, self._devices)

    def used(self, where: str, device: str) -> bool | None:
        """Return whether NCCL uses a device of a host; None where nothing tells.

        A host without a list of NCCL's is taken to use the devices of the others. Without any
        list, a device that NCCL_IB_HCA leaves out is not used, nor one on Ethernet beside others
        on InfiniBand, which serves storage.
        """
        if self._of_any:
            return device in self._listed.get(where, self._of_any)
        if len(self._filters) == 1 and not selected(device, *self._filters):
            return False
        beside = self._infiniband.get(where)
        return None if beside is None or device in beside else False

    def on_infiniband(self, where: str, device: str) -> bool:
        """Return whether a device of a host is known to be on InfiniBand."""
        return device in self._infiniband.get(where, ())

    def device(self, where: str, interface: str) -> str | None:
        """Return the RDMA device of a network interface, None where it is not known."""
        return self._devices.get((where, interface))

    def interfaces(self) -> list[tuple[str, str, str]]:
        """Return host, device and interface of all devices of which both are known."""
        return [(where, device, name) for (where, name), device in self._devices.items()]


def said(values: Mapping[str, Value]) -> list[Value]:
    """Return ``value: hosts`` for each value, the one that most hosts have first."""
    hosts: dict[str, list[str]] = {}
    for where in sorted(values):
        hosts.setdefault(str(values[where]), []).append(where)
    return [
        f"{value}: {', '.join(who[:NAMED])}"
        + (f" and {len(who) - NAMED} more" if len(who) > NAMED else "")
        for value, who in sorted(hosts.items(), key=lambda one: (-len(one[1]), one[0]))
    ]


def _devices(named: Named) -> dict[tuple[str, str], str]:
    """Return the device of each network interface of a host."""
    found: dict[tuple[str, str], str] = {}
    for name in ("ib.port", "ib.gid", "ib.netdev"):
        for event in named.get(name, ()):
            device, interface = event.fields.get("device"), event.fields.get("netdev")
            if isinstance(device, str) and isinstance(interface, str):
                found[place(event), interface] = device
    return found


def _infiniband(named: Named, devices: Mapping[tuple[str, str], str]) -> dict[str, set[str]]:
    """Return the devices on InfiniBand of each host, by their ports, else their interfaces."""
    found: dict[str, set[str]] = {}
    for event in named.get("ib.port", ()):
        if event.fields.get("link_layer") == "InfiniBand":
            found.setdefault(place(event), set()).add(str(event.fields["device"]))
    for event in named.get("net.interface", ()):
        device = devices.get((place(event), str(event.fields["interface"])))
        if event.fields.get("link") == "infiniband" and device is not None:
            found.setdefault(place(event), set()).add(device)
    return found
