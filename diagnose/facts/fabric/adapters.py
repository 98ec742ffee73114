"""RDMA devices of hosts: which of them the job uses, and which network interface each one has."""

from collections.abc import Iterable, Mapping, Sequence

from diagnose.model.event import Event, Value

Named = Mapping[str, Sequence[Event]]
"""Events by name."""

NAMED = 10
"""Hosts that a text names at most."""


def place(event: Event) -> str:
    """Return the host of a reading, else the file, which then stands for one."""
    return event.host or event.file


class Adapters:
    """What the logs say of the devices of each host.

    Where NCCL lists no devices, those on Ethernet beside InfiniBand ones serve storage.

    Args:
        named: Events by name.
    """

    def __init__(self, named: Named) -> None:
        self._used: dict[str, set[str]] = {}
        self._devices: dict[tuple[str, str], str] = {}
        for event in named.get("nccl.ib.devices", ()):
            hcas = event.fields.get("hcas")
            for name in hcas if isinstance(hcas, list) else ():
                # the ports of one adapter are joined by a plus
                self._used.setdefault(place(event), set()).update(str(name).split("+"))
        self._of_any = set().union(*self._used.values())
        self._infiniband: dict[str, set[str]] = {}
        for event in named.get("ib.port", ()):
            if event.fields.get("link_layer") == "InfiniBand":
                self._infiniband.setdefault(place(event), set()).add(str(event.fields["device"]))
        for name in ("ib.port", "ib.gid", "ib.netdev"):
            for event in named.get(name, ()):
                device, interface = event.fields.get("device"), event.fields.get("netdev")
                if isinstance(device, str) and isinstance(interface, str):
                    self._devices[place(event), interface] = device

    def used(self, where: str, device: str) -> bool | None:
        """Return whether NCCL uses a device of a host; None where no list of its devices is known.

        A host without a list is taken to use the devices of the others.
        """
        if self._of_any:
            return device in self._used.get(where, self._of_any)
        beside = self._infiniband.get(where)
        return None if beside is None or device in beside else False

    def device(self, where: str, interface: str) -> str | None:
        """Return the RDMA device of a network interface, None where it is not known."""
        return self._devices.get((where, interface))

    def interfaces(self) -> Iterable[tuple[str, str, str]]:
        """Return host, device and interface of all devices of which both are known."""
        return ((where, device, name) for (where, name), device in self._devices.items())


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
