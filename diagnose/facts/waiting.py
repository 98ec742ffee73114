"""Who the waiting ranks wait for, by what their logs do not hold.

===================== ============================================================================
``job.silent_rank``   A rank whose log is there and has no timeout, though its peers timed out: it
                      may be the one they waited for. ``gap`` is how many seconds before the wait
                      its log ends, null where it has no stamps; ``past`` by how many its log goes
                      on past the last stamps of its peers, where their timeouts have none;
                      ``whole_host`` whether the silent ranks are all those of one host; ``agent``
                      whether the launcher of its host wrote on behind its last line, so that the
                      host lived
``job.hung_watchdog`` A watchdog that made no progress itself. ``peers_seen`` is how many other
                      ranks have a log, ``peers_share`` their share of all others of the job:
                      nobody is odd among ranks of which nothing is known
===================== ============================================================================

A progress bar of work on one host gets two fields: ``open``, it had not ended when the log stops,
no step came behind it, and its rank did not itself wait until a timeout; ``awaited``, its rank, or
else the one rank of the job that reports no timeout where all the others do.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from diagnose.facts.clock import Clocks, Instant, first_of_each
from diagnose.facts.identity import is_writer
from diagnose.facts.job import JobModel
from diagnose.facts.progress import Progress
from diagnose.facts.records import Records
from diagnose.model.event import Event, Nature, Value
from diagnose.model.reading import Reading, SourceSummary

EVENTS = ("job.silent_rank", "job.hung_watchdog")

TIMEOUTS = frozenset({"c10d.watchdog_timeout", "c10d.store_timeout", "c10d.monitored_barrier"})

OWN_TIMEOUTS = frozenset({"c10d.watchdog_timeout", "c10d.dump_signal_sent"})
"""What a rank prints that waited itself; who only observes a dump signal may not have."""

AGENT = "torchrun."
"""Beginning of the names of what the launcher on each host prints."""

STACKS = "stack.dump"

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


def hung_watchdogs(events: Iterable[Event], job: JobModel) -> Iterator[Event]:
    """Yield the watchdogs that hung, with how much is known of the other ranks."""
    logs = job.ranks_with_logs
    world = max(job.report.world_size or 0, max(logs, default=-1) + 1)
    for event in events:
        if event.name == "c10d.heartbeat_timeout":
            others = len(logs - {event.rank})
            fields: dict[str, Value] = {
                "peers_seen": others, "peers_share": others / max(1, world - 1)
            }  # fmt: skip
            yield replace(event, name=EVENTS[1], nature=Nature.MEASUREMENT, fields=fields)


def silent_ranks(records: Records, job: JobModel, clocks: Clocks) -> Iterator[Event]:
    """Yield the ranks that print no timeout and nothing after the wait began, at their last lines.

    Args:
        records: The input.
        job: Who is who, and when each log ends.
        clocks: When is when.
    """
    reading = records.reading
    waits = records.among(OWN_TIMEOUTS)
    timed_out = {event.rank for event in waits} - {None}
    if len(timed_out) < FEWEST_WAITING:
        return
    failed = {event.rank for event in reading.events if event.nature is Nature.ERROR}
    stamped = [onset for event in waits if (onset := clocks.of(event, onset=True)) is not None]
    begun = stamped or _last_stamps(waits, reading, job)
    onsets = [*first_of_each(begun), *first_of_each(begun, last=True)]
    found: list[tuple[int, SourceSummary, Gap]] = []
    for rank, source in sorted(_own_logs(records).items()):
        if rank in timed_out or (rank in failed and job.ends.get(rank)):
            continue
        gap = _gap(job.ends.get(rank, []), onsets, clocks)
        if stamped and gap.past is not None:
            gap = Gap()
        if job.ends.get(rank) and gap.seconds is None:
            continue
        found.append((rank, source, gap))
        if len(found) > MOST_SILENT and len({job.host_of(one) for one, *_ in found}) > 1:
            return
    silent = {rank for rank, *_ in found}
    host = _whole_host(silent, job)
    if len(silent) > MOST_SILENT and host is None:
        return
    for rank, source, gap in found:
        host_of = source.host or job.host_of(rank)
        yield Event(
            name="job.silent_rank", nature=Nature.MEASUREMENT, file=source.name,
            line=source.lines, end_line=source.lines,
            text=f"last of {source.lines} lines of rank {rank}: {gap} and no timeout",
            fields={
                "gap": gap.seconds, "past": gap.past, "whole_host": host is not None,
                "ranks": len(silent), "agent": _agent_wrote(rank, host_of, records, job, clocks),
            },
            rank=rank, host=host_of, attempt=source.attempt,
        )  # fmt: skip


def _agent_wrote(
    rank: int, host: str | None, records: Records, job: JobModel, clocks: Clocks
) -> bool:
    """Return whether an agent of the host wrote behind the last line of a rank."""
    ends = job.ends.get(rank, [])
    return any(
        (apart := clocks.difference(end, at)) is not None and apart[0] > apart[1]
        for event in records.beginning(AGENT)
        if host is not None and event.host == host
        if (at := clocks.of(event)) is not None
        for end in ends
    )


def _own_logs(records: Records) -> dict[int, SourceSummary]:
    """Return the log of each rank: by the name of the file, else by its only writer."""
    reading = records.reading
    dumps = {event.file for event in records.named.get(STACKS, ()) if _by_a_tool(event)}
    writers: dict[str, set[int]] = {}
    for file, rank in {(event.file, event.rank) for event in reading.events if is_writer(event)}:
        if rank is not None:
            writers.setdefault(file, set()).add(rank)
    found: dict[int, SourceSummary] = {}
    for source in reading.sources:
        if not source.lines or source.name in dumps:
            continue
        ranks = writers.get(source.name, set())
        alone = next(iter(ranks)) if len(ranks) == 1 and not source.speakers else None
        for rank in (alone if source.rank is None else source.rank, *source.speakers):
            if rank is not None:
                found[rank] = source
    return found


def _by_a_tool(dump: Event) -> bool:
    """Return whether stacks are the print-out of a tool rather than in a rank's log."""
    return dump.fields["tool"] != "faulthandler"


def _last_stamps(waits: Sequence[Event], reading: Reading, job: JobModel) -> list[Instant]:
    """Return when ranks began to wait whose timeouts have no stamp: at the last one before.

    Where a stamp follows the timeout, that of the end less what the wait lasted.
    """
    last: dict[str, int] = {}
    for event in reading.events:
        if event.time is not None:
            last[event.file] = max(event.line, last.get(event.file, 0))
    first: dict[int, Event] = {}
    for event in waits:
        if event.rank is not None:
            first.setdefault(event.rank, event)
    found = []
    for rank, event in first.items():
        lasted = event.fields.get("lasted", event.fields.get("timeout"))
        follows = last.get(event.file, 0) > event.line and isinstance(lasted, int | float)
        back = float(lasted) if follows and isinstance(lasted, int | float) else 0.0
        found += [replace(end, seconds=end.seconds - back) for end in job.ends.get(rank, [])]
    return found


@dataclass(frozen=True, slots=True)
class Gap:
    """How the end of a log lies to the beginning of the wait, in seconds.

    Args:
        seconds: From the end to the wait, None if unknown.
        past: By how much the log goes on past it, None if it does not.
    """

    seconds: float | None = None
    past: float | None = None

    def __str__(self) -> str:
        if self.seconds is None:
            return "no stamp"
        if self.past is not None:
            return f"goes on {self.past:.0f} s past the wait's begin"
        return f"ends {self.seconds:.0f} s before the wait"


def _gap(ends: list[Instant], onsets: list[Instant], clocks: Clocks) -> Gap:
    """Return how the end of a log lies to the first wait."""
    apart = [
        difference
        for onset in onsets
        for end in ends
        if (difference := clocks.difference(end, onset)) is not None
    ]
    if not apart:
        return Gap()
    least = min(seconds for seconds, _ in apart)
    if any(seconds + error <= 0 for seconds, error in apart):
        return Gap(0.0, max(0.0, -max(seconds for seconds, _ in apart)))
    return Gap(max(0.0, least))


def _whole_host(ranks: set[int], job: JobModel) -> str | None:
    """Return the host of which these are all the ranks, more than one; None if there is none."""
    hosts = {job.host_of(rank) for rank in ranks}
    if len(ranks) < MOST_SILENT or len(hosts) != 1:
        return None
    host = hosts.pop()
    return host if host is not None and set(job.ranks_on(host)) == ranks else None
