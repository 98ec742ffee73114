"""Places of events on axes of time and of lines, and the windows worth looking at."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from diagnose.facts.case import Case
from diagnose.model.event import Event


def timeline(events: Iterable[Event], case: Case) -> list[dict[int, float]]:
    """Return the places of events on time axes, by ``id`` of the event, in seconds.

    Events whose clocks cannot be compared are on different axes; events without a stamp on none.
    """
    axes: list[tuple[Any, dict[int, float]]] = []
    for event in events:
        instant = case.clocks.of(event)
        if instant is None:
            continue
        for origin, places in axes:
            apart = case.clocks.difference(origin, instant)
            if apart is not None:
                places[id(event)] = apart[0]
                break
        else:
            axes.append((instant, {id(event): 0.0}))
    return [places for _, places in axes]


def lines(events: Iterable[Event]) -> list[dict[int, float]]:
    """Return the places of events in each file, by ``id`` of the event."""
    files: dict[str, dict[int, float]] = {}
    for event in events:
        files.setdefault(event.file, {})[id(event)] = float(event.line)
    return list(files.values())


def starts(
    pools: Sequence[Sequence[Event]], places: dict[int, float], length: float
) -> list[float]:
    """Return where the windows begin that hold something of every member, none inside another."""
    axes = [sorted({places[id(event)] for event in pool if id(event) in places}) for pool in pools]
    if not all(axes):
        return []
    rarest = min(axes, key=len)
    everything = sorted({place for axis in axes for place in axis})
    found: list[float] = []
    reached = -1
    for low in everything:
        if bisect_right(rarest, low + length) == bisect_left(rarest, low):
            continue
        reach = bisect_right(everything, low + length)
        if reach > reached:
            found.append(low)
            reached = reach
    return found
