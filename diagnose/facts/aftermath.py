"""What only followed an end that the logs state: exits by signal, and memory asked for behind it.

* A watchdog ends its process with SIGABRT or an exit code, and a cancel of Slurm all of them with
  SIGTERM. Exits that fit a timeout of the same rank, or a cancel, get the nature ``teardown``;
  where all exits of ranks do, so do those of their launchers.
* A rank whose collective has timed out takes itself down. That it runs out of memory as it dumps or
  saves on the way tells nothing of why it waited; such a failure gets the nature ``unrelated``.

An order that the stamps do not tell is taken as fitting for exits, which come last anyway; for
memory only what stands behind the timeout, by stamp or in the same file, counts.
"""

from collections.abc import Sequence

from diagnose.facts.clock import Clocks, Instant
from diagnose.facts.exits import EXITS, NOT_STARTED, TIED
from diagnose.ingest.stamp import parse_stamp
from diagnose.model.event import Event, Nature

TIMEOUT = "c10d.watchdog_timeout"
CANCEL = "slurm.cancelled"
FAILED_FIRST = frozenset({"task-failure", "node-failure"})
"""Reasons of a cancel that something else had ended processes before."""

TOLD_ON = frozenset({"launcher.exit", CANCEL, "slurm.job_state", "python.error_line"})
"""How launchers and schedulers pass the end of a worker on, naming no rank."""

MEMORY = frozenset({"torch.oom", "cuda.oom_other"})


def mark_aftermath(events: Sequence[Event], clocks: Clocks) -> None:
    """Give what followed a timeout or a cancel another nature, in place.

    Args:
        events: With ranks, hosts and attempts completed.
        clocks: Of the input, repaired.
    """
    timeouts: dict[tuple[int, int | None], list[Event]] = {}
    cancels = []
    for event in events:
        if event.name == TIMEOUT and event.rank is not None:
            timeouts.setdefault((event.attempt, event.rank), []).append(event)
        elif event.name == CANCEL and event.fields.get("reason") not in FAILED_FIRST:
            cancels.append(event)
    late: set[tuple[str, int]] = set()
    for event in events:
        waited = timeouts.get((event.attempt, event.rank), [])
        if event.name in EXITS and _ended(event, waited, cancels, clocks):
            event.nature = Nature.TEARDOWN
        elif event.name in MEMORY and any(_behind(event, one, clocks) for one in waited):
            event.nature = Nature.UNRELATED
            late.add((event.file, event.end_line))
    settled = _settled(events)
    for event in events:
        if (
            event.name == "python.exception"
            and (event.file, event.end_line) in late
            or (
                event.nature is Nature.EFFECT
                and event.rank is None
                and event.name in TOLD_ON
                and event.attempt in settled
            )
        ):
            event.nature = Nature.TEARDOWN


def _settled(events: Sequence[Event]) -> set[int]:
    """Return the attempts in which exits of ranks are known and all of them are explained."""
    exits = [event for event in events if event.name in EXITS and event.rank is not None]
    open_ = {event.attempt for event in exits if event.nature is not Nature.TEARDOWN}
    return {event.attempt for event in exits} - open_


def _ended(event: Event, waited: Sequence[Event], cancels: Sequence[Event], clocks: Clocks) -> bool:
    """Return whether a timeout of the process or a cancel explains its signal."""
    signal, code, at = event.fields.get("signal"), event.fields.get("exit_code"), clocks.of(event)
    coded = signal is None and isinstance(code, int) and 0 < code < NOT_STARTED
    if signal == "SIGABRT" or coded:
        return any(_no_earlier(at, clocks.of(one), clocks) for one in waited)
    if signal == "SIGTERM":
        same = (one for one in cancels if one.attempt == event.attempt)
        return any(_no_earlier(at, _stated(one, clocks), clocks) for one in same)
    return False


def _stated(cancel: Event, clocks: Clocks) -> Instant | None:
    stamp = parse_stamp(str(cancel.fields.get("at") or ""))
    return clocks.instant(*stamp, host=cancel.host, file=cancel.file) if stamp else None


def _no_earlier(at: Instant | None, cause: Instant | None, clocks: Clocks) -> bool:
    apart = clocks.difference(cause, at)
    return apart is None or apart[0] >= -TIED - apart[1]


def _behind(event: Event, timeout: Event, clocks: Clocks) -> bool:
    if event.file == timeout.file:
        return event.line > timeout.line
    apart = clocks.apart(timeout, event)
    return apart is not None and apart[0] > apart[1]
