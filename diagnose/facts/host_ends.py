"""Which boots, shutdowns and power failures of hosts fall into the job.

A kernel log tells of every boot of its machine, and machines are started anew after a failure as
well; the log of a management controller goes back for years. Their events get:

``after_start``
    Seconds from the first line of the job to it, below 0 where it came earlier; None where the
    stamps do not tell.
``silence``
    Seconds from the last line of the ranks of that host to it; below 0 where they wrote on, so that
    another machine or a later attempt is meant. Without a log of theirs, seconds from the last line
    of any rank, 0 where others wrote on. None where the stamps do not tell.
"""

from collections.abc import Mapping

from diagnose.facts.belonging import STARTS
from diagnose.facts.clock import Clocks, Instant, first_of_each
from diagnose.facts.job import JobModel
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

NAMES = ("host.boot", "host.shutdown", "host.sensor")


def relate_host_ends(
    reading: Reading, job: JobModel, clocks: Clocks, by_file: Mapping[str, Clock]
) -> None:
    """Complete what hosts say of their boots, ends and power, in place.

    Args:
        reading: With ranks and hosts completed.
        job: Who is who, with the ends of all logs.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file are measured against.
    """
    ends = [event for event in reading.events if event.name in NAMES]
    if not ends:
        return
    starts = _starts(reading, job, clocks, by_file)
    by_rank = (end for who, found in job.ends.items() if isinstance(who, int) for end in found)
    last = first_of_each(by_rank, last=True)
    for event in ends:
        at = clocks.of(event)
        event.fields["after_start"] = _since(starts, at, clocks, latest=False)
        event.fields["silence"] = _silence(event, at, last, job, clocks)


def _starts(
    reading: Reading, job: JobModel, clocks: Clocks, by_file: Mapping[str, Clock]
) -> list[Instant]:
    """Return when programs of the job began, and when its ranks first wrote."""
    firsts = [
        clocks.instant(
            source.first_time,
            source.clock,
            host=source.host or job.host_of(source.rank),
            file=source.name,
        )
        for source in reading.sources
        if source.rank is not None
    ]
    stated = [
        clocks.of(event)
        for event in reading.events
        if event.rank is not None or event.name in STARTS
    ]
    steps = [
        clocks.instant(
            points.times[0],
            by_file.get(points.file, Clock.NONE),
            host=points.host,
            file=points.file,
        )
        for points in reading.points
        if points.times
    ]
    return first_of_each((*firsts, *stated, *steps))


def _silence(
    event: Event, at: Instant | None, last: list[Instant], job: JobModel, clocks: Clocks
) -> float | None:
    """Return the seconds from the last line of a host's ranks, else of all ranks, to its end.

    Args:
        event: About the host.
        at: When it ended.
        last: Where the logs of all ranks end.
        job: Who is who.
        clocks: Of the input, repaired.
    """
    ranks = job.ranks_on(event.host) if event.host is not None else []
    own = [end for rank in ranks for end in job.ends.get(rank, ())]
    if own:
        return _since(own, at, clocks, latest=True)
    quiet = _since(last, at, clocks, latest=True)
    return None if quiet is None else max(0.0, quiet)


def _since(
    moments: list[Instant], at: Instant | None, clocks: Clocks, *, latest: bool
) -> float | None:
    """Return the seconds from the latest or the earliest of some moments to another."""
    apart = [found[0] for one in moments if (found := clocks.difference(one, at)) is not None]
    return (min if latest else max)(apart, default=None)
