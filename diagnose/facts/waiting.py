"""Who the waiting ranks wait for, where no stamp tells.

=================== ==============================================================================
``job.silent_rank``  A rank whose log is there, has no stamp and no timeout, though its peers timed
                     out: it may be the one they waited for
=================== ==============================================================================

A progress bar of work on one host gets two fields: ``open``, it had not ended when the log stops,
no step came behind it, and its rank did not itself wait until a timeout; ``awaited``, its rank, or
else the one rank of the job that reports no timeout where all the others do.
"""

from collections.abc import Iterable, Iterator

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
"""Unstamped ranks without a timeout; more of them are a program that prints none."""


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


def silent_ranks(reading: Reading, job: JobModel) -> Iterator[Event]:
    """Yield the ranks without stamps and without a timeout, at the last line of their logs."""
    timed_out = {event.rank for event in reading.events if event.name in OWN_TIMEOUTS}
    timed_out.discard(None)
    dumps = {event.file for event in reading.events if is_print_out(event)}
    if len(timed_out) < FEWEST_WAITING:
        return
    found = [
        source
        for source in reading.sources
        if source.rank is not None
        and source.lines > 0
        and source.name not in dumps
        and source.rank not in timed_out
        and not job.ends.get(source.rank)
    ]
    if len({source.rank for source in found}) > MOST_SILENT:
        return
    for source in found:
        yield Event(
            name="job.silent_rank", nature=Nature.MEASUREMENT, file=source.name,
            line=source.lines, end_line=source.lines,
            text=f"last of {source.lines} lines of rank {source.rank}: no stamp and no timeout",
            rank=source.rank, host=source.host, attempt=source.attempt,
        )  # fmt: skip
