"""Runs of one job at several sizes, given together to see how it scales.

A run is the files of one folder, or one file, that state one world size and hold throughput; the
size stands in the settings, in the largest communicator, or in the name (``64gpus``). The largest
run is the job; the smaller ones are its references. Their series and settings are set apart, since
the job's own would be compared and mixed with them.

Restarts with fewer workers are no such runs: their sizes are close or their folders say that they
are attempts. Nor are parts of one job: they log ranks beyond their size, or the same losses at the
same pace.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from diagnose.facts import settings
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Nature, Points
from diagnose.model.reading import Reading, SourceSummary

RATES = ("tokens_per_s_gpu", "tflops", "tokens_per_s", "samples_per_s", "step_time")
"""Metrics that say how fast a run is, the best first."""

FEWEST_POINTS = 3

SIZE_NAME = LazyPattern(
    r"(?<![A-Za-z0-9])(?:(\d{1,6})[-_]?gpus?|(?:gpus|world|world_size)[-_]?(\d{1,6}))(?![A-Za-z0-9])"
)

APART = 1.5
"""Least ratio of two sizes."""

SAME_PACE = 1.05
"""Most by which the rates of two parts of one job differ."""

NCCL_INIT = "nccl.comm_init"

SET_APART = (Nature.SETTING, Nature.MEASUREMENT, Nature.PROGRESS)


@dataclass(slots=True, kw_only=True)
class Run:
    """One run.

    Args:
        size: Ranks.
        events: Its settings and measurements.
        points: Its series.
    """

    size: int
    events: list[Event] = field(default_factory=list)
    points: list[Points] = field(default_factory=list)


def runs_of(reading: Reading) -> list[Run]:
    """Return the runs by size where there are two or more, else none.

    Args:
        reading: As read.
    """
    if any(source.attempt for source in reading.sources):
        return []
    timed = _timed_files(reading.points)
    if len(timed) < 2:
        return []
    size_of = _sizes(reading.events, timed)
    sizes = sorted({size_of[file] for file in timed if file in size_of})
    if len(sizes) < 2 or any(b < APART * a for a, b in pairwise(sizes)):
        return []
    found = {size: Run(size=size) for size in sizes}
    for event in reading.events:
        if event.nature in SET_APART and size_of.get(event.file) in found:
            found[size_of[event.file]].events.append(event)
    for points in reading.points:
        if size_of.get(points.file) in found:
            found[size_of[points.file]].points.append(points)
    ranks = ((one.size, points.rank) for one in found.values() for points in one.points)
    runs = list(found.values())
    if any(rank is not None and rank >= size for size, rank in ranks):
        return []
    return [] if any(_one_job(a, b) for a, b in pairwise(runs)) else runs


def set_apart(reading: Reading) -> list[Run]:
    """Return the runs by size, and leave only the largest in the reading.

    What the others report as errors stays.
    """
    runs = runs_of(reading)
    if not runs:
        return []
    others = runs[:-1]
    _forget_folders(reading, runs)
    events = {id(event) for run in others for event in run.events}
    points = {id(one) for run in others for one in run.points}
    reading.events = [event for event in reading.events if id(event) not in events]
    reading.points = [one for one in reading.points if id(one) not in points]
    return runs


def _one_job(run: Run, other: Run) -> bool:
    """Return whether two runs are parts of one job: the same losses at the same steps and pace.

    With the same seed and batch, runs of several sizes have the same losses as well.
    """
    if len(_curve(run) & _curve(other)) < FEWEST_POINTS:
        return False
    for metric in RATES:
        rates = _rate(run, metric), _rate(other, metric)
        if rates[0] and rates[1]:
            return max(rates) <= SAME_PACE * min(rates)
    return True


def _curve(run: Run) -> set[tuple[float, float]]:
    return {
        pair
        for points in run.points
        if points.metric == "loss"
        for pair in zip(points.steps, points.values, strict=True)
    }


def _rate(run: Run, metric: str) -> float:
    """Return the level of a rate in a run, 0 where it is not printed."""
    values = [value for one in run.points if one.metric == metric for value in one.values]
    if not values:
        return 0.0
    from statistics import median

    return median(values)


def _forget_folders(reading: Reading, runs: Iterable[Run]) -> None:
    """Take back the hosts that are the names of whole runs, as that of a folder ``n64/`` is."""
    names: set[str] = set()
    for run in runs:
        parts = [set(_folder(points.file).split("/")) for points in run.points]
        names |= set.intersection(*parts)
    holders: list[Event | Points | SourceSummary] = [*reading.events, *reading.points]
    for holder in (*holders, *reading.sources):
        if holder.host in names:
            holder.host = None


def _timed_files(series: Iterable[Points]) -> set[str]:
    return {
        points.file
        for points in series
        if points.metric in RATES and len(points.values) >= FEWEST_POINTS
    }


def _sizes(events: Iterable[Event], timed: set[str]) -> dict[str, int]:
    """Return the size of the run that each file belongs to, where that is clear."""
    by_file: dict[str, list[Event]] = {}
    for event in events:
        by_file.setdefault(event.file, []).append(event)
    files = timed | by_file.keys()
    stated = {
        file: size for file in files if (size := _stated(by_file.get(file, [])) or _named(file))
    }
    folders: dict[str, set[int]] = {}
    for file, size in stated.items():
        folders.setdefault(_folder(file), set()).add(size)
    found = {}
    for file in files:
        sizes = folders.get(_folder(file), set())
        if len(sizes) == 1:
            found[file] = next(iter(sizes))
        elif (
            file in stated and file in timed and (_launched(by_file.get(file, [])) or _named(file))
        ):
            found[file] = stated[file]
    return found


def _stated(events: list[Event]) -> int | None:
    """Return the world size that a file states: by its launch, else by its largest communicator."""
    members = [
        size
        for event in events
        if event.name == NCCL_INIT and (size := settings.whole(event.fields.get("nranks")))
    ]
    return _launched(events) or max(members, default=None)


def _launched(events: list[Event]) -> int | None:
    own = [event for event in events if event.nature is Nature.SETTING and event.name != NCCL_INIT]
    arguments = settings.arguments(own)
    sizes = settings.parallel_layout(arguments)
    product = (sizes["tp"] or 1) * (sizes["pp"] or 1) * (sizes["cp"] or 1)
    by_layout = sizes["dp"] * product if sizes["dp"] else None
    return settings.stated_world_size(own, arguments) or by_layout


def _named(file: str) -> int | None:
    """Return the size in the name of a file or of a folder it is in; ``gpu3`` is no size."""
    found = SIZE_NAME.search(file)
    return int(found[1] or found[2]) if found else None


def _folder(file: str) -> str:
    return file.rpartition("/")[0]
