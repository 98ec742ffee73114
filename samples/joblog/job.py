"""Who runs where, with which versions, and by which clock."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

BUSES = ("1b000", "43000", "52000", "61000", "9d000", "c3000", "d1000", "df000")
"""PCI bus ids of eight GPUs as NCCL prints them, those of common eight-GPU servers."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """One process group.

    Args:
        index: Its number on a rank, in the order of creation.
        guid: Its name on all ranks.
        label: Its description, such as ``default_pg``.
        ranks: Global ranks in the order of the group.
    """

    index: int = 0
    guid: str = "0"
    label: str = "default_pg"
    ranks: tuple[int, ...]

    def number(self, rank: int) -> int:
        """Return the rank within the group of a global rank."""
        return self.ranks.index(rank)


@dataclass(frozen=True, kw_only=True)
class Job:
    """The facts of one job.

    Args:
        world: Number of ranks.
        start: When the processes start, by an exact clock in the zone of the cluster.
        gpus: Ranks on a host.
        first_host: Number in the name of the first host.
        torch: Version, 2.3 or newer; decides how its lines look.
        nccl: Version of NCCL; decides how its lines look.
        cuda: Version NCCL was built with.
        interface: Of the bootstrap network.
        net: ``IB``, ``RoCE`` or ``Socket``.
        settings: ``NCCL_`` variables by name, which every rank has.
        offsets: Seconds that the clock of a host is ahead, by host.
        nccl_on: Other NCCL versions, by host.
        net_on: Other networks, by host.
        bootstrap_on: Other bootstrap interfaces as ``name:address``, by host.
        seed: Of the numbers that no fact fixes.
    """

    world: int
    start: datetime
    gpus: int = 8
    first_host: int = 1
    torch: str = "2.6"
    nccl: str = "2.24.3"
    cuda: str = "12.4"
    interface: str = "eth0"
    net: str = "IB"
    settings: Mapping[str, str] = field(default_factory=dict)
    offsets: Mapping[str, float] = field(default_factory=dict)
    nccl_on: Mapping[str, str] = field(default_factory=dict)
    net_on: Mapping[str, str] = field(default_factory=dict)
    bootstrap_on: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1

    @cached_property
    def hosts(self) -> list[str]:
        """Names of the hosts, in the order of their ranks."""
        return [f"node-{self.first_host + at:02d}" for at in range(-(-self.world // self.gpus))]

    @cached_property
    def everyone(self) -> Group:
        """The default process group."""
        return Group(ranks=tuple(range(self.world)))

    @cached_property
    def torch_version(self) -> tuple[int, ...]:
        """The version of PyTorch, to compare."""
        return tuple(int(part) for part in self.torch.split("."))

    def host(self, rank: int) -> str:
        """Return the host of a rank."""
        return self.hosts[rank // self.gpus]

    def local(self, rank: int) -> int:
        """Return the rank within its host, which is also its GPU."""
        return rank % self.gpus

    def ranks_on(self, host: str) -> range:
        """Return the ranks of a host."""
        first = self.hosts.index(host) * self.gpus
        return range(first, min(first + self.gpus, self.world))

    def pid(self, rank: int) -> int:
        """Return the process id of a rank."""
        return self.agent(self.host(rank)) + 60 + 7 * self.local(rank)

    def agent(self, host: str) -> int:
        """Return the process id of the launcher on a host."""
        return 41000 + 173 * self.hosts.index(host)

    def bus(self, rank: int) -> str:
        """Return the bus id of the rank's GPU as NCCL prints it, such as ``5d000``."""
        return BUSES[self.local(rank) % len(BUSES)]

    def pci(self, rank: int) -> str:
        """Return the PCI address of the rank's GPU as the kernel prints it."""
        return f"0000:{self.bus(rank)[:-3]}:00"

    def card(self, rank: int) -> str:
        """Return the RDMA adapter that a rank uses."""
        return f"mlx5_{self.local(rank)}"

    def address(self, host: str) -> str:
        """Return the address of a host on the bootstrap network."""
        own = self.bootstrap_on.get(host)
        if own is not None:
            return own.partition(":")[2]
        number = self.first_host + self.hosts.index(host)
        return f"10.14.{number // 250}.{number % 250}"

    def network(self, host: str) -> str:
        """Return ``IB``, ``RoCE`` or ``Socket``."""
        return self.net_on.get(host, self.net)

    def nccl_version(self, host: str) -> str:
        """Return the NCCL version on a host."""
        return self.nccl_on.get(host, self.nccl)

    def clock(self, host: str | None, moment: float) -> datetime:
        """Return what the clock of a host shows.

        Args:
            host: None asks a clock that is right.
            moment: Seconds since the start.
        """
        ahead = 0.0 if host is None else self.offsets.get(host, 0.0)
        return self.start + timedelta(seconds=moment + ahead)

    def stamp(self, host: str | None, moment: float) -> str:
        """Return that clock to the second, as ``2026-01-02 03:04:05``."""
        return f"{self.clock(host, moment):%Y-%m-%d %H:%M:%S}"

    def chance(self, *key: object) -> random.Random:
        """Return the source of the numbers that no fact fixes, the same for the same key."""
        return random.Random("/".join(map(str, (self.seed, *key))))
