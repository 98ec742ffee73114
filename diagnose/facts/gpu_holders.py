"""Which processes of others nvidia-smi lists on a GPU where an allocation failed.

``torch.oom`` and ``cuda.oom_other`` get:

===================== ============================================================================
``foreign``           ``PID PROGRAM`` of the processes on that GPU that are not of this job
``foreign_used``      Bytes they hold; None where nothing tells
===================== ============================================================================

A container numbers its processes anew, and a table from before or after the job lists none of them,
so a table counts only where it lists a process of the job as the job's logs number it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from diagnose.facts.job import JobModel
from diagnose.model.event import Event, Value

FAILURES = ("torch.oom", "cuda.oom_other")
TABLE = "nvidia_smi.gpu"


def add_foreign(events: Iterable[Event], job: JobModel) -> None:
    """Complete the allocations that failed, in place.

    Args:
        events: With ranks and hosts completed.
        job: Of the input.
    """
    events = list(events)
    tables: dict[tuple[str | None, str], list[Event]] = defaultdict(list)
    for event in events:
        if event.name == TABLE:
            tables[event.host, event.file].append(event)
    if not tables:
        return
    pids = _pids_of_the_job(events, job)
    by_host: dict[str | None, list[Event]] = defaultdict(list)
    for (host, _), rows in tables.items():
        if any(pid in pids[host] for row in rows for pid, _, _ in _listed(row)):
            by_host[host] += rows
    for event in events:
        if event.name in FAILURES:
            row = _row(event, by_host[event.host], job)
            others = [one for one in _listed(row) if one[0] not in pids[event.host]] if row else []
            used = [size for _, _, size in others if size is not None]
            event.fields["foreign"] = [f"{pid} {name}" for pid, name, _ in others] or None
            event.fields["foreign_used"] = sum(used) if used else None


def _pids_of_the_job(events: Iterable[Event], job: JobModel) -> Mapping[str | None, set[int]]:
    found: dict[str | None, set[int]] = defaultdict(set)
    for process in job.placements.values():
        if process.pid is not None:
            found[process.host].add(process.pid)
    for event in events:
        if event.rank is not None and event.pid is not None:
            found[event.host].add(event.pid)
    return found


def _listed(row: Event) -> list[tuple[int, str, int | None]]:
    """Return id, program and bytes of the processes on a GPU."""
    names, sizes = row.fields.get("processes"), row.fields.get("process_sizes")
    if not isinstance(names, list) or not isinstance(sizes, list):
        return []
    pairs = [(str(name).partition(" "), size) for name, size in zip(names, sizes, strict=True)]
    return [
        (int(pid), name, size if isinstance(size, int) else None) for (pid, _, name), size in pairs
    ]


def _row(event: Event, rows: Iterable[Event], job: JobModel) -> Event | None:
    """Return the GPU that an allocation failed on, by its address, else by its number."""
    own = job.placements.get(event.rank) if event.rank is not None else None
    addresses = {own.gpu if own else None, event.gpu} - {None}
    numbers: set[Value] = {own.nvml_dev if own else None, event.fields.get("gpu_index")} - {None}
    if event.gpu is not None and event.gpu.isdigit():
        numbers.add(int(event.gpu))
    by_address = [row for row in rows if row.gpu in addresses]
    if by_address or any(":" in str(address) for address in addresses):
        return by_address[-1] if by_address else None
    if event.fields.get("sees_one_gpu"):
        return None
    by_number = [row for row in rows if row.fields.get("index") in numbers]
    return by_number[-1] if by_number else None
