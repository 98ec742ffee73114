"""The network adapters of hosts, as the tools that list ports and NCCL itself show them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_low

from diagnose.model.event import Event

LEAST = 25.0
"""Gb/s; slower ports carry management traffic."""


@dataclass(frozen=True, slots=True)
class Network:
    """What a host has for the traffic of GPUs.

    Args:
        adapters: How many, the fastest ones.
        gbps: Rate of each.
    """

    adapters: int
    gbps: float

    def busbw(self, gpus: int) -> float:
        """Return GB/s of a ring of so many GPUs a node; each uses one adapter at most."""
        return min(self.adapters, gpus) * self.gbps / 8


class Adapters:
    """Rates of adapters by host.

    Args:
        events: Of the input. Ports count where they are active; what NCCL lists counts where
            nothing lists ports, since a setting may keep adapters from it.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._ports: dict[str | None, dict[str, float]] = defaultdict(dict)
        self._listed: dict[str | None, dict[str, float]] = defaultdict(dict)
        for event in events:
            if event.name == "ib.port" and (rate := _rate(event)):
                self._ports[event.host or event.file][str(event.fields.get("device"))] = rate
            elif event.name == "nccl.ib.device_speed" and (rate := event.number("megabits")):
                self._listed[event.host][str(event.fields.get("hca"))] = rate / 1000

    def network(self, hosts: Sequence[str]) -> Network | None:
        """Return what the hosts have, the common one of all hosts where these are not listed."""
        known = self._ports or self._listed
        of_hosts = [known[host] for host in hosts if host in known] or list(known.values())
        if not of_hosts:
            return None
        fastest = [
            Network(sum(rate == max(one.values()) for rate in one.values()), max(one.values()))
            for one in of_hosts
        ]
        total = median_low(one.adapters * one.gbps for one in fastest)
        return next(one for one in fastest if one.adapters * one.gbps == total)

    def rate(self, host: str | None, device: str | None) -> float | None:
        """Return Gb/s of one port, that of other hosts where all agree on it; None if unknown."""
        if device is None:
            return None
        own = self._ports.get(host, {}).get(device)
        others = {ports[device] for ports in self._ports.values() if device in ports}
        return own or (others.pop() if len(others) == 1 else None)


def _rate(port: Event) -> float | None:
    """Return the rate of a port that works; old kernels print one without its speed word."""
    rate = port.number("rate_gbps")
    wordless = port.fields.get("tool") == "ibstatus" and port.fields.get("speed") is None
    works = port.fields.get("state") == "ACTIVE" and not wordless
    return rate if works and rate is not None and rate >= LEAST else None
