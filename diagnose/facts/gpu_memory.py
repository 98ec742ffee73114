"""What the other records of a job say about an allocation that failed on the GPU.

``torch.oom`` gets these fields, ``cuda.oom_other`` the first five and ``first_call``:

====================== ===========================================================================
``phase``, ``frame``   What the rank was doing, by the traceback that ends in this text, see
                       ``memory_phase``; and the frame that tells it
``code``               Innermost frame of the user's own code
``engine``             It failed in the code of a serving engine
``limit``, ``unused``  Of TensorFlow's allocator: what it may hold, and how much of that it had not
                       given out
``step``               Last step completed before; ``steps_done`` of those logged in this start of
                       the job, 0 where steps are logged and none came before
``ranks_failed``       Ranks that ran out of memory in the same start of the job, this one included
``alone``              This rank ran out of memory, and others that wrote logs did not
``own_gpu``            Index of the GPU this rank opened its communicator on
``sees_one_gpu``       Only one GPU is visible to this rank, so that its number is always 0
``shared_with``        Other ranks of this job whose processes are on this GPU
``growth``             Bytes that memory rose by each step before, or each record where no steps are
                       known (``growth_per``); ``growth_of`` is the metric, ``growth_points`` its
                       records, 0 where no memory was logged
``grown``              Bytes that the straight line through them rises in all, R² ``growth_fit``
``settings``           Of the allocator, as variables of this rank, else of the job, state them
``expandable``         Whether they switch expandable segments on; None where none were printed
``first_call``         The process had not used CUDA before: its context was created
====================== ===========================================================================

An ``alone`` rank says that memory is uneven, an empty one beside a full one that a GPU is shared.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from diagnose.facts.attempts import Attempts, step_counters
from diagnose.facts.clock import Clocks
from diagnose.facts.job import JobModel
from diagnose.facts.points import Point, point_at, step_before
from diagnose.model.event import Clock, Event, Points, Value
from diagnose.model.reading import Reading
from diagnose.parsers.memory_phase import of_engine, phase, users_frame

PYTORCH, OTHERS = "torch.oom", "cuda.oom_other"
CONTEXT_PHASES = ("init", "placement", "barrier")
"""Phases in which an allocation outside the allocator is that of the context."""

FEWEST_POINTS = 20
"""Points of a series that show whether memory grows."""

MOST_POINTS = 2_000
"""Points before a failure that are looked at; a longer leak shows in the last ones too."""

GROWING = ("memory_allocated", "memory_peak", "memory_used", "memory_reserved")
"""Metrics that show a leak, the most direct first. Growth of what is reserved is growth of what is
allocated only where little lies unused at the end; what a script calls memory only where it is
the size of the device."""

UNUSED = 0.5
"""Share of the growth that may lie reserved but unused."""

SETTINGS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")


def complete(
    reading: Reading,
    job: JobModel,
    attempts: Attempts,
    clocks: Clocks,
    by_file: Mapping[str, Clock],
) -> None:
    """Complete the events of allocations that failed, in place.

    Args:
        reading: With ranks, hosts and attempts completed.
        job: Of the input.
        attempts: Of the input.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file's series are measured against.
    """
    failed = [event for event in reading.events if event.name in (PYTORCH, OTHERS)]
    if not failed:
        return
    tracebacks: dict[str, list[Event]] = defaultdict(list)
    for event in reading.events:
        if event.name == "python.exception":
            tracebacks[event.file].append(event)
    engines = {event.file for event in reading.events if event.name == "inference.frame"}
    for event in failed:
        _add_frames(event, tracebacks[event.file], event.file in engines)
    _add_pools(reading.events, failed)
    failed = [event for event in failed if event.name == PYTORCH]
    steps = _Steps(reading, attempts, clocks, by_file)
    memory = _Memory(reading.points, attempts)
    variables = [one for one in reading.events if one.fact == "env"]
    stated = [one for one in variables if one.fields.get("name") in SETTINGS]
    by_rank: dict[int | None, Event] = {one.rank: one for one in stated if one.rank is not None}
    last = stated[-1] if stated else None
    for event in failed:
        event.fields |= steps.before(event)
        event.fields |= _settings(by_rank.get(event.rank, last))
        event.fields |= memory.growth(event)
    _compare_ranks(failed, job, variables)


def _add_frames(event: Event, tracebacks: Sequence[Event], beside_engine: bool) -> None:
    """Add what the traceback of an event tells.

    Args:
        event: Changed in place.
        tracebacks: Of its file.
        beside_engine: Frames of a serving engine stand in its file, which count where its own
            traceback is not known.
    """
    around = (
        one
        for one in tracebacks
        if one.line <= event.line <= one.end_line and one.rank == event.rank
    )
    listed = next((one.fields["frames"] for one in around), None)
    frames = [str(frame) for frame in listed] if isinstance(listed, list) else []
    found, frame = phase(frames)
    event.fields |= {"phase": found, "frame": frame, "code": users_frame(frames)}
    event.fields["engine"] = of_engine(frames) if frames else beside_engine
    if event.name == OTHERS:
        of_the_context = event.fields.get("library") == "runtime" and found in CONTEXT_PHASES
        event.fields["first_call"] = of_the_context or event.fields.get("library") == "xla"


def _add_pools(events: Iterable[Event], failed: Sequence[Event]) -> None:
    """Give TensorFlow's failures the figures of the pool that are printed below them."""
    waiting: dict[str, Event] = {}
    order = {id(event): event for event in failed}
    for event in events:
        if id(event) in order and event.fields.get("library") == "tensorflow":
            waiting.setdefault(event.file, event)
        elif event.name == "cuda.pool_figures" and event.file in waiting:
            limit, used = event.fields.get("limit"), event.fields.get("in_use")
            one = waiting.pop(event.file)
            one.fields |= {"limit": limit, "allocated": used}
            if isinstance(limit, int) and isinstance(used, int):
                one.fields["unused"] = limit - used


class _Steps:
    """The step counters of a job, to be asked what came before a failure."""

    def __init__(
        self, reading: Reading, attempts: Attempts, clocks: Clocks, by_file: Mapping[str, Clock]
    ) -> None:
        self._counters = step_counters(reading.points)
        self._by_writer: dict[str | int, list[Points]] = defaultdict(list)
        for points in self._counters:
            self._by_writer[points.file].append(points)
            if points.rank is not None:
                self._by_writer[points.rank].append(points)
        self._attempts = attempts
        self._clocks = clocks
        self._by_file = by_file
        # A log that begins later than its interval does not show how many steps came before.
        self._resumed = any(event.name.startswith("ckpt.load") for event in reading.events)

    def before(self, event: Event) -> dict[str, Value]:
        """Return the last step before an event and how many there were in its attempt."""
        if not self._counters:
            return {"step": None, "steps_done": None}
        of_rank = () if event.rank is None else self._by_writer.get(event.rank, ())
        own = [*self._by_writer.get(event.file, ()), *of_rank]
        runs = (self._run(points, event) for points in own or self._counters)
        steps = sorted({step for run in runs for step in run if step == step})
        if not steps:
            return {"step": None, "steps_done": 0}
        first, last = steps[0], steps[-1]
        between = steps[1] - first if len(steps) > 1 else first
        begins = not self._resumed and first <= between
        return {"step": int(last), "steps_done": int(last if begins else last - first + 1)}

    def _run(self, points: Points, event: Event) -> Sequence[float]:
        """Return the steps of one counter in the attempt of an event and before it."""
        lines, file = points.lines, points.file
        count = len(lines)
        begin = bisect_left(
            range(count),
            event.attempt,
            key=lambda place: self._attempts.at(file, lines[place], points.attempt),
        )
        end = bisect_left(
            range(count), True, key=lambda place: not self._is_before(points, place, event)
        )
        return points.steps[begin:end]

    def _is_before(self, points: Points, place: int, event: Event) -> bool:
        attempt = self._attempts.at(points.file, points.lines[place], points.attempt)
        if attempt != event.attempt:
            return attempt < event.attempt
        if points.file == event.file:
            return points.lines[place] < event.line
        clock, time = self._by_file.get(points.file, Clock.NONE), points.times[place]
        failed = self._clocks.of(event)
        if failed is None or time != time or clock is Clock.NONE:
            return True
        at = self._clocks.instant(time, clock, host=points.host, file=points.file)
        apart = self._clocks.difference(at, failed)
        return apart is None or apart[0] >= -apart[1]


def _settings(stated: Event | None) -> dict[str, Value]:
    if stated is None:
        return {"settings": None, "expandable": None}
    text = str(stated.fields.get("value"))
    words = text.replace(" ", "").lower()
    return {"settings": text, "expandable": "expandable_segments:true" in words}


class _Memory:
    """The series of memory of a job, to be asked how it rose until a failure."""

    def __init__(self, series: Iterable[Points], attempts: Attempts) -> None:
        series = list(series)
        self._attempts = attempts
        self._by_rank: dict[tuple[str, int | None], list[tuple[int, Points]]] = defaultdict(list)
        for place, points in enumerate(series):
            if points.metric in GROWING:
                self._by_rank[points.metric, points.rank].append((place, points))
        self._ranks = {points.rank for points in series}
        self._counters: dict[str, Points] = {}
        for points in step_counters(series):
            known = self._counters.get(points.file)
            if known is None or len(points.steps) > len(known.steps):
                self._counters[points.file] = points

    def growth(self, event: Event) -> dict[str, Value]:
        """Return the fields of the straight line through the points before an event."""
        found: dict[str, Value] = {
            "growth": None, "growth_fit": None, "growth_points": 0, "growth_of": None,
            "growth_per": None, "grown": None,
        }  # fmt: skip
        fewer = 0
        for metric in GROWING:
            run, file = self._longest(event, metric)
            if not run or (metric == "memory_used" and not _fills(event, run[-1].value)):
                continue
            if len(run) < FEWEST_POINTS:
                fewer = max(fewer, len(run))
                continue
            steps = [self._step(one, file) for one in run]
            numbered = all(step == step for step in steps) and steps[-1] > steps[0]
            xs = steps if numbered else [float(place) for place in range(len(run))]
            slope, fit = line([*zip(xs, (one.value for one in run), strict=True)])
            grown = slope * (xs[-1] - xs[0])
            unused = event.fields.get("reserved_unallocated")
            idle = isinstance(unused, int) and unused > UNUSED * grown > 0
            if metric == "memory_reserved" and idle:
                continue
            return {
                "growth": slope, "growth_fit": fit, "growth_points": len(run), "growth_of": metric,
                "growth_per": "step" if numbered else "record", "grown": grown,
            }  # fmt: skip
        return found | {"growth_points": fewer}

    def _longest(self, event: Event, metric: str) -> tuple[list[Point], str]:
        """Return the longest run of a metric before an event, and its file."""
        best: list[Point] = []
        file = event.file
        ranks = self._ranks if event.rank is None else (None, event.rank)
        told = (one for rank in ranks for one in self._by_rank.get((metric, rank), ()))
        for _, points in sorted(told, key=lambda one: one[0]):
            count = len(points.lines)
            end = bisect_left(points.lines, event.line) if points.file == event.file else count
            run = [
                point_at(points, at)
                for at in range(max(0, end - MOST_POINTS), end)
                if points.values[at] == points.values[at]
                and self._attempts.at(points.file, points.lines[at], points.attempt)
                == event.attempt
            ]
            if len(run) > len(best):
                best, file = run, points.file
        return best, file

    def _step(self, point: Point, file: str) -> float:
        """Return the step of a point, or the one above it in its file; NaN without one."""
        if point.step == point.step or file not in self._counters:
            return point.step
        step = step_before(self._counters[file], point.line)
        return math.nan if step is None else float(step)


def _fills(event: Event, last: float) -> bool:
    capacity = event.fields.get("capacity")
    return isinstance(capacity, int) and capacity / 2 <= last <= capacity


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return slope and R² of the least-squares line through some points."""
    count = len(points)
    mean_x, mean_y = (sum(column) / count for column in zip(*points, strict=True))
    along = sum((x - mean_x) ** 2 for x, _ in points)
    across = sum((y - mean_y) ** 2 for _, y in points)
    both = sum((x - mean_x) * (y - mean_y) for x, y in points)
    if not along or not across:
        return 0.0, 0.0
    return both / along, both * both / (along * across)


def _compare_ranks(failed: Sequence[Event], job: JobModel, variables: Sequence[Event]) -> None:
    by_attempt: dict[int, set[int]] = defaultdict(set)
    for event in failed:
        if event.rank is not None:
            by_attempt[event.attempt].add(event.rank)
    on_gpu = _ranks_beside(failed, job)
    masked = _masked(job, variables)
    for event in failed:
        ranks = by_attempt[event.attempt]
        known = event.rank is not None
        event.fields["ranks_failed"] = len(ranks)
        event.fields["alone"] = known and ranks == {event.rank} and len(job.ranks_with_logs) > 1
        own = job.placements.get(event.rank) if event.rank is not None else None
        event.fields["own_gpu"] = own.cuda_dev if own else None
        event.fields["sees_one_gpu"] = event.rank in masked or (None, event.file) in masked
        beside = {rank for pid in _others(event) for rank in on_gpu[_place(event), pid]}
        sharing: list[Value] = [*sorted(beside - {event.rank})]
        event.fields["shared_with"] = sharing or None


def _masked(job: JobModel, variables: Sequence[Event]) -> set[int | None | tuple[None, str]]:
    """Return the ranks to which only one GPU is visible; of a rank that is not named, the file.

    A variable says so, or two ranks of a host call different GPUs number 0.
    """
    found: set[int | None | tuple[None, str]] = set()
    for one in variables:
        value = str(one.fields.get("value")).strip(", ")
        if one.fields.get("name") == "CUDA_VISIBLE_DEVICES" and value and "," not in value:
            found.add((None, one.file) if one.rank is None else one.rank)
    first: dict[str | None, dict[str, int]] = defaultdict(dict)
    for rank, process in job.placements.items():
        if process.cuda_dev == 0 and process.gpu is not None:
            first[process.host][process.gpu] = rank
    for gpus in first.values():
        if len(gpus) > 1:
            found |= set(gpus.values())
    return found


def _ranks_beside(
    failed: Sequence[Event], job: JobModel
) -> Mapping[tuple[tuple[Value, ...], int], set[int]]:
    """Return, by GPU and process id, the ranks that are on that GPU with this process.

    They are the rank whose id it is, and those that failed beside it: two GPUs have no process in
    common.
    """
    pids = {(one.host, one.pid): rank for rank, one in job.placements.items()}
    found: dict[tuple[tuple[Value, ...], int], set[int]] = defaultdict(set)
    for event in failed:
        for pid in _others(event):
            itself = pids.get((event.host, pid))
            found[_place(event), pid] |= {one for one in (itself, event.rank) if one is not None}
    return found


def _place(event: Event) -> tuple[Value, ...]:
    return event.host, event.fields.get("gpu_index"), event.attempt


def _others(event: Event) -> list[int]:
    listed = event.fields.get("other_pids")
    return [pid for pid in listed if isinstance(pid, int)] if isinstance(listed, list) else []
