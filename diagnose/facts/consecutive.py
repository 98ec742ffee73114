"""Whose the lines without a name are, where one file holds the logs of ranks behind each other.

``cat rank*.log`` leaves the steps of a rank, and stacks without a prefix, between lines that name
the rank. That is believed only of a file in which each rank sets up NCCL, and none comes up again
once another has spoken. Steps behind the last line of a rank are still its own, since the next log
begins with a set-up. Other records there may be the beginning of the next log and stay without a
name.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from diagnose.facts.identity import is_writer
from diagnose.facts.job import JobModel
from diagnose.facts.placement import NCCL_INIT
from diagnose.model.event import Event, Points
from diagnose.model.reading import Reading

Columns = tuple[float, float, float, int]


@dataclass(slots=True)
class Part:
    """The log of one rank in a file of several.

    Args:
        rank: Whose.
        first: First line that names the rank.
        last: Last line that does.
        set_up: It makes a communicator in there.
    """

    rank: int
    first: int
    last: int
    set_up: bool = False


def name_writers(reading: Reading, job: JobModel) -> None:
    """Give records without a rank the one whose log they stand in, in place.

    Args:
        reading: With ranks completed by all that lines, files and processes say.
        job: Tells the hosts of ranks.
    """
    parts = _parts(reading.events)
    if not parts:
        return
    for event in reading.events:
        if event.rank is None and event.file in parts and is_writer(event):
            part = _part(parts[event.file], event.line)
            host = job.host_of(part.rank) if part else None
            if part and event.end_line <= part.last and event.host in (None, host):
                event.rank, event.host = part.rank, host
    points = [
        piece
        for one in reading.points
        for piece in (_split(one, parts[one.file], job) if one.file in parts else [one])
    ]
    reading.points[:] = points


def _parts(events: Sequence[Event]) -> dict[str, list[Part]]:
    """Return the logs in each file that holds those of several ranks one behind the other."""
    found: dict[str, list[Part]] = {}
    for rank, event in sorted(_shared(events), key=lambda one: one[1].line):
        parts = found.setdefault(event.file, [])
        if parts and parts[-1].rank == rank:
            parts[-1].last = max(parts[-1].last, event.end_line)
        else:
            parts.append(Part(rank, event.line, event.end_line))
        parts[-1].set_up |= event.name == NCCL_INIT
    return {file: parts for file, parts in found.items() if _behind_each_other(parts)}


def _shared(events: Sequence[Event]) -> Iterator[tuple[int, Event]]:
    """Yield what ranks wrote to files that speak of several, each with its rank."""
    first: dict[str, int] = {}
    named = ((event.file, event.rank) for event in events if event.rank is not None)
    shared = {file for file, rank in named if first.setdefault(file, rank) != rank}
    for event in events:
        if event.file in shared and event.rank is not None and is_writer(event):
            yield event.rank, event


def _behind_each_other(parts: list[Part]) -> bool:
    ranks = {part.rank for part in parts}
    return len(parts) > 1 and len(ranks) == len(parts) and all(part.set_up for part in parts)


def _part(parts: list[Part], line: int) -> Part | None:
    at = bisect_right(parts, line, key=lambda part: part.first)
    return parts[at - 1] if at else None


def _split(points: Points, parts: list[Part], job: JobModel) -> Iterable[Points]:
    """Return a series without a rank as one for each rank whose log it goes through."""
    if points.rank is not None:
        return [points]
    pieces: dict[int | None, Points] = {}
    for step, time, value, line in _rows(points):
        part = _part(parts, line)
        rank = part.rank if part else None
        piece = pieces.get(rank)
        if piece is None:
            host = job.host_of(rank) or points.host
            piece = pieces[rank] = Points(
                metric=points.metric, file=points.file, rank=rank, host=host, attempt=points.attempt
            )
        piece.steps.append(step)
        piece.times.append(time)
        piece.values.append(value)
        piece.lines.append(line)
    return pieces.values()


def _rows(points: Points) -> Iterable[Columns]:
    return zip(points.steps, points.times, points.values, points.lines, strict=True)
