"""How the workers of a job ended, and what that says of who failed first.

========================== ======================================================================
``launcher.first_exit``    The exit of a rank that ended by itself while all others were aborted
                           by a watchdog or ended by their launcher, or came clearly later
``job.early_exit``         The orderly end of a process without a timeout of its own, well before
                           its peers' timeouts ran out: it left, and they waited for it
``job.left_alone``         The timeout of one of the few that waited where all others had left
                           so: ``ended`` is their number
========================== ======================================================================

torchrun's "root cause" is the earliest exit that one agent noticed, to the second, so it counts for
no more than any other exit. A watchdog ends its process with SIGABRT and an agent those it has left
with SIGTERM, or SIGKILL where that does not help: these are consequences. A traceback of its own, a
fault or a kill from outside is none. A worker that timed out and exits with a code only waited.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from diagnose.facts.clock import Clocks, first_of_each
from diagnose.model.event import Event, Nature, Value

EVENTS = ("launcher.first_exit", "job.early_exit", "job.left_alone")

WAITS = frozenset(
    {
        "c10d.watchdog_timeout", "c10d.store_timeout", "c10d.monitored_barrier",
        "c10d.monitored_barrier_failed", "c10d.dump_signal_sent", "gloo.timeout",
        "gloo.connection_closed",
    }
)  # fmt: skip
"""What a rank prints that waited for another."""

TABLES = ("torchrun.child_failed", "torchrun.process_failed")
EXITS = (*TABLES, "launcher.exit")

FAULTS = frozenset({"SIGKILL", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"})
"""Signals of a fault in the process or of a kill from outside."""

NOT_STARTED = 126
"""Exit codes from here on are a shell's: not executable, not found, 128 and a signal."""

MOST_FIRST = 2
"""Ranks that may have ended first together; more of them are a fault of all."""

TIED = 2.0
"""Seconds within which exits that two agents noticed are of the same time."""

MOST_ALONE = 0.25
"""Share of those who wait among them and those who left; more of them are two groups."""

FEWEST_LEFT = 3
"""Ranks that must have left before who stays is odd."""

WELL_BEFORE = 10.0
"""Seconds; a process that ends with its peers ends within that time of their timeouts."""


def derive(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield the derived events.

    Args:
        events: With ranks, hosts and attempts completed.
        clocks: Of the input, repaired.
    """
    early = list(_early(events, clocks))
    yield from early
    yield from _left_alone(events, early)
    for attempt in sorted({event.attempt for event in events if event.name in EXITS}):
        here = [event for event in events if event.attempt == attempt]
        exits = exits_by_rank(here)
        yield from _first(own_exits(here), exits)


def own_exits(events: Sequence[Event]) -> list[Event]:
    """Return the exits of processes that ended by themselves, of the events of one attempt."""
    waited = waiting_ranks(events)
    return [event for event in exits_by_rank(events).values() if _own(event, waited)]


def waiting_ranks(events: Iterable[Event]) -> set[int | None]:
    """Return the ranks that say that they waited for another."""
    return {event.rank for event in events if event.name in WAITS} - {None}


def _early(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    timeouts: dict[int, list[Event]] = {}
    for event in events:
        if event.name == "c10d.watchdog_timeout":
            timeouts.setdefault(event.attempt, []).append(event)
    waited = {attempt: {one.rank for one in found} for attempt, found in timeouts.items()}
    # A timeout is repeated by lines of an exception, which have no stamp.
    first = {attempt: first_of_each(map(clocks.of, found)) for attempt, found in timeouts.items()}
    for event in events:
        if event.name != "c10d.not_destroyed" or event.rank is None:
            continue
        if not waited.get(event.attempt, set()).isdisjoint({None, event.rank}):
            continue
        at = clocks.of(event)
        others = (clocks.difference(at, one) for one in first.get(event.attempt, ()))
        known = [apart for apart in others if apart is not None]
        if known and all(seconds > error + WELL_BEFORE for seconds, error in known):
            yield replace(event, name=EVENTS[1], nature=Nature.MEASUREMENT)


def _left_alone(events: Sequence[Event], early: Sequence[Event]) -> Iterator[Event]:
    """Yield the first timeout of each rank that waited when nearly all had left."""
    for attempt in sorted({event.attempt for event in early}):
        left = {event.rank for event in early if event.attempt == attempt}
        waits: dict[int, Event] = {}
        for event in events:
            if event.name == "c10d.watchdog_timeout" and event.attempt == attempt:
                waits.setdefault(-1 if event.rank is None else event.rank, event)
        alone = len(waits) <= MOST_ALONE * (len(waits) + len(left))
        if -1 in waits or len(left) < FEWEST_LEFT or not alone:
            continue
        for _, event in sorted(waits.items()):
            fields = {**event.fields, "ended": len(left)}
            yield replace(event, name=EVENTS[2], nature=Nature.MEASUREMENT, fields=fields)


def exits_by_rank(events: Sequence[Event]) -> dict[int, Event]:
    """Return the exit of each rank, as the table tells it before the lines around it."""
    found: dict[int, Event] = {}
    exits = (event for event in events if event.name in EXITS and event.rank is not None)
    for event in sorted(exits, key=lambda one: EXITS.index(one.name)):
        if event.rank is not None:
            found.setdefault(event.rank, event)
    forced = {event.pid for event in events if event.name == "torchrun.unkillable"}
    return {rank: one for rank, one in found.items() if one.pid is None or one.pid not in forced}


def _own(event: Event, waited: set[int | None]) -> bool:
    """Return whether the process ended by itself, not as a consequence of waiting."""
    signal, code = event.fields.get("signal"), event.fields.get("exit_code")
    if signal is not None:
        return signal in FAULTS
    return isinstance(code, int) and 0 < code < NOT_STARTED and event.rank not in waited


def _explains_itself(event: Event) -> bool:
    """Return whether a crash or an error is known.

    A bare code may be what a lost peer led to, and SIGKILL what a launcher sent.
    """
    signal = event.fields.get("signal")
    return signal in FAULTS - {"SIGKILL"} or (signal is None and bool(event.fields.get("error")))


def _first(own: list[Event], exits: dict[int, Event]) -> Iterator[Event]:
    if own and all(event.fields.get("launcher") == "srun" for event in own):
        # srun prints ends as they come; what it prints first ended first.
        own = (
            [min(own, key=lambda event: event.line)] if len({one.file for one in own}) == 1 else []
        )
    times = [event.time for event in own if event.time is not None]
    if len(times) == len(own) > 1:
        own = [event for event in own if (event.time or 0.0) <= min(times) + TIED]
    own = [event for event in own if _explains_itself(event)] or own
    if not own or len(own) > MOST_FIRST:
        return
    for event in own:
        fields: dict[str, Value] = {**event.fields, "others": len(exits) - len(own)}
        yield replace(event, name=EVENTS[0], nature=Nature.EFFECT, fields=fields)
