"""Which start of the job a line belongs to.

A new attempt begins, within one file,

* behind a line that says the launcher restarts the workers or the scheduler the job,
* where the same rank of NCCL on the same host and GPU is initialised by a new process,
* where a checkpoint is loaded between two steps of which the second is not later than the first.

What several of these say about one restart counts once. Where the path states the attempt
(torchrun's ``attempt_1``), counting starts from it. Where the logs of ranks stand in one file one
behind the other, it begins again with each rank: with processes that were started as often as any
other, the first of them behind a restart of those before.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from diagnose.facts.records import Records
from diagnose.model.event import Event, Points, Value, Writer

LOADS = "ckpt.load"
NCCL_INIT = "nccl.comm_init"
MARKS = frozenset({NCCL_INIT, "slurm.cancelled", "torchrun.restart"})

Slot = tuple[Value, ...]
"""Host, GPU, size of the communicator, and rank in it."""


@dataclass(slots=True)
class Attempts:
    """The attempts of one input.

    Args:
        starts: By file, the lines at which a further attempt begins, in order.
        stated: By file, the attempt that its path states.
        rewinds: By file, the lines at which the log of the next process begins, in order.
    """

    starts: dict[str, list[int]] = field(default_factory=dict)
    stated: dict[str, int] = field(default_factory=dict)
    rewinds: dict[str, list[int]] = field(default_factory=dict)

    def at(self, file: str, line: int, stated: int = 0) -> int:
        """Return the attempt of a line: 0 for the first start of the job.

        Args:
            file: Name of the source.
            line: 1-based.
            stated: By the record itself, used where nothing is known of the source.
        """
        begun = self.stated.get(file, stated)
        starts = self.starts.get(file)
        if not starts:
            return begun
        begun += bisect_right(starts, line)
        rewinds = self.rewinds.get(file)
        if rewinds and (passed := bisect_right(rewinds, line)):
            begun -= bisect_left(starts, rewinds[passed - 1])
        return begun

    def spans(self, points: Points) -> list[tuple[int, int, int]]:
        """Return the attempts of a series in order, each with its first point and the one behind.

        Args:
            points: In the order of lines.
        """
        borders = sorted(self.starts.get(points.file, []) + self.rewinds.get(points.file, []))
        cuts = [0, *(bisect_left(points.lines, line) for line in borders), len(points.lines)]
        return [
            (self.at(points.file, points.lines[begin], points.attempt), begin, end)
            for begin, end in pairwise(cuts)
            if begin < end
        ]

    def placed(self, events: Iterable[Event]) -> list[Event]:
        """Return events, each with the attempt of its line."""
        found = list(events)
        for event in found:
            event.attempt = self.at(event.file, event.line, event.attempt)
        return found

    def longest(self, file: str) -> list[int]:
        """Return the starts in the log of the process that a file shows most starts of."""
        starts = self.starts.get(file, [])
        borders = [0, *self.rewinds.get(file, []), math.inf]
        cuts = [bisect_left(starts, border) for border in borders]
        parts = (starts[begin:end] for begin, end in pairwise(cuts))
        return max(parts, key=len)

    @property
    def total(self) -> int:
        """How many attempts were seen, at least one."""
        files = self.starts.keys() | self.stated.keys()
        counts = (self.stated.get(one, 0) + len(self.longest(one)) for one in files)
        return 1 + max(counts, default=0)


def find_attempts(records: Records) -> Attempts:
    """Return the attempts that the events and step counters of an input show."""
    reading = records.reading
    attempts = Attempts(stated={source.name: source.attempt for source in reading.sources})
    for event in reading.events:
        attempts.stated.setdefault(event.file, event.attempt)
    marks: dict[str, list[Event]] = {}
    for event in records.among(MARKS):
        if event.name == NCCL_INIT or _is_restart(event):
            marks.setdefault(event.file, []).append(event)
    loads: dict[str, list[int]] = {}
    for event in records.beginning(LOADS):
        loads.setdefault(event.file, []).append(event.line)
    for file, events in marks.items():
        attempts.starts[file], rewinds = _starts(events)
        if rewinds:
            attempts.rewinds[file] = rewinds
    for points in step_counters(reading.points):
        if points.file in loads:
            starts = attempts.starts.setdefault(points.file, [])
            _add_reloads(starts, points, sorted(loads[points.file]))
    attempts.starts = {file: starts for file, starts in attempts.starts.items() if starts}
    return attempts


def step_counters(series: Iterable[Points]) -> list[Points]:
    """Return one series with step numbers of each file and writer, the longest."""
    longest: dict[Writer, Points] = {}
    for points in series:
        known = longest.get(points.writer)
        if any(step == step for step in points.steps) and (
            known is None or len(points.steps) > len(known.steps)
        ):
            longest[points.writer] = points
    return list(longest.values())


def _is_restart(event: Event) -> bool:
    requeued = event.name == "slurm.cancelled" and event.fields.get("reason") == "requeue"
    return requeued or event.name == "torchrun.restart"


def _starts(events: list[Event]) -> tuple[list[int], list[int]]:
    """Return where attempts begin, by restart lines and by new processes of NCCL, and rewinds."""
    starts: list[int] = []
    rewinds: list[int] = []
    processes: dict[Slot, int] = {}
    announced: set[Value] = set()
    waiting = False
    events = sorted(events, key=lambda one: one.line)
    always_there = _always_there(events)
    for event in events:
        if _is_restart(event):
            left = event.fields.get("left")
            # Every agent of the job announces the same restart, with the same number left.
            if left in announced if left is not None else waiting:
                continue
            if rewinds and not announced:
                rewinds.append(event.line)
            announced.add(left)
            waiting = True
            starts.append(event.end_line + 1)
            processes.clear()
            continue
        waiting = False
        if event.pid is None:
            continue
        slot = _slot(event)
        if slot in always_there and starts:
            rewinds.append(event.line)
            processes.clear()
        always_there.discard(slot)
        if processes.setdefault(slot, event.pid) != event.pid:
            starts.append(event.line)
            processes.clear()
            processes[slot] = event.pid
    return starts, rewinds


def _slot(event: Event) -> Slot:
    """Return the place of a process in a communicator, which its successor takes."""
    place = (event.host, event.gpu or event.fields.get("cuda_dev"))
    return (*place, event.fields.get("nranks"), event.fields.get("comm_rank"))


def _always_there(events: Iterable[Event]) -> set[Slot]:
    """Return the places that were filled as often as any other, and more than once."""
    filled: dict[Slot, set[int]] = {}
    for event in events:
        if event.name == NCCL_INIT and event.pid is not None:
            filled.setdefault(_slot(event), set()).add(event.pid)
    most = max((len(pids) for pids in filled.values()), default=0)
    return {slot for slot, pids in filled.items() if most > 1 and len(pids) == most}


def _add_reloads(starts: list[int], points: Points, loads: list[int]) -> None:
    known = [
        (step, line) for step, line in zip(points.steps, points.lines, strict=True) if step == step
    ]
    for (early, above), (late, below) in pairwise(known):
        if late > early:
            continue
        load = bisect_right(loads, above)
        start = bisect_right(starts, above)
        loaded = load < len(loads) and loads[load] < below
        if loaded and not (start < len(starts) and starts[start] <= below):
            starts.insert(start, loads[load])
