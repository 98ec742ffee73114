"""Which faults that a machine reports belong to the job.

A kernel log tells of all GPUs of its node, of all jobs on it and of all days; a central log of all
machines. What has nothing to do with the job gets the nature ``unrelated``: it speaks of a host
that the job does not use, of another job's control group or pod, or the job had ended before. An
event with the field ``role`` gets, besides:

``before_job``
    Seconds from it to the first line with which the job starts, 0 where it came later or where the
    logs do not show the start: an excerpt that begins late says nothing of when the job began.
``role``
    ``elsewhere``, where it speaks of a host or a GPU that the job does not use; ``past``, where the
    driver was loaded anew between it and the start of the job, which resets the GPUs;
    ``after_job``, where the job had ended before.
``again``
    How many times the same GPU reported the same number in earlier incidents.
``serial``
    Of the board, where the driver printed it.
"""

import re
from collections.abc import Iterable

from diagnose.facts.clock import Clocks, Instant
from diagnose.facts.foreign_pods import ForeignPods
from diagnose.facts.job import JobModel
from diagnose.facts.job_ends import JobEnd
from diagnose.model.event import Event, Nature, Value
from diagnose.model.reading import Reading

REPORTERS = ("kernel.", "fabric.", "host.", "k8s.", "slurm.node_state", "slurm.node_failure")
"""Beginnings of the names of what machines report and that may belong to no job."""

STARTS = frozenset(
    {
        "job.framework", "job.version", "nccl.bootstrap_interface", "nccl.comm_init",
        "nccl.version", "torchrun.placement",
    }
)  # fmt: skip
"""What programs print when they begin."""

RELOADED = "kernel.nvidia_module_loaded"
IDENTITY = "kernel.gpu_identity"

WHOLE_NODE = 8
"""GPUs of the usual node; a job on as many shares it with no other."""

INCIDENT = 3600.0
"""Seconds without a report after which the next one is another incident."""

CONTROL_GROUPS = ("task_memcg", "memcg", "cgroup")
"""Fields with the path of a control group, the innermost first."""

JOB_IDS = ("slurm.cancelled", "slurm.oom_kill", "slurm.unkillable")
"""What the output of a job itself says with its number."""

_DIGITS = re.compile(r"\d+")
_LETTER = re.compile(r"(?<![a-z])[a-z](?![a-z])")
_SLURM_GROUP = re.compile(r"/job_(\d+)(?:/|$)")


def relate_to_job(reading: Reading, job: JobModel, clocks: Clocks) -> None:
    """Complete the reports of machines, in place.

    Args:
        reading: With hosts and attempts completed.
        job: Who is who, with the ends of all logs.
        clocks: Of the input, repaired.
    """
    events = reading.events
    reports = [one for one in events if one.name.startswith(REPORTERS)]
    if not reports:
        return
    starts = _starts(events, clocks)
    reloads = [one for one in events if one.name == RELOADED]
    places = _Places(job)
    pods = ForeignPods(events, job, places.hosts)
    end = JobEnd(reading, job, clocks)
    others = _other_jobs(events, reports)
    for event in reports:
        before = _seconds_before(clocks.of(event), starts, clocks)
        if "role" in event.fields:
            event.fields["before_job"] = before
        another = (event.file, event.pid) in others
        if another or places.exclude(event) or pods.exclude(event):
            _set_aside(event, "elsewhere")
        elif end.before(event):
            _set_aside(event, "after_job")
        elif before > 0 and any(_reset_by(one, event, before, clocks) for one in reloads):
            _set_aside(event, "past")
    faults = [one for one in reports if "role" in one.fields]
    _count_incidents(faults, clocks)
    _name_boards(events, faults)


def _other_jobs(events: Iterable[Event], reports: Iterable[Event]) -> set[tuple[str, int | None]]:
    """Return file and process id of the reports of other Slurm jobs, where the own one is known."""
    own = {
        str(one.fields["job"]) for one in events if one.name in JOB_IDS and one.fields.get("job")
    }
    found: set[tuple[str, int | None]] = set()
    for event in reports if own else ():
        path = next((event.fields[key] for key in CONTROL_GROUPS if event.fields.get(key)), "")
        named = _SLURM_GROUP.search(str(path))
        if named is not None and named[1] not in own and event.pid is not None:
            found.add((event.file, event.pid))
    return found


def _starts(events: Iterable[Event], clocks: Clocks) -> list[Instant]:
    """Return the first moment of the job on each family of clocks."""
    first: dict[str, Instant] = {}
    for event in events:
        at = clocks.of(event) if event.name in STARTS else None
        if at is not None and at.seconds < first.setdefault(at.domain.family, at).seconds:
            first[at.domain.family] = at
    return list(first.values())


def _count_incidents(reports: Iterable[Event], clocks: Clocks) -> None:
    """Count per GPU and number; a report that cannot be timed belongs to the incident at hand."""
    seen: dict[tuple[str | None, str | None, Value], tuple[int, Instant]] = {}
    for event in reports:
        at = clocks.of(event)
        key = (event.host, event.gpu, event.fields.get("code"))
        again, last = seen.get(key, (0, at))
        gap = clocks.difference(last, at)
        again += 1 if gap and gap[0] - gap[1] > INCIDENT else 0
        event.fields["again"] = again
        if at is not None:
            seen[key] = again, at


def _name_boards(events: Iterable[Event], reports: Iterable[Event]) -> None:
    """Take the serial number behind the line that names a GPU for that GPU's."""
    serials: dict[tuple[str | None, str | None], Value] = {}
    last: dict[str, str | None] = {}
    for event in events:
        if event.name == IDENTITY and event.gpu is not None:
            last[event.file] = event.gpu
        elif event.name == IDENTITY and event.file in last:
            serials[event.host, last[event.file]] = event.fields.get("serial")
    for event in reports:
        event.fields["serial"] = serials.get((event.host, event.gpu))


def _set_aside(event: Event, role: str) -> None:
    """Take an event for no evidence; what a driver was loaded with stays a setting."""
    if "role" in event.fields:
        event.fields["role"] = role
    if event.nature is not Nature.SETTING:
        event.nature = Nature.UNRELATED


def _seconds_before(at: Instant | None, starts: list[Instant], clocks: Clocks) -> float:
    """Return how long before the first start a moment lies, beyond the error of the clocks."""
    if at is None:
        return 0.0
    apart = [found for start in starts if (found := clocks.difference(at, start)) is not None]
    return max(0.0, min((seconds - error for seconds, error in apart), default=0.0))


def _reset_by(reload: Event, event: Event, before: float, clocks: Clocks) -> bool:
    """Return whether the driver was loaded on that host after an event and before the job."""
    apart = clocks.apart(event, reload) if reload.host == event.host else None
    return apart is not None and 0 < apart[0] < before


class _Places:
    """Where the job runs, if all its ranks are placed.

    Args:
        job: Who is who.
    """

    def __init__(self, job: JobModel) -> None:
        world = job.report.world_size or 0
        placed = [one for one in job.placements.values() if one.host is not None]
        self._gpus: dict[str, list[str | None]] = {}
        for process in placed if world and len(placed) >= world else ():
            self._gpus.setdefault(str(process.host), []).append(process.gpu)
        self._kinds = {_kind(host) for host in self._gpus}

    @property
    def hosts(self) -> set[str]:
        """The hosts of the job, empty where a rank is not placed."""
        return set(self._gpus)

    def exclude(self, event: Event) -> bool:
        """Return whether a report speaks of a host or a GPU that the job does not use."""
        if event.host is None or not self._gpus:
            return False
        here = self._gpus.get(event.host)
        if here is None:
            # Nodes and pods have different names, so only a name of the same kind is another node.
            return _kind(event.host) in self._kinds
        if event.gpu is None or ":" not in event.gpu or None in here:
            return False
        return len(here) < WHOLE_NODE and event.gpu not in here


def _kind(host: str) -> str:
    """Return the form of a name: rows and racks of one cluster differ in numbers and letters."""
    return _LETTER.sub("@", _DIGITS.sub("#", host))
