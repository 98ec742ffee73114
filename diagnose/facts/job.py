"""The job model: what the logs say the job is, and who is who in it.

What no log states stays unknown. A highest rank seen is only a lower bound of the world size.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from diagnose.facts import settings
from diagnose.facts.agents import (
    PLACEMENT,
    drop_node_ranks,
    name_tasks,
    name_workers,
    worker_ranks,
)
from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Instant
from diagnose.facts.gpus import COUNTING, address_gpus, gpu_indexes
from diagnose.facts.group_ranks import name_ranks
from diagnose.facts.identity import (
    ABOUT_OTHERS,
    BOOTSTRAP,
    complete,
    complete_from_sources,
    drop_group_ranks,
    drop_speakers,
    host_addresses,
    host_aliases,
    is_writer,
    numbers_in_groups,
    use_host_names,
)
from diagnose.facts.killed_ranks import name_killed
from diagnose.facts.placement import Numbering, Process, number_processes
from diagnose.facts.records import Records
from diagnose.model.report import Job, Placement
from diagnose.parsers.convert import pci

INVENTORIES = frozenset({"slurm.node_state", "host.boot"})
"""Events that a list of all nodes of a cluster gives as well, of whatever jobs."""


@dataclass(kw_only=True)
class JobModel:
    """Who is who in the job.

    Args:
        report: As the report shows it; the times in it are filled in by the case.
        placements: By global rank, the newest known.
        ranks: All global ranks named anywhere.
        ranks_with_logs: Those that wrote something in the input.
        hosts: All hosts named, in order of name.
        hosts_with_logs: Those that wrote something in the input.
        engine: Name of the inference engine.
        addresses: Host of each address of a bootstrap interface, and of all that the inventory
            lists, other names included.
        groups: Global ranks known to be in each communicator.
        ends: Where the logs of each rank and host end, by each clock that stamped them.
        gpu_indexes: By host, the index that nvidia-smi gives to each PCI address.
    """

    report: Job = field(default_factory=Job)
    placements: dict[int, Process] = field(default_factory=dict)
    ranks: set[int] = field(default_factory=set)
    ranks_with_logs: set[int] = field(default_factory=set)
    hosts: list[str] = field(default_factory=list)
    hosts_with_logs: set[str] = field(default_factory=set)
    engine: str | None = None
    addresses: dict[str, str] = field(default_factory=dict)
    groups: dict[str, list[int]] = field(default_factory=dict)
    ends: dict[int | str | None, list[Instant]] = field(default_factory=dict)
    gpu_indexes: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def framework(self) -> str | None:
        """Name of the training framework."""
        return self.report.framework

    def version(self, name: str) -> str | None:
        """Return the version of ``nccl``, ``torch``, ``cuda`` or ``driver``."""
        return self.report.versions.get(name)

    def host_of(self, rank: int | None) -> str | None:
        """Return the host of a global rank."""
        return self._placed(rank).host

    def gpu_of(self, rank: int | None) -> str | None:
        """Return the PCI address of a rank's GPU, else its index as nvidia-smi or CUDA counts."""
        process = self._placed(rank)
        index = process.cuda_dev if process.nvml_dev is None else process.nvml_dev
        return process.gpu or (None if index is None else str(index))

    def ranks_on(self, host: str | None) -> list[int]:
        """Return the global ranks placed on a host, on None those of all hosts."""
        return sorted(self.placements) if host is None else self._by_host.get(host, [])

    def rank_of_gpu(self, host: str | None, gpu: str) -> int | None:
        """Return the rank that runs on a GPU, None if unknown or not one alone.

        Args:
            host: Short name; None asks all hosts.
            gpu: PCI address in any spelling, or index.
        """
        try:
            slot = pci(gpu) if ":" in gpu else None
        except ValueError:
            return None
        here = [(rank, self.placements[rank]) for rank in self.ranks_on(host)]
        if slot is not None:
            found = [rank for rank, process in here if process.gpu == slot]
            indexes = self.gpu_indexes.get(host or "", {})
            if not found and slot in indexes:
                unknown = [(rank, process) for rank, process in here if process.gpu is None]
                unmasked = len(here) == len(indexes)
                found = _at_index(indexes[slot], unknown, unmasked=unmasked)
        else:
            found = _at_index(int(gpu), here, unmasked=False) if gpu.isdecimal() else []
        return found[0] if len(found) == 1 else None

    def host_of_address(self, ip: str) -> str | None:
        """Return the host that has an address."""
        return self.addresses.get(ip)

    def ranks_of_group(self, communicator: str) -> list[int]:
        """Return the global ranks known to be in a communicator."""
        return self.groups.get(communicator, [])

    def log_end(self, rank: int | None = None, host: str | None = None) -> float | None:
        """Return the last stamp of a rank's or a host's logs, its year completed.

        Stamps since boot or without a day do not count. ``Case.reaches`` compares it with an event.
        """
        ends = self.ends.get(host if rank is None else rank, [])
        dated = (end.seconds for end in ends if end.domain.family in ("utc", "local"))
        return max(dated, default=None)

    @cached_property
    def _by_host(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for rank, process in sorted(self.placements.items()):
            if process.host is not None:
                found.setdefault(process.host, []).append(rank)
        return found

    def _placed(self, rank: int | None) -> Process:
        return self.placements.get(-1 if rank is None else rank, _UNKNOWN)


_UNKNOWN = Process()


def _at_index(index: int, here: list[tuple[int, Process]], *, unmasked: bool) -> list[int]:
    """Return the ranks of a host on the GPU of an index, as nvidia-smi counts.

    Args:
        index: Of the GPU.
        here: Ranks and processes of the host.
        unmasked: Each GPU of the host has a rank, so that local ranks count the GPUs too.
    """
    by_nvml = [rank for rank, process in here if process.nvml_dev == index]
    if by_nvml:
        return by_nvml
    known = [(rank, process) for rank, process in here if process.nvml_dev is None]
    by_cuda = [rank for rank, process in known if process.cuda_dev == index]
    if by_cuda or not unmasked:
        return by_cuda
    return [rank for rank, process in known if process.local_rank == index]


def build_job(records: Records, attempts: Attempts) -> JobModel:
    """Return the job model, and complete rank and host of events and series in place."""
    reading, named = records.reading, records.named
    events = reading.events
    numbered = numbers_in_groups(events)
    stating = [event for event in events if event.fact is not None]
    drop_speakers(records.among(ABOUT_OTHERS))
    addresses = host_addresses(named.get(BOOTSTRAP, ()), reading.topology)
    use_host_names(reading, {**host_aliases(records), **addresses})
    drop_node_ranks(records)
    drop_group_ranks(numbered)
    complete_from_sources(reading)
    name_workers(records)
    arguments = settings.arguments(stating)
    source_ranks = {source.rank for source in reading.sources if source.rank is not None}
    ranks = {event.rank for event in events if event.rank is not None}
    speaking = {rank for source in reading.sources for rank in source.speakers}
    highest = max(source_ranks | ranks | speaking, default=-1)
    stated = settings.stated_world_size(events, arguments)
    numbering = number_processes(named, stated, highest)
    world = max(stated or 0, numbering.world_size or 0)
    world_size = world if world > max(highest, 0) else None
    name_tasks(records, world_size)
    placements = _placements(numbering, records)
    complete(reading, numbered, placements, numbering.processes, world_size)
    indexes = gpu_indexes(named.get("nvidia_smi.gpu", ()))
    address_gpus(records.beginning(*COUNTING), indexes, placements.values())
    name_killed(records, placements)
    name_ranks(numbered, named)

    own = [event for event in events if is_writer(event)]
    written = {event.rank for event in own if event.rank is not None}
    written |= {points.rank for points in reading.points if points.rank is not None}
    written |= source_ranks | speaking
    hosts_with_logs = {event.host for event in own}
    hosts_with_logs |= {source.host for source in reading.sources}
    hosts = hosts_with_logs | {event.host for event in events if event.name not in INVENTORIES}
    hosts |= {process.host for process in placements.values()}
    model = JobModel(
        placements=placements,
        ranks=written | ranks | set(placements),
        ranks_with_logs=written,
        hosts=sorted(host for host in hosts if host is not None),
        hosts_with_logs={host for host in hosts_with_logs if host is not None},
        engine=settings.stated(stating, "job.engine"),
        addresses=addresses,
        groups=_groups(numbering),
        gpu_indexes=indexes,
    )
    model.report = Job(
        world_size=world_size,
        ranks_seen=len(written),
        ranks_missing=sorted(set(range(world_size or 0)) - written) if written else [],
        hosts=model.hosts,
        placement=_report_placement(model, settings.adapters(named.get("nccl.ib.devices", ()))),
        versions=settings.versions(stating),
        parallel=settings.parallel_layout(arguments),
        framework=settings.stated(stating, "job.framework"),
        attempts=attempts.total,
        marks=settings.marks(arguments),
    )
    return model


def _placements(numbering: Numbering, records: Records) -> dict[int, Process]:
    """Return the newest process of each rank.

    Init lines come first, then torchrun's table of a host, then records and series that name both.
    """
    placements: dict[int, Process] = {}
    for process in sorted(numbering.processes.values(), key=lambda one: one.attempt):
        if process.rank is not None:
            placements[process.rank] = process
    for event in records.named.get(PLACEMENT, ()):
        if event.host is None:
            continue
        for number, worker in worker_ranks(event).items():
            placed = Process(rank=worker, host=event.host, local_rank=number)
            known = placements.setdefault(worker, placed)
            if known.host == event.host and known.local_rank is None:
                known.local_rank = number
    events = records.reading.events
    places = dict.fromkeys((event.rank, event.host, event.local_rank) for event in events)
    for rank, host, local_rank in places:
        if rank is None or host is None:
            continue
        process = placements.setdefault(rank, Process(rank=rank, host=host))
        if process.host == host and process.local_rank is None:
            process.local_rank = local_rank
    for points in records.reading.points:
        if points.rank is not None and points.host is not None:
            placements.setdefault(points.rank, Process(rank=points.rank, host=points.host))
    return placements


def _groups(numbering: Numbering) -> dict[str, list[int]]:
    return {
        name: sorted({one.rank for one in members.values() if one.rank is not None})
        for name, members in numbering.members.items()
    }


def _report_placement(model: JobModel, adapters: Mapping[str, list[str]]) -> list[Placement]:
    return [
        Placement(
            rank=rank,
            host=process.host,
            local_rank=process.local_rank,
            gpu=model.gpu_of(rank),
            nics=list(adapters.get(process.host or "", [])),
        )
        for rank, process in sorted(model.placements.items())
    ]
