"""The job model: what the logs say the job is, and who is who in it.

What no log states stays unknown. A highest rank seen is only a lower bound of the world size.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from diagnose.facts import settings
from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Instant
from diagnose.facts.identity import (
    complete,
    complete_from_sources,
    drop_group_ranks,
    host_addresses,
    host_aliases,
    is_writer,
    use_host_names,
)
from diagnose.facts.placement import Numbering, Process, number_processes
from diagnose.model.event import Event
from diagnose.model.reading import Reading
from diagnose.model.report import Job, Placement
from diagnose.parsers.convert import pci


@dataclass(slots=True, kw_only=True)
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
        addresses: Host of each address that a bootstrap interface has.
        groups: Global ranks known to be in each communicator.
        ends: Where the logs of each rank and host end, by each clock that stamped them.
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
        return sorted(
            rank
            for rank, process in self.placements.items()
            if host is None or process.host == host
        )

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
        else:
            by_nvml = [rank for rank, process in here if str(process.nvml_dev) == gpu]
            found = by_nvml or [
                rank
                for rank, process in here
                if process.nvml_dev is None and str(process.cuda_dev) == gpu
            ]
        return found[0] if len(found) == 1 else None

    def host_of_address(self, ip: str) -> str | None:
        """Return the host that has an address on its bootstrap interface."""
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

    def _placed(self, rank: int | None) -> Process:
        return self.placements.get(-1 if rank is None else rank, _UNKNOWN)


_UNKNOWN = Process()


def build_job(reading: Reading, attempts: Attempts) -> JobModel:
    """Return the job model, and complete rank and host of events and series in place."""
    events = reading.events
    addresses = host_addresses(events)
    use_host_names(reading, {**host_aliases(reading), **addresses})
    drop_group_ranks(events)
    complete_from_sources(reading)
    arguments = settings.arguments(events)
    source_ranks = {source.rank for source in reading.sources if source.rank is not None}
    named = {event.rank for event in events if event.rank is not None}
    highest = max(source_ranks | named, default=-1)
    stated = settings.stated_world_size(events, arguments)
    numbering = number_processes(events, stated, highest)
    world = max(stated or 0, numbering.world_size or 0)
    world_size = world if world > max(highest, 0) else None
    placements = _placements(numbering, events)
    complete(reading, placements, numbering.processes, world_size)

    written = {event.rank for event in events if event.rank is not None and is_writer(event)}
    written |= source_ranks | {points.rank for points in reading.points if points.rank is not None}
    hosts_with_logs = {event.host for event in events if is_writer(event)}
    hosts_with_logs |= {source.host for source in reading.sources}
    hosts = hosts_with_logs | {event.host for event in events}
    hosts |= {process.host for process in placements.values()}
    model = JobModel(
        placements=placements,
        ranks=written | named | set(placements),
        ranks_with_logs=written,
        hosts=sorted(host for host in hosts if host is not None),
        hosts_with_logs={host for host in hosts_with_logs if host is not None},
        engine=settings.stated(events, "job.engine"),
        addresses=addresses,
        groups=_groups(numbering),
    )
    model.report = Job(
        world_size=world_size,
        ranks_seen=len(written),
        ranks_missing=sorted(set(range(world_size or 0)) - written) if written else [],
        hosts=model.hosts,
        placement=_report_placement(model, settings.adapters(events)),
        versions=settings.versions(events),
        parallel=settings.parallel_layout(arguments),
        framework=settings.stated(events, "job.framework"),
        attempts=attempts.total,
        marks=settings.marks(arguments),
    )
    return model


def _placements(numbering: Numbering, events: Iterable[Event]) -> dict[int, Process]:
    """Return the newest process of each rank.

    Init lines come first, then torchrun's table of a host, then records that name both.
    """
    placements: dict[int, Process] = {}
    for process in sorted(numbering.processes.values(), key=lambda one: one.attempt):
        if process.rank is not None:
            placements[process.rank] = process
    for event in events:
        for rank, local_rank in _torchrun_ranks(event):
            placed = Process(rank=rank, host=event.host, local_rank=local_rank)
            known = placements.setdefault(rank, placed)
            if known.host == event.host and known.local_rank is None:
                known.local_rank = local_rank
    for event in events:
        if event.rank is None or event.host is None:
            continue
        process = placements.setdefault(event.rank, Process(rank=event.rank, host=event.host))
        if process.host == event.host and process.local_rank is None:
            process.local_rank = event.local_rank
    return placements


def _torchrun_ranks(event: Event) -> list[tuple[int, int]]:
    """Return global and local ranks that torchrun gave to its host."""
    pairs = [event.fields.get(name) for name in ("global_ranks", "local_ranks")]
    if event.name != "torchrun.placement" or event.host is None:
        return []
    ranks, local = (one if isinstance(one, list) else [] for one in pairs)
    return [
        (rank, number)
        for rank, number in zip(ranks, local, strict=False)
        if isinstance(rank, int) and isinstance(number, int)
    ]


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
