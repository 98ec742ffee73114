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
from collections.abc import Mapping, Sequence, Set

from diagnose.facts.clock import Clocks
from diagnose.facts.ended_workers import pid_owners
from diagnose.facts.exits import TIED, own_exits
from diagnose.facts.progress import Progress
from diagnose.model.event import Event, Nature

TEARDOWN_TIME = 120.0
"""Seconds that a job may take to end after a failure: agents wait 30 s before they kill."""

ERRORS = ("python.", "dataloader.")


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
    failures = [*fatal, *exits.values()]
    explained = {event.rank for event in fatal if event.rank in exits}
    return {
        (event.file, event.line)
        for event in errors
        if _was_told(event, told, explained, clocks)
        or any(_brought_down(event, failure, clocks) for failure in failures)
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


def _brought_down(event: Event, failure: Event, clocks: Clocks) -> bool:
    if event.rank == failure.rank or _says(event) == _says(failure):
        return False
    apart = clocks.apart(failure, event)
    return apart is not None and TIED + apart[1] < apart[0] <= TEARDOWN_TIME


def _says(event: Event) -> str:
    """Return what an exception says, without its numbers."""
    said = f"{event.fields.get('type')}: {event.fields.get('message')}"
    return re.sub(r"\d+", "0", said)
