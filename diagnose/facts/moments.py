"""Moments that tell about clocks: those several clocks saw, and where logs end."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from diagnose.facts.attempts import Attempts, step_counters
from diagnose.facts.clock import Clocks, Domain, Instant
from diagnose.facts.identity import is_writer
from diagnose.model.event import Clock
from diagnose.model.reading import Reading

BARRIER_STEPS = 50
"""Steps of one writer that serve to compare clocks, the last ones."""

BarrierKey = tuple[str, int, str | float]

Stamp = tuple[int, Instant]
"""A line and when it was printed."""


def file_clocks(reading: Reading) -> dict[str, Clock]:
    """Return what the stamps of each file are measured against."""
    found: dict[str, Clock] = {}
    for source in reading.sources:
        if source.clock is not Clock.NONE:
            found[source.name] = source.clock
    for event in reading.events:
        if event.clock is not Clock.NONE:
            found.setdefault(event.file, event.clock)
    return found


def barriers(
    reading: Reading, attempts: Attempts, clocks: Clocks, by_file: dict[str, Clock]
) -> list[dict[Domain, float]]:
    """Return the moments that several clocks saw: the end of an init, and the same step.

    Args:
        reading: With ranks, hosts and attempts completed.
        attempts: Of the input.
        clocks: Of the input, not yet repaired.
        by_file: What the stamps of each file are measured against.
    """
    seen: dict[BarrierKey, dict[Domain, list[float]]] = {}
    for found in (_init_ends(reading, clocks), _steps(reading, attempts, clocks, by_file)):
        for key, instant in found:
            seen.setdefault(key, {}).setdefault(instant.domain, []).append(instant.seconds)
    shared = [domains for domains in seen.values() if len(domains) > 1]
    return [{domain: _middle(times) for domain, times in domains.items()} for domains in shared]


def _middle(times: list[float]) -> float:
    from statistics import median  # takes longer to import than a snippet to read

    return median(times)


def align_attempts(
    reading: Reading, attempts: Attempts, clocks: Clocks, by_file: dict[str, Clock]
) -> None:
    """Carry the attempts that one file shows to the files that show none, by their stamps.

    Args:
        reading: The attempt of its events is completed in place.
        attempts: Of the input; starts in further files are added.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file are measured against.
    """
    if not attempts.starts:
        return
    stamps = _stamps(reading, clocks, by_file)
    leader = min(attempts.starts, key=lambda file: (-len(attempts.longest(file)), file))
    leading = stamps.get(leader, [])
    places = (bisect_left(leading, start, key=_line) for start in attempts.longest(leader))
    starts = [leading[place][1] for place in places if place < len(leading)]
    for file, found in stamps.items():
        if file not in attempts.starts and not attempts.stated.get(file):
            attempts.starts[file] = sorted(_first_after(starts, found, clocks))
    for event in reading.events:
        event.attempt = attempts.at(event.file, event.line, event.attempt)


def log_ends(
    reading: Reading,
    clocks: Clocks,
    by_file: dict[str, Clock],
    host_of: Callable[[int | None], str | None],
) -> dict[int | str | None, list[Instant]]:
    """Return where the logs of each rank and host end, by each clock that stamped them.

    Args:
        reading: With ranks and hosts completed.
        clocks: Of the input.
        by_file: What the stamps of each file are measured against.
        host_of: Gives the host of a rank.
    """
    ends: dict[int | str | None, dict[Domain, Instant]] = {}

    def extend(rank: int | None, host: str | None, instant: Instant | None) -> None:
        for who in (rank, host):
            if who is None or instant is None:
                continue
            known = ends.setdefault(who, {}).setdefault(instant.domain, instant)
            if instant.seconds > known.seconds:
                ends[who][instant.domain] = instant

    for source in reading.sources:
        host = source.host or host_of(source.rank)
        moment = clocks.instant(source.last_time, source.clock, host=host, file=source.name)
        extend(source.rank, host, moment)
        for rank, time in source.speakers.items():
            host = source.host or host_of(rank)
            extend(rank, host, clocks.instant(time, source.clock, host=host, file=source.name))
    for event in reading.events:
        if event.time is not None and is_writer(event):
            extend(event.rank, event.host, clocks.of(event))
    for points in reading.points:
        clock = by_file.get(points.file, Clock.NONE)
        time = points.times[-1] if points.times else None
        moment = clocks.instant(time, clock, host=points.host, file=points.file)
        extend(points.rank, points.host, moment)
    return {who: list(found.values()) for who, found in ends.items()}


def _init_ends(reading: Reading, clocks: Clocks) -> Iterator[tuple[BarrierKey, Instant]]:
    for event in reading.events:
        if event.name != "nccl.comm_init" or event.communicator is None:
            continue
        instant = clocks.of(event)
        if instant is not None and event.fields.get("phase") == "complete":
            yield ("init", event.attempt, event.communicator), instant


def _steps(
    reading: Reading, attempts: Attempts, clocks: Clocks, by_file: dict[str, Clock]
) -> Iterator[tuple[BarrierKey, Instant]]:
    for points in step_counters(reading.points):
        clock = by_file.get(points.file, Clock.NONE)
        last = slice(-BARRIER_STEPS, None)
        columns = points.steps[last], points.times[last], points.lines[last]
        for step, time, line in zip(*columns, strict=True):
            instant = clocks.instant(time, clock, host=points.host, file=points.file)
            if instant is not None and not math.isnan(step):
                attempt = attempts.at(points.file, line, points.attempt)
                yield ("step", attempt, step), instant


def _stamps(reading: Reading, clocks: Clocks, by_file: dict[str, Clock]) -> dict[str, list[Stamp]]:
    """Return the stamped lines of each file, in order."""
    found: dict[str, list[Stamp]] = {}
    for event in reading.events:
        instant = clocks.of(event)
        if instant is not None:
            found.setdefault(event.file, []).append((event.line, instant))
    for points in step_counters(reading.points):
        clock = by_file.get(points.file, Clock.NONE)
        for time, line in zip(points.times, points.lines, strict=True):
            instant = clocks.instant(time, clock, host=points.host, file=points.file)
            if instant is not None:
                found.setdefault(points.file, []).append((line, instant))
    return {file: sorted(lines, key=_line) for file, lines in found.items()}


def _first_after(
    starts: Sequence[Instant], stamps: Sequence[Stamp], clocks: Clocks
) -> Iterator[int]:
    """Yield the first line behind each of some moments, where there is one."""
    place, last = 0, None
    for start in starts:
        if last is None or start.domain != last.domain or start.seconds < last.seconds:
            place = 0  # else all lines before the last start lie before this one as well
        last = start
        for at in range(place, len(stamps)):
            apart = clocks.difference(start, stamps[at][1])
            if apart is not None and apart[0] > apart[1]:
                yield stamps[at][0]
                break
            place = at + 1


def _line(stamp: Stamp) -> int:
    return stamp[0]
