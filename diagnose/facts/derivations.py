"""Runs the analyses whose input was read, and adds what they find.

To import all of them takes longer than to read a snippet, so each is imported only where there is
something that it starts from. What it looks at besides is its own affair.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Clocks
from diagnose.facts.job import JobModel
from diagnose.facts.progress import Progress
from diagnose.facts.records import Records
from diagnose.facts.sizes import Run
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What analyses are given.

    Args:
        records: With ranks, hosts and attempts completed.
        attempts: Of the input.
        job: Who is who.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file are measured against.
        runs: Of the job at several sizes, by size; none where the input is one run.
        progress: What shows that the job still worked; known to the last analyses alone.
    """

    records: Records
    attempts: Attempts
    job: JobModel
    clocks: Clocks
    by_file: dict[str, Clock]
    runs: Sequence[Run] = ()
    progress: Progress | None = None

    @property
    def reading(self) -> Reading:
        """The input; analyses may add series to it."""
        return self.records.reading

    @property
    def events(self) -> list[Event]:
        """All events, in the order of sources and lines."""
        return self.records.reading.events

    def named(self, name: str) -> Sequence[Event]:
        """Return the events of one name."""
        return self.records.named.get(name, ())


Work = Callable[[Any, Given], Iterable[Event] | None]
"""Asks the module of an analysis; None is the answer of one that completes events in place."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """One analysis, which has nothing to say where none of what it starts from was read.

    Args:
        module: Below ``diagnose.facts``.
        work: Calls it.
        events: Beginnings of names of events.
        series: Metrics, each with the fewest points that one writer must have of it.
        runs: It starts from runs of the job at several sizes as well.
        whole: It asks where logs end, which is where the reading did if that was cut short.
    """

    module: str
    work: Work
    events: tuple[str, ...] = ()
    series: Mapping[str, int] = field(default_factory=dict)
    runs: bool = False
    whole: bool = False

    def has_input(self, given: Given) -> bool:
        """Return whether there is anything to start from."""
        if self.whole and given.reading.partial is not None:
            return False
        return (
            any(name.startswith(self.events) for name in given.records.named)
            or any(
                len(points.values) >= self.series.get(points.metric, math.inf)
                for points in (given.reading.points if self.series else ())
            )
            or (self.runs and bool(given.runs))
        )

    def load(self) -> Any:
        """Return the module."""
        return import_module(f"diagnose.facts.{self.module}")


def at_once(analyses: Sequence[Analysis], given: Given) -> None:
    """Add what analyses find, none of which sees what another one found."""
    found = [
        event
        for analysis in analyses
        if analysis.has_input(given)
        for event in analysis.work(analysis.load(), given) or ()
    ]
    given.records.add(given.attempts.placed(found))


def in_turn(analyses: Sequence[Analysis], given: Given) -> None:
    """Add what analyses find, one after another."""
    for analysis in analyses:
        if analysis.has_input(given):
            given.records.add(analysis.work(analysis.load(), given) or ())
