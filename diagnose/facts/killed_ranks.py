"""Which rank the kernel's out-of-memory killer ended, where no process id says so.

The kernel numbers processes as the host does, a container otherwise. What tells the rank as well:
Slurm's number of the task within the node, in the path of its control group, where each task is one
rank; and the one rank of that host whose launcher saw it end by SIGKILL. The lines of one kill name
the same process id.
"""

from collections.abc import Iterable, Mapping

from diagnose.facts.exits import EXITS
from diagnose.facts.placement import Process
from diagnose.facts.records import Records
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event

KILLED = "kernel.oom_kill"

_TRAINS = LazyPattern(r"(?i)^(?:python|pt_|torch|ray|vllm|sglang|deepspeed|train)")
"""Names of processes that may be a rank, and no daemon of the host."""


def name_killed(records: Records, placements: Mapping[int, Process]) -> None:
    """Give the kernel's kills the rank they ended, in place.

    Args:
        records: With ranks and hosts completed otherwise.
        placements: By global rank.
    """
    kills: dict[tuple[str | None, int | None], list[Event]] = {}
    for event in records.named.get(KILLED, ()):
        if event.host is not None:
            kills.setdefault((event.host, event.pid), []).append(event)
    if not kills:
        return
    per_task = not records.beginning("torchrun.")
    by_host = _killed_by_host(records.among(EXITS))
    for (host, _), lines in kills.items():
        pids = sum(known == host for known, _ in kills)
        ranks = {line.rank for line in lines} - {None}
        if not ranks and per_task:
            ranks = {_of_task(line, placements) for line in lines} - {None}
        trains = any(_TRAINS.match(str(line.fields.get("process"))) for line in lines)
        if not ranks and trains and pids == 1:
            ranks = by_host.get(host, set())
        if len(ranks) == 1:
            (rank,) = ranks
            for line in lines:
                line.rank = rank


def _of_task(line: Event, placements: Mapping[int, Process]) -> int | None:
    """Return the rank behind a task's number on its node, where ranks fill the nodes in turn."""
    here = sorted(rank for rank, process in placements.items() if process.host == line.host)
    whole = bool(here) and here[-1] - here[0] == len(here) - 1
    number = line.local_rank
    return here[number] if whole and number is not None and number < len(here) else None


def _killed_by_host(exits: Iterable[Event]) -> dict[str | None, set[int | None]]:
    """Return by host the ranks that ended by SIGKILL."""
    found: dict[str | None, set[int | None]] = {}
    for event in exits:
        if event.fields.get("signal") == "SIGKILL" and event.rank is not None:
            found.setdefault(event.host, set()).add(event.rank)
    return found
