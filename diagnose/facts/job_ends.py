"""When the job was over, where its logs show that it is.

A log that merely stops says nothing: its job may hang to this day. The job is over where a process
of it failed or was ended and none of its programs wrote afterwards.
"""

from collections.abc import Iterator
from heapq import nlargest

from diagnose.facts.clock import COMPARED, Clocks, Instant
from diagnose.facts.job import JobModel
from diagnose.model.event import Event, Nature
from diagnose.model.reading import Reading

MACHINES = ("kernel.", "fabric.")
"""Beginnings of the names of what machines say at once; a host or a scheduler may say it late."""

PROGRAMS = (
    "c10d.", "cuda.", "dataloader.", "gloo.", "launcher.", "nccl.", "oom.", "python.",
    "slurm.cancelled", "slurm.step_aborted", "torchrun.", "train.",
)  # fmt: skip
"""Beginnings of the names of what the programs of a job and their launchers print."""

ENDED = frozenset({Nature.ERROR, Nature.EFFECT, Nature.TEARDOWN})

SETTLED = 300.0
"""Seconds after the last line in which a report may be late: dmesg -T drifts by minutes."""


class JobEnd:
    """The last moment of a job, by every clock that shows it.

    Args:
        reading: With ranks, hosts and attempts completed.
        job: Who is who, with the ends of all logs.
        clocks: Of the input, repaired.
    """

    def __init__(self, reading: Reading, job: JobModel, clocks: Clocks) -> None:
        self._clocks = clocks
        programs = [one for one in reading.events if one.name.startswith(PROGRAMS)]
        over = any(one.nature in ENDED for one in programs)
        ends = _latest(_moments(reading, programs, job, clocks)) if over else ()
        self._ends = nlargest(COMPARED, ends, key=lambda one: one.seconds)

    def before(self, event: Event) -> bool:
        """Return whether the job was over when a machine said something; False if unknown."""
        at = self._clocks.of(event, onset=True)
        if at is None or not self._ends or not event.name.startswith(MACHINES):
            return False
        apart = (self._clocks.difference(end, at) for end in self._ends)
        return all(found is not None and found[0] - found[1] > SETTLED for found in apart)


def _moments(
    reading: Reading, programs: list[Event], job: JobModel, clocks: Clocks
) -> Iterator[Instant | None]:
    """Yield when programs of the job wrote: ranks, launchers, and files that machines share not."""
    for who, ends in job.ends.items():
        if isinstance(who, int):
            yield from ends
    machines = {one.file for one in reading.events if one.name.startswith(MACHINES)}
    wrote = {one.file for one in programs} | {points.file for points in reading.points}
    own = wrote - machines
    for source in reading.sources:
        if source.name in own:
            host = source.host or job.host_of(source.rank)
            yield clocks.instant(source.last_time, source.clock, host=host, file=source.name)
    for event in programs:
        yield clocks.of(event)


def _latest(moments: Iterator[Instant | None]) -> Iterator[Instant]:
    """Yield the last moment of each clock."""
    last: dict[object, Instant] = {}
    for at in moments:
        if at is not None and at.seconds >= last.setdefault(at.domain, at).seconds:
            last[at.domain] = at
    yield from last.values()
