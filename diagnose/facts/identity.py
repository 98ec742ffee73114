"""Who wrote what: completes the rank and host of events and series that do not print them.

A rank or host that a record prints is never overwritten, save that an address becomes the name of
the host that has it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from diagnose.facts.placement import Process, ProcessKey, process_key
from diagnose.facts.records import Records
from diagnose.facts.settings import whole
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Points
from diagnose.model.reading import Reading, SourceSummary
from diagnose.parsers.convert import address, short_host

if TYPE_CHECKING:
    from diagnose.model.topology import Topology

SUPERVISORS = (
    "torchrun.", "launcher.", "slurm.", "k8s.", "ray.", "kernel.", "host.", "fabric.", "fr.",
)  # fmt: skip
"""Programs that write about ranks without being one."""

BOOTSTRAP = "nccl.bootstrap_interface"
"""States an address of the host that prints it."""

PRINTS_HOST = "nccl."
"""Beginning of the names of records that state the host of their process."""

POD = LazyPattern(r"\s*\[pod/([\w.-]+)(?:/[\w.-]+)?\]")
"""The prefix of ``kubectl logs --prefix``."""

OWN_LINES = frozenset({"c10d.watchdog_terminated", "c10d.nccl_error", "c10d.watchdog_timeout"})
"""Records whose ``[Rank N]`` is that of the process that wrote the whole line."""

ABOUT_OTHERS = frozenset({"c10d.desync_rank"})
"""Records whose rank is the one that a message speaks of, whoever printed the message."""

DEFAULT_GROUPS = frozenset({"0", "default_pg"})
"""Names of the process group that spans the world, by id and by description."""

Numbered = tuple[Event, int]
"""An event and the number that it gives its rank within a process group."""


def is_writer(event: Event) -> bool:
    """Whether the rank that an event names is the one that printed it."""
    return _from_a_rank(event.name)


@cache
def _from_a_rank(name: str) -> bool:
    return not (name.startswith(SUPERVISORS) or name in ABOUT_OTHERS)


def drop_speakers(events: Iterable[Event]) -> None:
    """Take host, process and GPU of the speaker off records about another rank, in place."""
    for event in events:
        event.host = event.gpu = event.pid = event.local_rank = None


def host_addresses(events: Iterable[Event], topology: "Topology | None") -> dict[str, str]:
    """Return the host of each address and other name by the inventory and, above it, the logs.

    Of the addresses in the logs, one that several hosts have (a bridge's) names nobody.
    """
    owners: dict[str, set[str]] = {}
    for event in events:
        found = event.fields.get("address")
        if event.name == BOOTSTRAP and event.host and isinstance(found, str):
            owners.setdefault(address(found), set()).add(event.host)
    logged = {ip: next(iter(hosts)) for ip, hosts in owners.items() if len(hosts) == 1}
    if topology is None:
        return logged
    listed = {ip: host for ip, (host, _) in topology.ports.items() if ip not in owners}
    return {**topology.names, **listed, **logged}


def host_aliases(records: Records) -> dict[str, str]:
    """Return the host behind each name of a pod or a file, where its program prints another.

    A collector names the pod and NCCL the machine; both on the lines of one writer are one machine.
    Names that a program prints itself, or that stand for several machines, are left as they are.
    """
    reading = records.reading
    sources = {source.name: source.host for source in reading.sources}
    printed: set[str] = set()
    found: dict[str, set[str]] = {}
    for pod, file, host in _printed_hosts(records.beginning(PRINTS_HOST)):
        printed.add(host)
        for name in (pod, sources.get(file)):
            if name is not None:
                found.setdefault(name, set()).add(host)
    aliases = {
        name: next(iter(hosts))
        for name, hosts in found.items()
        if len(hosts) == 1 and name not in printed
    }
    return {**_within_names(set(sources.values()) - printed, reading.events), **aliases}


def _printed_hosts(events: Iterable[Event]) -> dict[tuple[str | None, str, str], None]:
    """Return each host that programs print with the pod and the file of the line, in order."""
    found: dict[tuple[str | None, str, str], None] = {}
    for event in events:
        if event.host is None:
            continue
        match = POD.match(event.text)
        pod = match[1] if match else None
        # A line without the prefix of NCCL got the host of the collector: "NCCL version 2.21.5".
        if event.host != pod or event.pid is not None:
            found[pod, event.file, event.host] = None
    return found


def _within_names(names: Iterable[str | None], events: Iterable[Event]) -> dict[str, str]:
    """Return the host within each name of a file that puts words around it: ``agent-node-07``."""
    stated = {name for name in names if name is not None}
    hosts = set(map(short_host, {event.host for event in events if event.host})) - stated
    found: dict[str, str] = {}
    for name in stated:
        within = {host for host in hosts if f"-{host}-" in f"-{name}-"}
        if len(within) == 1:
            found[name] = within.pop()
    return found


def use_host_names(reading: Reading, addresses: Mapping[str, str]) -> None:
    """Give every host its short name, in place.

    Args:
        reading: Whose events, series and sources are changed.
        addresses: Host of each known address.
    """
    names: dict[str, str] = dict(addresses)
    holders: list[Event | Points | SourceSummary] = [*reading.events, *reading.points]
    for holder in (*holders, *reading.sources):
        if holder.host is None:
            continue
        if holder.host not in names:
            names[holder.host] = short_host(holder.host)
        holder.host = names[holder.host]


def complete_from_sources(reading: Reading) -> None:
    """Give events and series the rank and host that the name of their source states, in place."""
    sources = {source.name: source for source in reading.sources}
    holders: list[Event | Points] = [*reading.events, *reading.points]
    for holder in holders:
        source = sources.get(holder.file)
        if source is None:
            continue
        if isinstance(holder, Points) or holder.name not in ABOUT_OTHERS:
            holder.host = holder.host or source.host
        if holder.rank is None and (isinstance(holder, Points) or is_writer(holder)):
            holder.rank = source.rank


def complete(
    reading: Reading,
    numbered: Sequence[Numbered],
    placements: Mapping[int, Process],
    processes: Mapping[ProcessKey, Process],
    world_size: int | None,
) -> None:
    """Complete rank and host of events and series, in place.

    In this order: the process (host and pid) that an init line places, the local rank on a known
    host, the file that belongs to one rank, the number within a process group.

    Args:
        reading: Whose events and series are completed.
        numbered: Those of its events that number their rank within a group.
        placements: By global rank.
        processes: All that initialised NCCL.
        world_size: If known.
    """
    owners = _file_owners(reading.events, processes.values())
    hosts = _file_hosts(reading.events, processes.values())
    local: dict[tuple[str | None, int | None], int] = {
        (process.host, process.local_rank): rank
        for rank, process in placements.items()
        if process.host is not None and process.local_rank is not None
    }
    for event in reading.events:
        if event.name in ABOUT_OTHERS:
            continue
        event.host = event.host or hosts.get(event.file)
        if event.rank is None and event.pid is not None and process_key(event) in processes:
            event.rank = _rank_of(event, processes[process_key(event)])
        if event.rank is None:
            event.rank = local.get((event.host, event.local_rank))
        if event.rank is None and is_writer(event):
            event.rank = owners.get(event.file)
    _fill_group_ranks(numbered, world_size)
    _share_lines(reading.events, numbered)
    for points in reading.points:
        if points.rank is None:
            points.rank = owners.get(points.file)
        points.host = points.host or hosts.get(points.file)
    holders: list[Event | Points] = [*reading.events, *reading.points]
    for holder in holders:
        if holder.host is None and holder.rank is not None and holder.rank in placements:
            holder.host = placements[holder.rank].host


def _share_lines(events: Iterable[Event], numbered: Iterable[Numbered]) -> None:
    """Give what stands on one line of a process group to one rank: that which the line names."""
    named: dict[tuple[str, int, str], set[int]] = {}
    for event, _ in numbered:
        if event.rank is not None and event.name in OWN_LINES:
            named.setdefault((event.file, event.line, event.text), set()).add(event.rank)
    for event in events:
        if event.rank is None and is_writer(event):
            ranks = named.get((event.file, event.line, event.text), set())
            event.rank = next(iter(ranks)) if len(ranks) == 1 else None


def _rank_of(event: Event, process: Process) -> int | None:
    """Return the rank of a process, if it is not known to run on another GPU.

    A kernel's process ids are the host's, and a container may count the same ones again.
    """
    addresses = {gpu for gpu in (event.gpu, process.gpu) if gpu is not None and ":" in gpu}
    return process.rank if len(addresses) < 2 else None


def _file_owners(events: Iterable[Event], processes: Iterable[Process]) -> dict[str, int]:
    """Return the rank that a file belongs to, where the input has one file a process.

    One file alone proves nothing: it may be a console on which only one rank logs NCCL.
    """
    writers: dict[str, set[int | None]] = {}
    for process in processes:
        for file in process.files:
            writers.setdefault(file, set()).add(process.rank)
    if len(writers) < 2 or any(len(ranks) > 1 for ranks in writers.values()):
        return {}
    owners = {file: rank for file, (rank,) in writers.items() if rank is not None}
    for event in events:
        if event.name in ABOUT_OTHERS:
            continue
        other = event.rank is not None and event.rank != owners.get(event.file)
        if other or not is_writer(event):
            owners.pop(event.file, None)
    return owners


def _file_hosts(events: Iterable[Event], processes: Iterable[Process]) -> dict[str, str]:
    """Return the host that a file belongs to: the one of its init lines, if it names no other."""
    found: dict[str, set[str]] = {}
    for process in processes:
        for file in process.files:
            if process.host is not None:
                found.setdefault(file, set()).add(process.host)
    for event in events:
        if event.host is not None and event.file in found and event.name not in ABOUT_OTHERS:
            found[event.file].add(event.host)
    return {file: next(iter(hosts)) for file, hosts in found.items() if len(hosts) == 1}


def _fill_group_ranks(events: Iterable[Numbered], world_size: int | None) -> None:
    """Take ``[Rank N]`` of a process group for the global rank where the group spans the world.

    It does by its name, by its numbers, or where no other group and no world size is known.
    """
    numbered = [one for one in events if one[0].name not in ABOUT_OTHERS]
    sizes: dict[str | None, int] = {}
    for event, number in numbered:
        group = event.communicator
        sizes[group] = max(sizes.get(group, 0), number + 1)
    contradicted = _contradicted(numbered)
    for event, number in numbered:
        group, size = event.communicator, sizes[event.communicator]
        if event.rank is not None or group in contradicted:
            continue
        by_name = (group is None or group in DEFAULT_GROUPS) and size <= (world_size or size)
        if by_name or size == world_size or (world_size is None and len(sizes) == 1):
            event.rank = number


def drop_group_ranks(numbered: Sequence[Numbered]) -> None:
    """Take back ranks that are only numbers of a group that cannot span the world, in place.

    PyTorch before 2.2 prints a bare ``[Rank N]`` for every group; a prefix or a file name that
    states the rank is another matter.
    """
    if None not in _contradicted(numbered):
        return
    for event, number in numbered:
        if event.communicator is None and event.rank == number and not _states_rank(event):
            event.rank = None


def numbers_in_groups(events: Iterable[Event]) -> list[Numbered]:
    """Return the events that number their rank within a process group, each with the number."""
    return [(event, number) for event in events if (number := group_rank(event)) is not None]


def group_rank(event: Event) -> int | None:
    """Return the number that an event gives its rank within a process group."""
    return whole(event.fields.get("pg_rank"))


def _states_rank(event: Event) -> bool:
    return event.text.lstrip().startswith(f"[rank{event.rank}]")


def _contradicted(numbered: Iterable[Numbered]) -> set[str | None]:
    """Return the groups whose numbers cannot be global ranks.

    Either a prefix or a file name states another rank, or one number stands on two hosts.
    """
    hosts: dict[tuple[str | None, int, int], str] = {}
    found: set[str | None] = set()
    for event, number in numbered:
        if event.name in ABOUT_OTHERS:
            continue
        if event.rank not in (None, number):
            found.add(event.communicator)
        key = (event.communicator, event.attempt, number)
        if event.host is not None and hosts.setdefault(key, event.host) != event.host:
            found.add(event.communicator)
    return found
