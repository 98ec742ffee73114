"""Which global rank each process is, and where it runs.

NCCL numbers ranks within a communicator. That number is the global rank where the communicator
spans the world, or where nothing contradicts it: no larger world is stated, no prefix or file name
says another rank, and no two processes hold the same number. Every other communicator is joined
through the process (host and pid) to the one that does.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from diagnose.facts.records import Named
from diagnose.facts.settings import MOST_RANKS, whole
from diagnose.model.event import Event, Value

NCCL_INIT = "nccl.comm_init"
NCCL_TOPOLOGY = "nccl.comm_topology"

ProcessKey = tuple[str, int, Value]
"""Host (else file), attempt, and pid; without a pid, the GPU or the number in the communicator."""


@dataclass(slots=True, kw_only=True)
class Process:
    """One process of the job.

    Args:
        rank: Global rank, None where unknown.
        attempt: When it ran.
        host: Where it ran.
        pid: Process id.
        local_rank: Rank on its host, where stated.
        gpu: PCI address of its GPU.
        cuda_dev: Index of its GPU as CUDA counts, which a mask of visible devices shifts.
        nvml_dev: Index of its GPU as nvidia-smi counts.
        files: Where it wrote.
    """

    rank: int | None = None
    attempt: int = 0
    host: str | None = None
    pid: int | None = None
    local_rank: int | None = None
    gpu: str | None = None
    cuda_dev: int | None = None
    nvml_dev: int | None = None
    files: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Numbering:
    """What the communicators say together.

    Args:
        processes: All that initialised NCCL.
        members: By communicator, the processes in it.
        world_size: Ranks of the largest communicator if its numbers are global, else None.
    """

    processes: dict[ProcessKey, Process] = field(default_factory=dict)
    members: dict[str, dict[ProcessKey, Process]] = field(default_factory=dict)
    world_size: int | None = None


def process_key(event: Event) -> ProcessKey:
    """Return the key of the process that printed an event."""
    who: Value = event.pid
    if who is None:
        who = event.gpu or event.fields.get("comm_rank")
    return (event.host or event.file, event.attempt, who)


def number_processes(named: Named, stated: int | None, highest: int) -> Numbering:
    """Return the processes that initialised NCCL, with their global ranks.

    Args:
        named: The init lines among them are read.
        stated: World size that a program states, if any.
        highest: Highest rank that prefixes and file names state, -1 if none.
    """
    inits = [(process_key(event), event) for event in named.get(NCCL_INIT, ())]
    numbering = Numbering()
    for key, event in inits:
        process = _process(numbering.processes, key, event)
        if event.communicator is not None:
            numbering.members.setdefault(event.communicator, {})[key] = process
    sizes = [size for _, event in inits if (size := whole(event.fields.get("nranks")))]
    sizes = [size for size in sizes if size <= MOST_RANKS]
    largest = max(sizes, default=0)
    world = [(key, event) for key, event in inits if event.fields.get("nranks") == largest]
    if largest == 0 or largest < max(stated or 0, highest + 1) or _contradicted(world):
        return numbering
    numbering.world_size = largest
    for key, event in world:
        process = numbering.processes[key]
        if process.rank is None:
            process.rank = whole(event.fields.get("comm_rank"))
    for event in named.get(NCCL_TOPOLOGY, ()):
        if event.fields.get("nranks") == largest:
            known = numbering.processes.get(process_key(event))
            if known is not None and known.local_rank is None:
                known.local_rank = whole(event.fields.get("comm_local_rank"))
    return numbering


def _process(processes: dict[ProcessKey, Process], key: ProcessKey, event: Event) -> Process:
    process = processes.get(key)
    if process is None:
        process = processes[key] = Process(attempt=event.attempt, host=event.host, pid=event.pid)
    process.files.add(event.file)
    if process.rank is None:
        process.rank = event.rank
    if process.local_rank is None:
        process.local_rank = event.local_rank
    if event.gpu is not None and ":" in event.gpu:
        process.gpu = event.gpu
    process.cuda_dev = _first(process.cuda_dev, event.fields.get("cuda_dev"))
    process.nvml_dev = _first(process.nvml_dev, event.fields.get("nvml_dev"))
    return process


def _contradicted(world: Iterable[tuple[ProcessKey, Event]]) -> bool:
    """Whether the numbers of the largest communicators cannot all be global ranks."""
    holders: dict[tuple[int, Value], ProcessKey] = {}
    for holder, event in world:
        number = event.fields.get("comm_rank")
        if event.rank is not None and event.rank != number:
            return True
        if holders.setdefault((event.attempt, number), holder) != holder:
            return True
    return False


def _first(known: int | None, found: Value) -> int | None:
    return whole(found) if known is None else known
