"""Who the waiting ranks wait for, by what their logs do not hold.

=================== ==============================================================================
``job.silent_rank``  A rank whose log is there and has no timeout, though its peers timed out: it
                     may be the one they waited for. ``gap`` is how many seconds before the wait its
                     log ends, null where it has no stamps; ``whole_host`` whether the silent ranks
                     are all those of one host
=================== ==============================================================================

A progress bar of work on one host gets two fields: ``open``, it had not ended when the log stops,
no step came behind it, and its rank did not itself wait until a timeout; ``awaited``, its rank, or
else the one rank of the job that reports no timeout where all the others do.

A watchdog that hung gets ``peers_seen``, how many other ranks have a log, and ``peers_share``, their
share of all others of the job: nobody is odd among ranks of which nothing is known.
"""

from collections.abc import Iterable, Iterator

from diagnose.facts.clock import Clocks, Instant
from diagnose.facts.job import JobModel
from diagnose.facts.progress import Progress
from diagnose.facts.stacks import is_print_out
from diagnose.model.event import Event, Nature
from diagnose.model.reading import Reading

EVENTS = ("job.silent_rank",)

TIMEOUTS = frozenset({"c10d.watchdog_timeout", "c10d.store_timeout", "c10d.monitored_barrier"})

OWN_TIMEOUTS = frozenset({"c10d.watchdog_timeout", "c10d.dump_signal_sent"})
"""What a rank prints that waited itself; who only observes a dump signal may not have."""

FEWEST_WAITING = 3
"""Ranks that must have timed out before one that has not is odd."""

MOST_SILENT = 2
"""Ranks without a timeout; more of them are a program that prints none, or a whole host."""


def mark_open_work(events: Iterable[Event], progress: Progress, world_size: int | None) -> None:
    """Give the bars of work on one host the fields ``open`` and ``awaited``, in place.

    Args:
        events: All of the input.
        progress: Of the input.
        world_size: If known.
    """
    events = list(events)
    waited = {event.rank for event in events if event.name in TIMEOUTS} - {None}
    others = set(range(world_size or 0)) - waited
    last = next(iter(others)) if len(others) == 1 and waited else None
    for event in events:
        if event.name != "train.preprocess":
            continue
        done = event.fields.get("percent") == 100
        event.fields["open"] = not (
            done or event.rank in waited or progress.after(event, "job") is True
        )
        event.fields["awaited"] = last if event.rank is None else event.rank


def mark_watchdogs(events: Iterable[Event], job: JobModel) -> None:
    """Give the watchdogs that hung ``peers_seen`` and ``peers_share``, in place."""
    logs = job.ranks_with_logs
    world = max(job.report.world_size or 0, max(logs, default=-1) + 1)
    for event in events:
        if event.name == "c10d.heartbeat_timeout":
            others = len(logs - {event.rank})
            event.fields["peers_seen"] = others
            event.fields["peers_share"] = others / max(1, world - 1)


def silent_ranks(reading: Reading, job: JobModel, clocks: Clocks) -> Iterator[Event]:
    """Yield the ranks that print no timeout and nothing after the wait began, at their last lines.

    Args:
        reading: The input.
        job: Who is who, and when each log ends.
        clocks: When is when.
    """
    waits = [event for event in reading.events if event.name in OWN_TIMEOUTS]
    timed_out = {event.rank for event in waits} - {None}
    if len(timed_out) < FEWEST_WAITING:
        return
    failed = {event.rank for event in reading.events if event.nature is Nature.ERROR}
    dumps = {event.file for event in reading.events if is_print_out(event)}
    onsets = [onset for event in waits if (onset := clocks.of(event, onset=True)) is not None]
    found = []
    for source in reading.sources:
        rank = source.rank
        if rank is None or not source.lines or source.name in dumps or rank in timed_out:
            continue
        gap = _gap(job.ends.get(rank, []), onsets, clocks)
        if job.ends.get(rank) and (gap is None or rank in failed):
            continue
        found.append((source, gap))
    silent = {source.rank for source, _ in found}
    host = _whole_host(silent, job)
    if len(silent) > MOST_SILENT and host is None:
        return
    for source, gap in found:
        said = "no stamp" if gap is None else f"ends {gap:.0f} s before the wait"
        yield Event(
            name="job.silent_rank", nature=Nature.MEASUREMENT, file=source.name,
            line=source.lines, end_line=source.lines,
            text=f"last of {source.lines} lines of rank {source.rank}: {said} and no timeout",
            fields={"gap": gap, "whole_host": host is not None, "ranks": len(silent)},
            rank=source.rank, host=source.host or job.host_of(source.rank),
            attempt=source.attempt,
        )  # fmt: skip


def _gap(ends: list[Instant], onsets: list[Instant], clocks: Clocks) -> float | None:
    """Return the seconds from the end of a log to the first wait, None where it goes on past it."""
    if not ends or not onsets:
        return None
    apart = [
        difference
        for onset in onsets
        for end in ends
        if (difference := clocks.difference(end, onset)) is not None
    ]
    if not apart or any(seconds + error <= 0 for seconds, error in apart):
        return None
    return max(0.0, min(seconds for seconds, _ in apart))


def _whole_host(ranks: set[int | None], job: JobModel) -> str | None:
    """Return the host of which these are all the ranks, more than one; None if there is none."""
    hosts = {job.host_of(rank) for rank in ranks if rank is not None}
    if len(ranks) < MOST_SILENT or len(hosts) != 1:
        return None
    host = hosts.pop()
    return host if host is not None and set(job.ranks_on(host)) == ranks else None
