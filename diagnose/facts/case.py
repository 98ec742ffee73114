"""The case: everything the rules may ask, made from what was read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from diagnose.facts.analyses import AFTER_PROGRESS, COMPLETING, OF_RECORDS, OF_THE_JOB
from diagnose.facts.attempts import Attempts, find_attempts
from diagnose.facts.clock import Clocks
from diagnose.facts.communicators import JOINED, name_communicators
from diagnose.facts.consecutive import name_writers
from diagnose.facts.derivations import Given, at_once, in_turn
from diagnose.facts.gpus import OF_A_PROCESS, place_errors
from diagnose.facts.identity import use_host_names
from diagnose.facts.job import JobModel, build_job
from diagnose.facts.moments import align_attempts, barriers, file_clocks, log_ends
from diagnose.facts.pods import name_nodes
from diagnose.facts.progress import Progress
from diagnose.facts.records import Records
from diagnose.facts.sizes import set_apart
from diagnose.model.event import Clock, Event, Fact, Points, Value
from diagnose.model.reading import Reading

if TYPE_CHECKING:
    import polars as pl

    from diagnose.model.baseline import Baseline
    from diagnose.model.topology import Topology

Order = Literal["before", "after", "concurrent", "unknown"]

Holders = dict[tuple[type, str], tuple[Value, list[int]]]
"""Each value of a field with the places, among the events of one name, of those that have it."""


@dataclass
class Case:
    """One input, ready for the rules.

    Args:
        records: What was read; the rank, host and attempt of its events are completed.
        attempts: Which lines belong to which start of the job.
        job: Who is who.
        clocks: When is when.
        file_clocks: What the stamps of each file are measured against.
        progress: What shows that the job still worked.
        frames: Series as frames, by metric and kind of group, see ``frame.frame_of``.
        holders: Events by what stands in a field, by name and field, see ``by_value.candidates``.
        baseline: What the run is held against, if it is.
    """

    records: Records
    attempts: Attempts
    job: JobModel
    clocks: Clocks
    file_clocks: dict[str, Clock]
    progress: Progress
    frames: dict[tuple[str, str], "pl.DataFrame"] = field(default_factory=dict)
    holders: dict[tuple[str, str], Holders] = field(default_factory=dict)
    baseline: "Baseline | None" = None

    @property
    def reading(self) -> Reading:
        """What was read."""
        return self.records.reading

    @property
    def events(self) -> list[Event]:
        """All events, in the order of sources and lines."""
        return self.reading.events

    def names(self) -> set[str]:
        """Return the names of all events."""
        return set(self.records.named)

    def named(self, name: str) -> list[Event]:
        """Return the events of one name, in the order of sources and lines."""
        return self.records.named.get(name, [])

    def add(self, events: list[Event]) -> None:
        """Add events that follow from the whole case; they come up in all later answers."""
        self.records.add(events)
        self.holders.clear()
        for answer in ("_stating", "_writers"):
            self.__dict__.pop(answer, None)

    def states(self, name: str) -> bool:
        """Return whether any process, host or the job states a fact."""
        return name in self._stating

    def facts_named(self, name: str) -> list[Fact]:
        """Return the facts of one name; an environment variable is ``env.NAME``."""
        return [
            Fact(name, event.fields["value"], event.host, event.rank, event)
            for event in self._stating.get(name, ())
        ]

    def series(self, metric: str) -> list[Points]:
        """Return the series of one metric, empty where the logs have none."""
        return self._series.get(metric, [])

    def order(self, a: Event, b: Event, *, onset: bool = False) -> Order:
        """Return how two events lie in time.

        Stamps decide beyond the clock error; then the step they name; then, within what one writer
        wrote to one file, the line.

        Args:
            a: One event.
            b: Another.
            onset: Compare when they began by their own statement, not when they were printed.

        Returns:
            ``before`` where ``a`` came first; ``concurrent`` within the clock error.
        """
        if a.file == b.file and a.attempt != b.attempt:
            return _order(b.attempt - a.attempt)
        apart = self.clocks.apart(a, b, onset=onset)
        if apart is not None and abs(apart[0]) > apart[1]:
            return _order(apart[0])
        steps = a.fields.get("step"), b.fields.get("step")
        if isinstance(steps[0], int | float) and isinstance(steps[1], int | float):
            if steps[0] != steps[1]:
                return _order(steps[1] - steps[0])
        elif self._one_writer(a, b) and not (
            onset and ("lasted" in a.fields or "lasted" in b.fields)
        ):
            return _order(b.line - a.line)
        return "unknown" if apart is None else "concurrent"

    def ordered(self, a: Event, b: Event, *, onset: bool = False) -> bool | None:
        """Return whether ``a`` came before ``b``; None if concurrent or unknown, see ``order``."""
        return {"before": True, "after": False}.get(self.order(a, b, onset=onset))

    def first_of(self, events: Iterable[Event]) -> Event | None:
        """Return the event that began first, as far as the clocks tell; None of none."""
        first: Event | None = None
        for event in events:
            if first is None or self.ordered(event, first, onset=True) is True:
                first = event
        return first

    def seconds_between(self, a: Event, b: Event, *, onset: bool = False) -> float | None:
        """Return the seconds from ``a`` to ``b`` on repaired clocks, None if incomparable."""
        apart = self.clocks.apart(a, b, onset=onset)
        return None if apart is None else apart[0]

    def reaches(
        self, event: Event, *, rank: int | None = None, host: str | None = None
    ) -> bool | None:
        """Return whether a rank's or a host's logs go on past the onset of an event.

        Returns:
            None where the stamps do not tell.
        """
        onset = self.clocks.of(event, onset=True)
        if onset is None:
            return None
        ends = self.job.ends.get(host if rank is None else rank, [])
        answers = [
            apart[0] >= -apart[1]
            for end in ends
            if (apart := self.clocks.difference(onset, end)) is not None
        ]
        return any(answers) if answers else None

    def progress_after(self, event: Event, by: Literal["rank", "job"] = "rank") -> bool | None:
        """Return whether progress followed an event, see ``Progress.after``."""
        return self.progress.after(event, by)

    def iso(self, time: float | None, clock: Clock) -> str | None:
        """Return a stamp as reports print it, None where its date is not known."""
        return self.clocks.iso(time, clock)

    @cached_property
    def _stating(self) -> dict[str, list[Event]]:
        """By the name of a fact, the events that state it."""
        found: dict[str, list[Event]] = {}
        for event in self.events:
            if event.fact is not None and "value" in event.fields:
                found.setdefault(_fact_name(event), []).append(event)
        return found

    @cached_property
    def _series(self) -> dict[str, list[Points]]:
        found: dict[str, list[Points]] = {}
        for points in self.reading.points:
            found.setdefault(points.metric, []).append(points)
        return found

    @cached_property
    def _writers(self) -> dict[str, int]:
        """How many writers are told apart in each file."""
        found: dict[str, set[tuple[int | None, str | None]]] = {}
        for event in self.events:
            found.setdefault(event.file, set()).add((event.rank, event.host))
        return {file: len(writers) for file, writers in found.items()}

    def _one_writer(self, a: Event, b: Event) -> bool:
        if a.file != b.file:
            return False
        if a.rank is not None and b.rank is not None:
            return a.rank == b.rank
        return self._writers[a.file] == 1


def build(reading: Reading, topology: "Topology | None" = None) -> Case:
    """Return the case that an input makes.

    Args:
        reading: What was read.
        topology: The inventory; hosts get the names that it gives them.

    Rank, host and attempt of the reading's events and series are completed in place. Of runs at
    several sizes the largest is the job, and what the others set and measure is taken out.
    """
    if topology is not None:
        reading.topology = topology
        use_host_names(reading, topology.names)
    runs = set_apart(reading)
    records = Records(reading)
    attempts = find_attempts(records)
    attempts.placed(reading.events)
    name_communicators(records.among(JOINED))
    name_nodes(reading)
    job = build_job(records, attempts)
    name_writers(reading, job)
    place_errors(records.among(OF_A_PROCESS), job.placements)
    clocks = Clocks(reading)
    by_file = file_clocks(reading)
    clocks.repair(barriers(reading, attempts, clocks, by_file))
    align_attempts(reading, attempts, clocks, by_file)
    given = Given(
        records=records, attempts=attempts, job=job, clocks=clocks, by_file=by_file, runs=runs
    )
    in_turn(COMPLETING, given)
    at_once(OF_RECORDS, given)
    job.ends = log_ends(reading, clocks, by_file, job.host_of)
    in_turn(OF_THE_JOB, given)
    progress = Progress(reading, attempts, clocks, by_file)
    job.report.last_progress = _last_progress(progress, clocks)
    in_turn(AFTER_PROGRESS, replace(given, progress=progress))
    job.report.checkpoint = _checkpoint(records.named.get("ckpt.resume_point", ()))
    job.report.start = _start(reading, clocks)
    return Case(records, attempts, job, clocks, by_file, progress)


def _last_progress(progress: Progress, clocks: Clocks) -> dict[str, Value] | None:
    """Return the last step that any rank logged, as the report shows it."""
    last = progress.last_step()
    if last is None or last.step is None:
        return None
    step = int(last.step) if last.step.is_integer() else last.step
    return {"step": step, "time": clocks.iso(last.time, last.clock)}


def _checkpoint(points: Sequence[Event]) -> dict[str, Value] | None:
    """Return the checkpoint to resume from, None if there is none or runs differ in it."""
    if len({str(event.fields.get("step")) for event in points}) != 1:
        return None
    names = ("step", "path", "newer", "steps", "seconds")
    return {name: points[0].fields.get(name) for name in names}


def _fact_name(event: Event) -> str:
    if event.fact == "env":
        return f"env.{event.fields.get('name')}"
    return event.fact or event.name


def _order(difference: float) -> Order:
    if difference == 0:
        return "concurrent"
    return "before" if difference > 0 else "after"


def _start(reading: Reading, clocks: Clocks) -> str | None:
    """Return the earliest stamp with a date."""
    times: dict[Clock, set[float]] = {}
    for event in reading.events:
        if event.time is not None:
            times.setdefault(event.clock, set()).add(event.time)
    for source in reading.sources:
        if source.first_time is not None:
            times.setdefault(source.clock, set()).add(source.first_time)
    earliest = (
        clocks.iso(min(found, key=lambda time: clocks.completed(time, clock)), clock)
        for clock, found in times.items()
    )
    return min((text for text in earliest if text is not None), default=None)
