"""How serving engines end and wait: the first error against the words of those who only notice.

``inference.engine_end``
    One for each time that an engine is reported dead, at its first error, or at the first report
    where the logs show no error before it (``first`` None). ``first`` is the kind of that record,
    ``error`` its class, ``process`` the tag of the process, ``role`` ``worker``, ``core`` or
    ``frontend``, ``dp``, ``tp``, ``pp`` its place. ``phase`` is ``start`` or ``serving``;
    ``notices`` is how many records report the end, ``seconds`` the time from the error to the first
    of them.
``inference.broadcast_waits``
    The waits of one process for the shared-memory queue, at the first: ``count``, ``seconds``
    together, ``phase`` (``start`` until the engine has started), ``progress_after`` (it went on),
    ``stalled`` (requests without a token meanwhile), ``error_before``. The process that prints them
    waits for another one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.clock import Clocks
from diagnose.facts.serving.processes import Process, process_of
from diagnose.model.event import Event, Nature, Value

EVENTS = ("inference.engine_end", "inference.broadcast_waits")

NOTICES = frozenset({"inference.engine_dead", "inference.worker_died"})
GOES_ON = frozenset({"inference.started", "inference.serving"})
WAIT = "inference.broadcast_wait"

LONGEST = 3600.0
"""Seconds before the report of an end in which its error lies."""

OPENS = "Traceback (most recent call last)"
"""With which a report may begin the traceback of its own error: SGLang's schedulers do."""

OVERCOME = 30.0
"""Seconds after an error in which statistics may still tell of the tokens before it."""

LOGGED = "log.error"
"""A line at error level of which nothing else is known: no error by itself."""


def derive(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield ends and waits of engines.

    Args:
        events: All that was read, in the order of sources and lines.
        clocks: Of the input, repaired.
    """
    by_file: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_file[event.file].append(event)
    placements = [one for one in events if one.name == "inference.placement"]
    work = [one for one in events if one.name in GOES_ON]
    errors = [one for one in events if one.nature is Nature.ERROR and one.name != LOGGED]
    ends: dict[tuple[str, int], Event] = {}
    for own in by_file.values():
        for notices in _incidents(own):
            open_errors = [one for one in errors if not _is_overcome(one, notices[0], work, clocks)]
            end = _end(notices, open_errors, placements, clocks)
            known = ends.setdefault((end.file, end.line), end)
            if known is not end:  # processes that log apart report the same end
                known.fields["notices"] = int(known.number("notices") or 0) + len(notices)
        yield from _waits(own)
    yield from ends.values()


def _incidents(own: Sequence[Event]) -> Iterator[list[Event]]:
    """Yield the reports of each end in a file; work behind them means that a new engine runs."""
    found: list[Event] = []
    for event in own:
        if event.name in NOTICES:
            found.append(event)
        elif event.name in GOES_ON and found:
            yield found
            found = []
    if found:
        yield found


def _is_overcome(error: Event, notice: Event, work: Sequence[Event], clocks: Clocks) -> bool:
    """Return whether tokens were generated well after an error and before the report of an end."""
    for one in work:
        since, until = clocks.apart(error, one), clocks.apart(one, notice)
        if since is not None and until is not None and since[0] >= OVERCOME and until[0] >= 0:
            return True
    return False


def _end(
    notices: list[Event], errors: Sequence[Event], placements: Sequence[Event], clocks: Clocks
) -> Event:
    notice = notices[0]
    first, teller = _first_error(notice, errors, clocks), None
    if first is None:
        first, teller = _own_error(notices, errors)
    apart = clocks.apart(teller or first, notice) if first is not None else None
    at = first or notice
    process = process_of(teller or at)
    fields: dict[str, Value] = {
        "engine": next((one.fields["value"] for one in notices if "value" in one.fields), None),
        "phase": next((one.fields["phase"] for one in notices if "phase" in one.fields), None),
        "first": first.name if first is not None else None,
        "error": first.fields.get("type") if first is not None else None,
        "process": process.tag,
        "role": process.role,
        "dp": process.dp,
        "tp": process.tp,
        "pp": process.pp,
        "notices": len(notices),
        "seconds": apart[0] if apart is not None else None,
    }
    rank = at.rank if teller is None else teller.rank
    if rank is None and first is not None:
        rank = _placed(process, placements)
    return replace(at, name=EVENTS[0], nature=Nature.EFFECT, rank=rank, fields=fields, fact=None)


def _placed(process: Process, placements: Sequence[Event]) -> int | None:
    """Return the rank that vLLM said a worker has, None where it did not say."""
    place = process.dp, process.pp or 0, process.tp or 0
    said = (
        one.rank
        for one in placements
        if (one.fields["dp"], one.fields["pp"], one.fields["tp"]) == place
    )
    return next(said, None) if process.role == "worker" else None


def _first_error(notice: Event, errors: Sequence[Event], clocks: Clocks) -> Event | None:
    """Return the earliest error before the report of an end, in any file."""
    before: list[tuple[float, int, Event]] = []
    for error in errors:
        apart = clocks.apart(error, notice)
        ahead = apart[0] if apart is not None else None
        if error.file == notice.file:
            # A traceback of the one who notices may end on the very line that reports it.
            if error.line < notice.line and (ahead is None or ahead <= LONGEST):
                before.append((ahead or 0.0, notice.line - error.line, error))
        elif ahead is not None and 0 <= ahead <= LONGEST:
            before.append((ahead, 0, error))
    return max(before, key=lambda one: one[:2])[2] if before else None


def _own_error(
    notices: Sequence[Event], errors: Sequence[Event]
) -> tuple[Event | None, Event | None]:
    """Return the error in the traceback that a report begins or heads, and the report."""
    for notice, following in zip(notices, [*notices[1:], None], strict=True):
        for error in errors:
            is_behind = error.file == notice.file and error.line > notice.line
            is_its_own = notice.stream is not None and error.stream == notice.stream
            if not is_behind or not (is_its_own or OPENS in notice.text):
                continue
            if following is None or error.line < following.line:
                return error, notice
    return None, None


def _waits(own: Sequence[Event]) -> Iterator[Event]:
    waiting: dict[str | None, list[Event]] = defaultdict(list)
    for event in own:
        if event.name == WAIT:
            waiting[process_of(event).tag].append(event)
    for tag, waits in waiting.items():
        first, last = waits[0], waits[-1]
        before = [one for one in own if one.line < first.line]
        between = [one for one in own if one.end_line >= first.line]
        after = [one for one in own if one.end_line > last.line]
        fields: dict[str, Value] = {
            "process": tag,
            "count": len(waits),
            "seconds": sum(wait.number("seconds") or 0.0 for wait in waits),
            "phase": "serving" if any(one.name in GOES_ON for one in before) else "start",
            "progress_after": any(one.name in GOES_ON for one in after),
            "stalled": any(one.name == "inference.stall" for one in between),
            "error_before": any(
                one.nature is Nature.ERROR and one.name != LOGGED for one in before
            ),
        }
        yield replace(
            first, name=EVENTS[1], nature=Nature.MEASUREMENT, end_line=last.end_line, fields=fields
        )
