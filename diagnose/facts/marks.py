"""The last signs of progress of each writer, which is what tells whether an error was overcome."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import TypeVar

from diagnose.facts.attempts import Attempts, step_counters
from diagnose.facts.clock import Clocks, Instant
from diagnose.model.event import Clock, Event, Nature, Points, Writer

WORK = ("nccl.collective", "train.", "inference.")
"""Beginnings of the names of records of work. A start, a save or an end is none of it: a job that
failed also comes up, saves and exits; nor is a link that came back.
"""

ENDS = frozenset({"train.exit", "bench.finished"})

UNNUMBERED = ("loss", "epoch", "grad_norm", "step_time")
"""Metrics of one training record each, for programs that print no step beside them."""

ONE_CLOCK = 30.0
"""Seconds within which all ranks print a step, if their clocks agree."""

FAR_PAST = 5
"""Later steps, printed or not, after which no later failure of the job belongs to the error."""

K = TypeVar("K")

WRITERS = 32
"""Writers that an event is held against, those at work last: thousands of ranks step together."""


@dataclass(slots=True)
class Mark:
    """One of the last signs of progress of one writer in one attempt.

    Args:
        file: Where it stands.
        rank: Whose, if known.
        attempt: Of which attempt.
        line: Last line that shows progress.
        instant: Last stamp that does.
        step: Last completed step, None where the writer counts none.
        time: Stamp of that step.
        clock: What ``time`` is measured against.
    """

    file: str
    rank: int | None
    attempt: int
    line: int
    instant: Instant | None
    step: float | None = None
    time: float | None = None
    clock: Clock = Clock.NONE


class Marks:
    """All signs of progress of an input, of which an event need not be held against each.

    Args:
        marks: Of all writers and attempts.
    """

    def __init__(self, marks: Iterable[Mark]) -> None:
        self.all = list(marks)

    def of_rank(self, rank: int | None) -> list[Mark]:
        """Return the marks of one rank."""
        return self._by_rank.get(rank, [])

    def near(self, event: Event) -> list[Mark]:
        """Return the marks of those who were at work last, in the whole input and in one file."""
        if len(self.all) <= WRITERS * FAR_PAST:
            return self.all
        return [*self._last, *self._last_in_file.get(event.file, ())]

    @cached_property
    def _by_rank(self) -> dict[int | None, list[Mark]]:
        return _grouped(self.all, lambda mark: mark.rank)

    @cached_property
    def _last(self) -> list[Mark]:
        """The marks of the last writers by each family of clocks, in each attempt."""
        found = _grouped(
            self.all,
            lambda mark: (mark.attempt, mark.instant.domain.family if mark.instant else None),
        )
        return [mark for marks in found.values() for mark in _last_writers(marks, _second)]

    @cached_property
    def _last_in_file(self) -> dict[str, list[Mark]]:
        """By file, the marks of the writers with the last lines."""
        found = _grouped(self.all, lambda mark: mark.file)
        return {file: _last_writers(marks, lambda one: one.line) for file, marks in found.items()}


def _grouped(marks: Iterable[Mark], key: Callable[[Mark], K]) -> dict[K, list[Mark]]:
    found: dict[K, list[Mark]] = {}
    for mark in marks:
        found.setdefault(key(mark), []).append(mark)
    return found


def _second(mark: Mark) -> float:
    return mark.instant.seconds if mark.instant else 0.0


def _last_writers(marks: Iterable[Mark], when: Callable[[Mark], float]) -> list[Mark]:
    """Return the marks of the writers whose newest one is last."""
    writers = _grouped(marks, lambda mark: (mark.file, mark.rank, mark.attempt)).values()
    last = nlargest(WRITERS, writers, key=lambda found: max(map(when, found)))
    return [mark for found in last for mark in found]


def event_marks(events: Iterable[Event], clocks: Clocks) -> Iterator[Mark]:
    """Yield the last marks that records of work make, of each writer and attempt."""
    marks: dict[tuple[str, int | None, int], list[Mark]] = {}
    for event in events:
        if event.nature is not Nature.PROGRESS or event.name in ENDS:
            continue
        if not event.name.startswith(WORK):
            continue
        mark = mark_of(event, clocks)
        known = marks.setdefault((mark.file, mark.rank, mark.attempt), [])
        if known:
            mark.line = max(mark.line, known[-1].line)
            mark.instant = _later(known[-1].instant, mark.instant)
        known.append(mark)
        del known[:-FAR_PAST]
    for known in marks.values():
        yield from known


def mark_of(event: Event, clocks: Clocks) -> Mark:
    """Return the mark that one record makes."""
    return Mark(event.file, event.rank, event.attempt, event.end_line, clocks.of(event))


def counters(series: list[Points]) -> list[Points]:
    """Return one series of each writer: its step counter, else the records it prints."""
    counters = step_counters(series)
    counted = {points.writer for points in counters}
    records: dict[Writer, Points] = {}
    for points in series:
        writer = points.writer
        if points.metric not in UNNUMBERED or writer in counted:
            continue
        known = records.get(writer)
        if known is None or len(points.lines) > len(known.lines):
            records[writer] = points
    return [*counters, *records.values()]


def series_marks(
    points: Points, attempts: Attempts, clocks: Clocks, clock: Clock
) -> Iterator[Mark]:
    """Yield the marks of the highest steps of each attempt, or of the last records, in order.

    Several ranks may print a step, with clocks of their own or one rank's log behind the other's:
    its first line counts, so that no error is history that may have come later, and of stamps the
    earliest, or none where they cannot be of one clock.
    """
    numbered = any(step == step for step in points.steps)
    numbers = points.steps if numbered else points.lines
    marks: dict[int, dict[float, Mark]] = {}
    ends: dict[int, int] = {}
    for attempt, begin, end in attempts.spans(points):
        part = numbers[begin:end]
        highest = nlargest(FAR_PAST, {number for number in part if number == number})
        if not highest:
            continue
        last = next(place for place in range(end - 1, -1, -1) if numbers[place] == numbers[place])
        ends[attempt] = max(points.lines[last], ends.get(attempt, 0))
        known, least = marks.setdefault(attempt, {}), highest[-1]
        for place in [place for place, number in enumerate(part, begin) if number >= least]:
            number, line = numbers[place], points.lines[place]
            mark = known.setdefault(
                number, Mark(points.file, points.rank, attempt, line, None, clock=clock)
            )
            mark.step = number if numbered else None
            mark.time = _agreed(mark.time, points.times[place])
        for number in sorted(known)[:-FAR_PAST]:
            del known[number]
    for attempt, known in marks.items():
        known[max(known)].line = ends[attempt]
        for number in sorted(known):
            mark = known[number]
            mark.instant = clocks.instant(mark.time, mark.clock, host=points.host, file=points.file)
            yield mark


def _agreed(known: float | None, found: float) -> float | None:
    """Return the earlier of two stamps of a step, NaN from where on they differ too much."""
    if found != found or known is None:
        return known if found != found else found
    return min(known, found) if abs(known - found) <= ONE_CLOCK else math.nan


def _later(known: Instant | None, found: Instant | None) -> Instant | None:
    if known is None or found is None:
        return found or known
    return max(known, found, key=lambda instant: instant.seconds)
