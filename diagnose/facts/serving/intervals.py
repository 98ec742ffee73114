"""What happened between two scrapes of a server's metrics.

``inference.interval``
    The figures of one stretch of time (``parsers.serving.figures``), at its later scrape.
    ``restarted`` tells that the server began anew within it; the figures are then those since
    that. ``life`` is how old the server was at the end, ``X_before`` a level at the beginning, and
    ``requests`` is 0 where nobody asked.

Scrapes of one file follow each other by line. Those of several files belong together where a
label names the same server, or where the names of the files differ in numbers alone and all sums
only grew; they are put in order by their moments, else by these numbers. Everything else may be
two servers.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from diagnose.facts.clock import Clocks
from diagnose.model.event import Event, Value
from diagnose.parsers.serving.figures import figures
from diagnose.parsers.serving.snapshots import Snapshot, unpacked

EVENTS = ("inference.interval",)

Server = tuple[Value, Value]
"""Engine and name of a server, None where its metrics have no label for it."""

_DIGITS = re.compile(r"\d+")


def derive(scrapes: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield the stretches of time of each server.

    Args:
        scrapes: Events of single scrapes.
        clocks: Of the input, repaired.
    """
    servers: dict[tuple[Value, ...], list[Event]] = defaultdict(list)
    for event in scrapes:
        server = event.fields.get("server")
        place = None if server is not None else _DIGITS.sub("#", event.file)
        servers[event.fields.get("engine"), server, place].append(event)
    for found in servers.values():
        for before, after in pairwise(_in_order(found)):
            yield from _between(before, after, clocks)


def by_server(events: Iterable[Event]) -> dict[Server, list[Event]]:
    """Return scrapes or intervals by the server that they name."""
    found: dict[Server, list[Event]] = defaultdict(list)
    for event in events:
        found[event.fields.get("engine"), event.fields.get("server")].append(event)
    return found


def _in_order(found: list[Event]) -> list[Event]:
    if len({event.file for event in found}) > 1 and all(event.time is not None for event in found):
        return sorted(found, key=lambda event: (event.time or 0.0, event.line))
    return sorted(found, key=lambda event: (_natural(event.file), event.line))


def _natural(name: str) -> list[tuple[int, str]]:
    """Return what sorts ``metrics-10`` behind ``metrics-9``."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


def _between(before: Event, after: Event, clocks: Clocks) -> Iterator[Event]:
    then, now = unpacked(before.fields.get("snapshot")), unpacked(after.fields.get("snapshot"))
    if then is None or now is None:
        return
    restarted = now.restarted_since(then)
    if restarted and before.file != after.file and after.fields.get("server") is None:
        return  # two servers, for all we know
    apart = clocks.apart(before, after)
    seconds = apart[0] if apart is not None and apart[0] > 0 else None
    if restarted:
        life = after.fields.get("life")
        seconds = life if isinstance(life, float) else None
    told = figures(now if restarted else now.since(then), seconds)
    fields: dict[str, Value] = {
        "engine": after.fields.get("engine"),
        "server": after.fields.get("server"),
        "restarted": restarted,
        "life": after.fields.get("life"),
        **_levels_before(then),
        **told,
    }
    yield replace(after, name=EVENTS[0], fields=fields, fact=None)


def _levels_before(then: Snapshot) -> dict[str, Value]:
    return {f"{name}_before": then.gauges.get(name) for name in ("running", "waiting", "kv")}
