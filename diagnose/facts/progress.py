"""What shows that the job still worked: completed steps, and records that say so.

An error that progress follows is history. Of each writer and attempt only the last mark counts, by
stamp and by line.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from diagnose.facts.attempts import Attempts, step_counters
from diagnose.facts.clock import Clocks, Instant
from diagnose.model.event import Clock, Event, Nature, Points
from diagnose.model.reading import Reading

WORK = ("nccl.collective", "train.", "inference.")
"""Beginnings of the names of records of work. A start, a save or an end is none of it: a job that
failed also comes up, saves and exits; nor is a link that came back.
"""

ENDS = frozenset({"train.exit"})


@dataclass(slots=True)
class Mark:
    """The last sign of progress of one writer in one attempt.

    Args:
        file: Where it stands.
        rank: Whose, if known.
        attempt: Of which attempt.
        line: Last line that shows progress.
        instant: Last stamp that does.
        step: Last completed step.
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
        self.marks = [*_event_marks(reading.events, clocks)]
        for points in step_counters(reading.points):
            clock = file_clocks.get(points.file, Clock.NONE)
            self.marks.extend(_step_marks(points, attempts, clocks, clock))

    def after(self, event: Event, by: Literal["rank", "job"] = "rank") -> bool | None:
        """Return whether progress followed an event in the same or a later attempt.

        Args:
            event: The event.
            by: ``rank`` asks the rank's own progress where any of it is known, else the job's.

        Returns:
            None where no progress is known or nothing tells which came first.
        """
        marks = self.marks
        if by == "rank" and event.rank is not None:
            marks = [mark for mark in marks if mark.rank == event.rank] or marks
        answers = [self._follows(mark, event) for mark in marks if mark.attempt >= event.attempt]
        if True in answers:
            return True
        if marks and not answers:
            return False
        return None if None in answers or not answers else False

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

    def _follows(self, mark: Mark, event: Event) -> bool | None:
        seen = self._clocks.of(event)
        if seen is not None and mark.instant is not None:
            apart = self._clocks.difference(seen, mark.instant)
            if apart is not None:
                seconds, error = apart
                if abs(seconds) > error or mark.file != event.file:
                    return seconds > error
        if mark.file == event.file:
            return mark.line > event.end_line
        return True if mark.attempt > event.attempt else None


def _event_marks(events: Iterable[Event], clocks: Clocks) -> Iterator[Mark]:
    marks: dict[tuple[str, int | None, int], Mark] = {}
    for event in events:
        if event.nature is not Nature.PROGRESS or event.name in ENDS:
            continue
        if not event.name.startswith(WORK):
            continue
        key = (event.file, event.rank, event.attempt)
        mark = marks.setdefault(key, Mark(*key, event.end_line, None))
        mark.line = max(mark.line, event.end_line)
        mark.instant = _later(mark.instant, clocks.of(event))
    return iter(marks.values())


def _step_marks(points: Points, attempts: Attempts, clocks: Clocks, clock: Clock) -> Iterator[Mark]:
    marks: dict[int, Mark] = {}
    for step, time, line in zip(points.steps, points.times, points.lines, strict=True):
        if step != step:
            continue
        attempt = attempts.at(points.file, line, points.attempt)
        mark = marks.get(attempt)
        if mark is None:
            mark = marks[attempt] = Mark(points.file, points.rank, attempt, line, None)
        mark.line = max(mark.line, line)
        if mark.step is None or step >= mark.step:
            mark.step, mark.time, mark.clock = step, time, clock
    for mark in marks.values():
        mark.instant = clocks.instant(mark.time, mark.clock, host=points.host, file=points.file)
    return iter(marks.values())


def _later(known: Instant | None, found: Instant | None) -> Instant | None:
    if known is None or found is None:
        return found or known
    return max(known, found, key=lambda instant: instant.seconds)
