"""Which exceptions are consequences of another rank's failure.

When one rank fails, its launcher ends the others, and what these were doing breaks: a loader's
workers are gone, a file is closed, a thread was stopped. Their exceptions, of whatever class, are
then of the nature ``teardown``. A rank is such a victim where

* its agent told it to end (``torchrun.sigterm``), a rank is known that failed by itself with an
  exception of its own, and this exception came no earlier than the signal; or
* another rank had failed shortly and clearly before: with an exception of its own that no progress
  followed, or an exit of its own that the launcher saw.

An exception of the same text is none of these: what many ranks meet at their own pace is one fault.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set

from diagnose.facts.clock import UNKNOWN_SKEW, Clocks, Instant
from diagnose.facts.ended_workers import pid_owners
from diagnose.facts.exits import TIED, own_exits
from diagnose.facts.progress import Progress
from diagnose.model.event import Event, Nature

TEARDOWN_TIME = 120.0
"""Seconds that a job may take to end after a failure: agents wait 30 s before they kill."""

COMPARED = 64
"""Failures that an exception is held against: thousands of ranks may fail in the same seconds, and
the first of them that say something else tell as much as all."""

ERRORS = ("python.", "dataloader.")

_NUMBER = re.compile(r"\d+")


def mark_victims(events: Sequence[Event], progress: Progress, clocks: Clocks) -> None:
    """Give the exceptions of ranks that others brought down the nature ``teardown``, in place.

    Args:
        events: With ranks, hosts and attempts completed.
        progress: Of the input.
        clocks: Of the input, repaired.
    """
    errors = [
        event
        for event in events
        if event.name.startswith(ERRORS) and event.nature is Nature.ERROR and event.rank is not None
    ]
    marked: set[tuple[str, int]] = set()
    for attempt in sorted({event.attempt for event in errors}):
        here = [event for event in events if event.attempt == attempt]
        own = [event for event in errors if event.attempt == attempt]
        marked |= _victims(here, own, progress, clocks)
    for event in events:
        if event.nature is Nature.ERROR and (event.file, event.line) in marked:
            event.nature = Nature.TEARDOWN


def _victims(
    events: Sequence[Event], errors: list[Event], progress: Progress, clocks: Clocks
) -> set[tuple[str, int]]:
    """Return the lines of the victims' errors in one attempt."""
    exits = {event.rank: event for event in own_exits(events)}
    told = _told(events, exits)
    fatal = [
        event
        for event in errors
        if event.name == "python.exception"
        and (not exits or event.rank in exits)
        and progress.after(event, "job") is not True
    ]
    failures = _Failures([*fatal, *exits.values()], clocks)
    explained = {event.rank for event in fatal if event.rank in exits}
    return {
        (event.file, event.line)
        for event in errors
        if _was_told(event, told, explained, clocks) or failures.brought_down(event)
    }


def _told(events: Sequence[Event], exits: Mapping[int | None, Event]) -> dict[int, Event]:
    """Return by rank the first signal of an agent to a worker that did not fail by itself."""
    by_pid = pid_owners(events)
    told: dict[int, Event] = {}
    for event in events:
        if event.name == "torchrun.sigterm" and event.pid is not None:
            rank = by_pid.get(event.pid, event.rank)
            if rank is not None and rank not in exits:
                told.setdefault(rank, event)
    return told


def _was_told(
    event: Event, told: Mapping[int, Event], explained: Set[int | None], clocks: Clocks
) -> bool:
    """Return whether it came behind the signal; without a stamp, whether the failure is known."""
    signal = told.get(event.rank) if event.rank is not None else None
    if signal is None or not explained:
        return False
    apart = clocks.apart(signal, event)
    return apart is None or apart[0] >= -TIED - apart[1]


class _Failures:
    """Failures that may have brought ranks down, by their stamps.

    Args:
        failures: Of one attempt.
        clocks: Of the input, repaired.
    """

    def __init__(self, failures: Iterable[Event], clocks: Clocks) -> None:
        self._clocks = clocks
        self._stamped: dict[str, list[tuple[Instant, str, Event]]] = {}
        for event in failures:
            at = clocks.of(event)
            if at is not None:
                of_family = self._stamped.setdefault(at.domain.family, [])
                of_family.append((at, _says(event), event))
        for of_family in self._stamped.values():
            of_family.sort(key=lambda one: one[0].seconds)
        self._others = {family: _next_other(found) for family, found in self._stamped.items()}

    def brought_down(self, event: Event) -> bool:
        """Return whether another rank had failed shortly and clearly before, in other words."""
        at = self._clocks.of(event)
        if at is None:
            return False
        says = _says(event)
        for family, found in self._stamped.items():
            earliest = at.seconds - TEARDOWN_TIME - UNKNOWN_SKEW
            place = 0
            if len(found) > COMPARED:
                place = bisect_left(found, earliest, key=lambda one: one[0].seconds)
            asked = 0
            while place < len(found) and asked < COMPARED:
                failed, said, failure = found[place]
                if said == says:
                    place = self._others[family][place]
                    continue
                if failure.rank != event.rank and self._clearly_before(failed, at):
                    return True
                asked += 1
                place += 1
        return False

    def _clearly_before(self, failed: Instant, at: Instant) -> bool:
        apart = self._clocks.difference(failed, at)
        return apart is not None and TIED + apart[1] < apart[0] <= TEARDOWN_TIME


def _next_other(found: Sequence[tuple[Instant, str, Event]]) -> list[int]:
    """Return for each failure the place of the next one that says something else."""
    places = [len(found)] * len(found)
    for place in range(len(found) - 2, -1, -1):
        same = found[place][1] == found[place + 1][1]
        places[place] = places[place + 1] if same else place + 1
    return places


def _says(event: Event) -> str:
    """Return what an exception says, without its numbers."""
    said = f"{event.fields.get('type')}: {event.fields.get('message')}"
    return _NUMBER.sub("0", said)
