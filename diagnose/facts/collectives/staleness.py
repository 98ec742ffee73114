"""Dumps of another time than the log lines beside them: of an earlier run, or before the hang.

A dump is written when a job stops, over the one of the run before; where none was written, or it
was not collected, the old one is still there. It is told by its counters, which do not hold the
call that the lines of its rank wait in, or by its newest call, made long before the others began to
wait. The dumps of one stop belong together: if most that can be compared are stale, all are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diagnose.facts.clock import Clocks, Instant, first_of_each
from diagnose.model.event import Clock, Event, Nature

NAME = "collective.stale_dump"

OLDER = 1800.0
"""Seconds from the newest call of a dump to the wait; a hang lasts no longer than its timeout."""


def stale_dumps(events: Sequence[Event], clocks: Clocks | None) -> Iterator[Event]:
    """Yield an event for each dump that is of another time than the lines of an attempt.

    Args:
        events: Of one attempt, its dumps among them.
        clocks: When is when; None compares counters alone.
    """
    dumps = [event for event in events if event.name == "fr.dump" and event.rank is not None]
    groups: dict[str, list[Event]] = {}
    for event in events:
        if event.name == "fr.group":
            groups.setdefault(event.file, []).append(event)
    counted = _counted(events)
    onsets = _onsets(events, clocks)
    reasons: dict[str, str] = {}
    asked = 0
    for dump in dumps:
        agrees = _agrees(groups.get(dump.file, []), counted.get(dump.rank, {}))
        age = _age(dump, onsets, clocks)
        asked += agrees is not None or age is not None
        if agrees is False:
            reasons[dump.file] = "counters"
        elif age is not None and age > OLDER and agrees is None:
            reasons[dump.file] = "age"
    most = 2 * len(reasons) > asked
    for dump in dumps:
        if dump.file in reasons or (most and asked):
            age = _age(dump, onsets, clocks)
            why = reasons.get(dump.file, "others")
            fields = {**dump.fields, "why": why, "older": age, "dumps": len(dumps)}
            yield replace(dump, name=NAME, nature=Nature.MEASUREMENT, fields=fields)


def _counted(events: Sequence[Event]) -> dict[int | None, dict[str | None, Event]]:
    """Return the counters that each rank printed when it failed, by group."""
    found: dict[int | None, dict[str | None, Event]] = {}
    for event in events:
        if event.name == "c10d.progress" and isinstance(event.fields.get("seq"), int):
            found.setdefault(event.rank, {}).setdefault(event.communicator, event)
    return found


def _agrees(groups: Sequence[Event], counted: Mapping[str | None, Event]) -> bool | None:
    """Return whether a dump has the call pending that its rank failed in, None if unknown.

    Args:
        groups: Of the dump.
        counted: What the rank printed, by group.
    """
    if not counted:
        return None
    for group in groups:
        if group.fields.get("p2p"):
            continue
        said = counted.get(group.communicator)
        made, done = (group.fields.get(f"last_{what}") for what in ("enqueued", "completed"))
        seq = said.fields["seq"] if said else None
        if isinstance(seq, int) and isinstance(made, int) and isinstance(done, int):
            return done < seq <= made
    return None


def _onsets(events: Sequence[Event], clocks: Clocks | None) -> list[Instant]:
    """Return the earliest waits of the attempt, one a clock."""
    waits = (event for event in events if event.name == "c10d.watchdog_timeout")
    return first_of_each(clocks.of(event, onset=True) for event in waits) if clocks else []


def _age(dump: Event, onsets: Sequence[Instant], clocks: Clocks | None) -> float | None:
    """Return the least seconds from the newest call of a dump to a wait, less what is unsure."""
    created = dump.fields.get("last_created")
    if clocks is None or not isinstance(created, int | float):
        return None
    newest = clocks.instant(float(created), Clock.UTC, host=dump.host, file=dump.file)
    apart = (clocks.difference(newest, onset) for onset in onsets) if newest else ()
    return min((one[0] - one[1] for one in apart if one is not None), default=None)
