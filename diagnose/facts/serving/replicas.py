"""Engines that do the same work, one of them slower than the others.

``inference.slow_replica``
    The slowest engine of three or more, at its first statistics line: ``per_request`` is how many
    tokens a second each of its requests gets on the median, ``peers`` the same of the others at
    about as many running requests, ``ratio`` the first over the second, ``engines`` how many were
    compared and ``running`` how many requests it had. Its host is told where those of peers differ.

Engines are those of one file, or one of each file where every file has one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from diagnose.model.event import Event, Nature, Value

EVENTS = ("inference.slow_replica",)

FEWEST_ENGINES = 3
FEWEST_SAMPLES = 6

ALIKE = 0.1
"""Of the running requests: more or fewer of them get other speeds by themselves."""


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the slowest engine of each server, if its peers can be compared.

    Args:
        events: All that was read, in the order of sources and lines.
    """
    paces: dict[tuple[str, Value], Event] = {}
    for event in events:
        if event.name == "inference.pace" and (event.number("samples") or 0) >= FEWEST_SAMPLES:
            paces.setdefault((event.file, event.fields["engine"]), event)
    by_file: dict[str, list[Event]] = defaultdict(list)
    for event in paces.values():
        by_file[event.file].append(event)
    alone = all(len(own) == 1 for own in by_file.values())
    for own in [list(paces.values())] if alone else by_file.values():
        yield from _slowest(own)


def _slowest(paces: Sequence[Event]) -> Iterator[Event]:
    if len(paces) < FEWEST_ENGINES:
        return
    slowest = min(paces, key=_speed)
    running = slowest.number("running") or 0.0
    peers = [
        one
        for one in paces
        if one is not slowest and abs((one.number("running") or 0.0) - running) <= ALIKE * running
    ]
    if len(peers) < FEWEST_ENGINES - 1:
        return
    usual = median(_speed(one) for one in peers)
    fields: dict[str, Value] = {
        "engine": slowest.fields["engine"],
        "engines": len(peers) + 1,
        "running": running,
        "per_request": _speed(slowest),
        "peers": usual,
        "ratio": round(_speed(slowest) / usual, 4) if usual else None,
    }
    # One front end prints the statistics of all of its engines, wherever they run.
    host = slowest.host if any(one.host != slowest.host for one in peers) else None
    yield replace(slowest, name=EVENTS[0], nature=Nature.MEASUREMENT, host=host, fields=fields)


def _speed(pace: Event) -> float:
    return pace.number("per_request") or 0.0
