"""What shows that the job still worked: completed steps, and records that say so.

An error that progress follows is history. A rank is cleared by its own progress. That of its peers
clears it, or a host, only where it goes on well past the error: ranks that train together still
print the step that was in flight, and no further one, when one of them has failed. Of each writer
and attempt the last marks count, by stamp and by line; where several ranks write into one file
without saying who they are, that is the last steps.
"""

from bisect import bisect_right
from functools import cached_property
from typing import Literal

from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Clocks, Instant
from diagnose.facts.exits import EXITS
from diagnose.facts.marks import (
    ENDS,
    FAR_PAST,
    Mark,
    Marks,
    counters,
    event_marks,
    mark_of,
    series_marks,
)
from diagnose.model.event import Clock, Event, Nature
from diagnose.model.reading import Reading

SUCCESS = frozenset({"done", "duration", "iteration"})
"""Reasons of an end that training reaches only when it went well."""

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


Moment = tuple[Event, Instant | None, Instant | None]
"""An event, its stamp, and of one without a stamp that of the next record of its writer."""


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
        self._marks = Marks(
            [
                *event_marks(reading.events, clocks),
                *(
                    mark
                    for points in counters(reading.points)
                    for mark in series_marks(
                        points, attempts, clocks, file_clocks.get(points.file, Clock.NONE)
                    )
                ),
            ]
        )
        self._successes = Marks(
            mark_of(event, clocks)
            for event in reading.events
            if event.name in ENDS and event.fields.get("reason") in SUCCESS
        )

    def after(self, event: Event, by: Literal["rank", "job"] = "rank") -> bool | None:
        """Return whether progress followed an event in the same or a later attempt.

        Args:
            event: The event.
            by: ``rank`` asks the rank's own progress where any of it is known, else, also for an
                event of a host, whether the job's went on well past it; ``job`` asks any.

        Returns:
            None where no progress is known or nothing tells which came first.
        """
        moment = self._moment(event)
        if any(self._follows(end, moment) for end in self._successes.near(event)):
            return True
        if event.name in LOST_PEERS and event.attempt in self._finished:
            return True
        own = self._marks.of_rank(event.rank)
        if event.name in EXITS and event.rank is not None and self._other_zone(event, own):
            return None
        somewhere = event.rank is not None or event.host is not None
        of_one = (by == "rank" and somewhere) or event.name in KILLS
        marks = own if of_one and event.rank is not None and own else self._marks.near(event)
        later = [mark for mark in marks if mark.attempt >= event.attempt]
        answers = [self._follows(mark, moment) for mark in later]
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
            moment = self._moment(event)
            near = (one for one in self._marks.near(event) if one.attempt >= event.attempt)
            if not any(self._follows(mark, moment) for mark in near):
                found.add(event.attempt)
        return found

    @cached_property
    def _finished(self) -> set[int]:
        """The attempts in which every writer made the last step of one that ended with success."""
        found: set[int] = set()
        for attempt in {end.attempt for end in self._successes.all}:
            last: dict[tuple[str, int | None], float] = {}
            for mark in self._marks.all:
                if mark.attempt == attempt and mark.step is not None:
                    writer = mark.file, mark.rank
                    last[writer] = max(mark.step, last.get(writer, mark.step))
            ended = [
                last[end.file, end.rank]
                for end in self._successes.all
                if end.attempt == attempt and (end.file, end.rank) in last
            ]
            if ended and min(last.values()) >= max(ended):
                found.add(attempt)
        return found

    def last_step(self) -> Mark | None:
        """Return the last step that the whole job completed, in its newest attempt with steps.

        The rank that is furthest behind counts: one that is a step ahead only waits for it.
        """
        stepped = [mark for mark in self._marks.all if mark.step is not None]
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
    def _stamped(self) -> dict[tuple[str, int | None, str | None], list[Event]]:
        """By file and writer, the records with a stamp, in the order of lines."""
        found: dict[tuple[str, int | None, str | None], list[Event]] = {}
        for event in sorted(self._events, key=lambda one: one.line):
            if self._clocks.of(event) is not None:
                found.setdefault((event.file, event.rank, event.host), []).append(event)
        return found

    def _moment(self, event: Event) -> Moment:
        seen = self._clocks.of(event)
        return event, seen, self._no_later(event) if seen is None else None

    def _no_later(self, event: Event) -> Instant | None:
        """Return the stamp of the next record of its writer in that file."""
        own = self._stamped.get((event.file, event.rank, event.host), [])
        place = bisect_right(own, event.line, key=lambda one: one.line)
        return self._clocks.of(own[place]) if place < len(own) else None

    def _follows(self, mark: Mark, moment: Moment) -> bool | None:
        event, seen, bound = moment
        if seen is not None and mark.instant is not None:
            apart = self._clocks.difference(seen, mark.instant)
            if apart is not None:
                seconds, error = apart
                if abs(seconds) > error or mark.file != event.file:
                    return seconds > error
        elif seen is None and mark.instant is not None and mark.file != event.file:
            apart = self._clocks.difference(bound, mark.instant)
            if apart is not None and apart[0] > apart[1]:
                return True
        if mark.file == event.file:
            return mark.line > event.end_line
        return True if mark.attempt > event.attempt else None
