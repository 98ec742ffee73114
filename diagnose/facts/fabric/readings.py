"""Readings of the counters of ports: whose they are, when they were taken, in which order.

Tools that print counters state neither time nor, often, the host. The time is that of the line's
prefix, of the last ``date`` before it in the file, or of the file's name. The LID that perfquery
prints becomes a host and an adapter where ``ibstat`` or another tool shows who has it.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from diagnose.facts.records import Named
from diagnose.ingest.stamp import find_stamp
from diagnose.model.event import Clock, Event, Value

MOST_LOCAL_LIDS = 16
"""LIDs that one host has itself; a file with more is a look at the fabric from outside."""

Key = tuple[str, Value, Value, Value]
"""Host or file or the fabric, device, port, and the tool: two tools may count differently."""

_IN_NAME = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[T_. -]?(\d\d)[h:.-]?(\d\d)(?:[m:.-]?(\d\d))?(?!\d)"
)
_EPOCH_IN_NAME = re.compile(r"(?<!\d)(1[4-9]\d{8})(?!\d)")
_PLACE = re.compile(
    r"(?<![a-z])(?:(?P<early>before|pre|start|begin|first|old)|(?P<late>after|post|end|last|second|new)"
    r"|(?:snap(?:shot)?|t|sample|round|read(?:ing)?|poll|pass|run|hour|day)[-_]?(?P<number>\d{1,4}))(?![a-z\d])"
)


def place(named: Named) -> Sequence[Event]:
    """Complete time and owner of the readings of counters in place, and return these."""
    found = named.get("ib.counters", ())
    if found:
        _date(found, named.get("shell.date", ()))
        _name_lids(found, named.get("ib.port", ()))
    return found


def by_port(readings: Iterable[Event]) -> dict[Key, list[Event]]:
    """Return the readings by port, each port's in order.

    Readings in several files are put in order by their stamps or by the names of the files
    (``before``, ``after``, ``t0``, ``t1``); where neither tells, those of the first file count.
    """
    found: dict[Key, list[Event]] = defaultdict(list)
    for event in readings:
        device, port, tool = (event.fields.get(name) for name in ("device", "port", "tool"))
        found[_owner(event), device, port, tool].append(event)
    return {key: _in_order(of_port) for key, of_port in found.items()}


def _owner(event: Event) -> str:
    if event.host is not None:
        return event.host
    if event.fields.get("tool") in ("perfquery", "ibqueryerrors"):
        return "fabric"
    writer = "" if event.rank is None else f"rank {event.rank} of "
    return (
        writer
        + "file "
        + _EPOCH_IN_NAME.sub("*", _IN_NAME.sub("*", _PLACE.sub("*", event.file.lower())))
    )


def _in_order(found: list[Event]) -> list[Event]:
    if len({event.file for event in found}) == 1:
        return sorted(found, key=lambda event: event.line)
    for moment in (lambda event: event.time, lambda event: _place_in_name(event.file)):
        if _orders(found, moment):
            return sorted(found, key=lambda event: (moment(event) or 0.0, event.file, event.line))
    file = found[0].file
    return [event for event in found if event.file == file]


def _orders(found: Sequence[Event], moment: Callable[[Event], float | None]) -> bool:
    """Return whether each reading has a moment, and no two files show a counter at the same one."""
    shown: dict[tuple[float, Value], str] = {}
    for event in found:
        at, names = moment(event), event.fields["counters"]
        if at is None or not isinstance(names, list):
            return False
        for name in names:
            if shown.setdefault((at, name), event.file) != event.file:
                return False
    return True


def _place_in_name(file: str) -> int | None:
    """Return where a file stands among the readings of its kind, by its name."""
    named = _PLACE.search(file.lower())
    if named is None:
        return None
    if named["number"]:
        return int(named["number"])
    return 0 if named["early"] else 1


def _date(found: Sequence[Event], printed: Sequence[Event]) -> None:
    """Give readings without a stamp the last date before them, else that of the file's name."""
    dates: dict[tuple[str, str | None], list[Event]] = defaultdict(list)
    for event in printed:
        dates[event.file, event.host].append(event)
    for event in found:
        if event.time is not None:
            continue
        owners = {(event.file, event.host), (event.file, None)}
        before = [date for owner in owners if (date := _last_before(event, dates.get(owner, [])))]
        if before:
            last = max(before, key=lambda date: date.line)
            event.time, event.clock = last.time, last.clock
        elif stamp := time_in_name(event.file):
            event.time, event.clock = stamp


def _last_before(event: Event, dates: Sequence[Event]) -> Event | None:
    at = bisect_right(dates, event.line, key=lambda date: date.line)
    return dates[at - 1] if at else None


def time_in_name(file: str) -> tuple[float, Clock] | None:
    """Return the moment that a file's name states: ``counters-20260114-0300.txt``."""
    found = _IN_NAME.search(file)
    if found is not None:
        year, month, day, hour, minute, second = found.groups()
        stamp = find_stamp(f"{year}-{month}-{day} {hour}:{minute}:{second or '00'}")
        return stamp[:2] if stamp else None
    seconds = _EPOCH_IN_NAME.search(file)
    return (float(seconds[1]), Clock.UTC) if seconds else None


def _name_lids(found: Sequence[Event], ports: Sequence[Event]) -> None:
    owners: dict[Value, set[tuple[str, str]]] = defaultdict(set)
    for event in ports:
        lid = event.fields.get("lid")
        if event.host and event.nic and lid not in (None, 0, 65535):
            owners[lid].add((event.host, event.nic))
    asked: dict[tuple[str, str | None], set[Value]] = defaultdict(set)
    for event in found:
        if event.fields.get("tool") == "perfquery":
            asked[event.file, event.host].add(event.fields.get("device"))
    outside = {asker for asker, lids in asked.items() if len(lids) > MOST_LOCAL_LIDS}
    for event in found:
        if event.fields.get("tool") != "perfquery":
            continue
        if (event.file, event.host) in outside:
            event.host = None
        known = owners.get(event.fields.get("lid"), set())
        of_host = {one for one in known if event.host in (None, one[0])}
        if len(of_host) == 1:
            ((event.host, event.nic),) = of_host
            event.fields["device"] = event.nic
