"""What shows that the job still worked: completed steps, and records that say so.

An error that progress follows is history. A rank is cleared by its own progress. That of its peers
clears it, or a host, only where it goes on well past the error: ranks that train together still
print the step that was in flight, and no further one, when one of them has failed. Of each writer
and attempt the last marks count, by stamp and by line; where several ranks write into one file
without saying who they are, that is the last steps.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import Literal

from diagnose.facts.attempts import Attempts, step_counters
from diagnose.facts.clock import Clocks, Instant
from diagnose.facts.exits import EXITS
from diagnose.model.event import Clock, Event, Nature, Points, Writer
from diagnose.model.reading import Reading

WORK = ("nccl.collective", "train.", "inference.")
"""Beginnings of the names of records of work. A start, a save or an end is none of it: a job that
failed also comes up, saves and exits; nor is a link that came back.
"""

ENDS = frozenset({"train.exit", "bench.finished"})

SUCCESS = frozenset({"done", "duration", "iteration"})
"""Reasons of an end that training reaches only when it went well."""

UNNUMBERED = ("loss", "epoch", "grad_norm", "step_time")
"""Metrics of one training record each, for programs that print no step beside them."""

LOST_PEERS = frozenset(
    {
        "c10d.store_closed", "gloo.connection_closed", "nccl.ras_dead_peer", "nccl.remote_error",
        "nccl.socket_closed", "nccl.socket_failed",
    }
)  # fmt: skip
"""Records of a connection that its other end closed, as any process does when it has finished."""

KILLS = frozenset({"kernel.oom_kill"})
"""Ends of a process that somebody else reports: what others print behind them is not its work."""

ZONE_STEP = 1800.0
"""Seconds by which time zones differ."""

BEFORE_END = 60.0
"""Seconds before the end of a process in which its last step lies."""

WELL_PAST = 2
"""Later steps of the peers: the one in flight, and one that needs every rank."""

FAR_PAST = 5
"""Later steps, printed or not, after which no later failure of the job belongs to the error."""


ONE_CLOCK = 30.0
"""Seconds within which all ranks print a step, if their clocks agree."""


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


class Progress:
    """The progress of a job.

    Args:
        reading: With ranks, hosts and attempts completed.
        attempts: Of the input.
        clocks: Of the input.
        file_clocks: What the stamps of each file's series are measured against.
    """

    def __init__(
        self,
        reading: Reading,
        attempts: Attempts,
        clocks: Clocks,
        file_clocks: dict[str, Clock],
    ) -> None:
        self._clocks = clocks
        self._events = reading.events
        self.marks = [*_event_marks(reading.events, clocks)]
        for points in _counters(reading.points):
            clock = file_clocks.get(points.file, Clock.NONE)
            self.marks.extend(_series_marks(points, attempts, clocks, clock))
        self._successes = [
            _mark(event, clocks)
            for event in reading.events
            if event.name in ENDS and event.fields.get("reason") in SUCCESS
        ]

    def after(self, event: Event, by: Literal["rank", "job"] = "rank") -> bool | None:
        """Return whether progress followed an event in the same or a later attempt.

        Args:
            event: The event.
            by: ``rank`` asks the rank's own progress where any of it is known, else, also for an
                event of a host, whether the job's went on well past it; ``job`` asks any.

        Returns:
            None where no progress is known or nothing tells which came first.
        """
        if any(self._follows(end, event) for end in self._successes):
            return True
        if event.name in LOST_PEERS and event.attempt in self._finished:
            return True
        own = [mark for mark in self.marks if mark.rank == event.rank]
        if event.name in EXITS and event.rank is not None and self._other_zone(event, own):
            return None
        somewhere = event.rank is not None or event.host is not None
        of_one = (by == "rank" and somewhere) or event.name in KILLS
        marks = own if of_one and event.rank is not None and own else self.marks
        later = [mark for mark in marks if mark.attempt >= event.attempt]
        answers = [self._follows(mark, event) for mark in later]
        following = [mark for mark, follows in zip(later, answers, strict=True) if follows]
        if following:
            return not of_one or marks is own or self._went_on(event, following)
        if marks and not answers:
            return False
        return None if None in answers or not answers else False

    def _other_zone(self, event: Event, own: list[Mark]) -> bool:
        """Return whether the stamps of a rank and of the agent that saw its end differ by a zone.

        Then the last step of a rank lies whole or half hours off the moment before its end.
        """
        end = self._clocks.of(event)
        here = [mark for mark in own if mark.attempt == event.attempt and mark.file != event.file]
        last = max(
            (mark.instant for mark in here if mark.instant is not None),
            key=lambda instant: instant.seconds,
            default=None,
        )
        apart = self._clocks.difference(end, last)
        if apart is None or apart[0] <= BEFORE_END:
            return False
        return -apart[0] % ZONE_STEP <= BEFORE_END

    def _went_on(self, event: Event, following: list[Mark]) -> bool:
        """Return whether the progress of others shows that an event of one rank was overcome."""
        if any(mark.attempt > event.attempt for mark in following):
            return True
        steps = [mark.step for mark in following if mark.step is not None]
        passed = max(steps) - min(steps) + 1 if steps else 0
        records: dict[tuple[str, int | None], int] = {}
        for mark in following:
            if mark.step is None:
                writer = mark.file, mark.rank
                records[writer] = records.get(writer, 0) + 1
        count = max(passed, *records.values(), 0)
        if count >= FAR_PAST:
            return True
        return count >= WELL_PAST and event.attempt not in self._failed

    @cached_property
    def _failed(self) -> set[int]:
        """The attempts in which an error stands that no progress follows."""
        found: set[int] = set()
        for event in reversed(self._events):
            if event.nature not in (Nature.ERROR, Nature.EFFECT) or event.attempt in found:
                continue
            current = (mark for mark in self.marks if mark.attempt >= event.attempt)
            if not any(self._follows(mark, event) for mark in current):
                found.add(event.attempt)
        return found

    @cached_property
    def _finished(self) -> set[int]:
        """The attempts in which every writer made the last step of one that ended with success."""
        found: set[int] = set()
        for attempt in {end.attempt for end in self._successes}:
            last: dict[tuple[str, int | None], float] = {}
            for mark in self.marks:
                if mark.attempt == attempt and mark.step is not None:
                    writer = mark.file, mark.rank
                    last[writer] = max(mark.step, last.get(writer, mark.step))
            ended = [
                last[end.file, end.rank]
                for end in self._successes
                if end.attempt == attempt and (end.file, end.rank) in last
            ]
            if ended and min(last.values()) >= max(ended):
                found.add(attempt)
        return found

    def last_step(self) -> Mark | None:
        """Return the last step that the whole job completed, in its newest attempt with steps.

        The rank that is furthest behind counts: one that is a step ahead only waits for it.
        """
        stepped = [mark for mark in self.marks if mark.step is not None]
        newest = max((mark.attempt for mark in stepped), default=0)
        current = [mark for mark in stepped if mark.attempt == newest]
        by_rank: dict[int, Mark] = {}
        for mark in current:
            if mark.rank is not None:
                known = by_rank.get(mark.rank)
                if known is None or (mark.step or 0) > (known.step or 0):
                    by_rank[mark.rank] = mark
        if by_rank:
            return min(by_rank.values(), key=lambda mark: mark.step or 0)
        return max(current, key=lambda mark: mark.step or 0, default=None)

    @cached_property
    def _stamped(self) -> dict[str, list[Event]]:
        """By file, the records with a stamp, in the order of lines."""
        found: dict[str, list[Event]] = {}
        for event in sorted(self._events, key=lambda one: one.line):
            if self._clocks.of(event) is not None:
                found.setdefault(event.file, []).append(event)
        return found

    def _no_later(self, event: Event) -> Instant | None:
        """Return the stamp of the next record of its writer in that file."""
        behind = self._stamped.get(event.file, [])
        for other in behind[bisect_right(behind, event.line, key=lambda one: one.line) :]:
            if other.rank == event.rank and other.host == event.host:
                return self._clocks.of(other)
        return None

    def _follows(self, mark: Mark, event: Event) -> bool | None:
        seen = self._clocks.of(event)
        if seen is not None and mark.instant is not None:
            apart = self._clocks.difference(seen, mark.instant)
            if apart is not None:
                seconds, error = apart
                if abs(seconds) > error or mark.file != event.file:
                    return seconds > error
        elif seen is None and mark.instant is not None and mark.file != event.file:
            bound = self._no_later(event)
            apart = self._clocks.difference(bound, mark.instant)
            if apart is not None and apart[0] > apart[1]:
                return True
        if mark.file == event.file:
            return mark.line > event.end_line
        return True if mark.attempt > event.attempt else None


def _event_marks(events: Iterable[Event], clocks: Clocks) -> Iterator[Mark]:
    marks: dict[tuple[str, int | None, int], list[Mark]] = {}
    for event in events:
        if event.nature is not Nature.PROGRESS or event.name in ENDS:
            continue
        if not event.name.startswith(WORK):
            continue
        mark = _mark(event, clocks)
        known = marks.setdefault((mark.file, mark.rank, mark.attempt), [])
        if known:
            mark.line = max(mark.line, known[-1].line)
            mark.instant = _later(known[-1].instant, mark.instant)
        known.append(mark)
        del known[:-FAR_PAST]
    for known in marks.values():
        yield from known


def _mark(event: Event, clocks: Clocks) -> Mark:
    return Mark(event.file, event.rank, event.attempt, event.end_line, clocks.of(event))


def _counters(series: list[Points]) -> list[Points]:
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


def _series_marks(
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
