"""Counters of ports that were read more than once.

``growth`` of ``ib.counter_grew`` is since the last reset between the readings, ``seconds`` the time
between them where both have a stamp. Readings in two files are put in order by their stamps alone;
within a file by line.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.clock import Clocks
from diagnose.model.event import Event, Value

EVENTS = ("ib.counter_grew",)


def derive(counters: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield each counter that grew, at its last reading."""
    readings: dict[tuple[Value, ...], list[Event]] = defaultdict(list)
    for event in counters:
        owner = event.host or event.file
        names = ("device", "port", "counter")
        readings[(owner, *(event.fields.get(name) for name in names))].append(event)
    for found in readings.values():
        ordered = _in_order(found)
        first: Event | None = None
        growth = 0
        for before, after in zip(ordered, ordered[1:], strict=False):
            rise = _value(after) - _value(before)
            if rise < 0:
                first, growth = None, 0
            elif rise:
                first, growth = first or before, growth + rise
        if first is not None:
            last = ordered[-1]
            apart = clocks.apart(first, last)
            fields: dict[str, Value] = {
                **last.fields,
                "growth": growth,
                "seconds": apart[0] if apart and apart[0] > 0 else None,
            }
            yield replace(last, name=EVENTS[0], fields=fields, fact=None)


def _in_order(found: list[Event]) -> list[Event]:
    """Return the readings of one counter from first to last, those of one file if unsure."""
    if len({event.file for event in found}) == 1:
        return sorted(found, key=lambda event: event.line)
    if all(event.time is not None for event in found):
        return sorted(found, key=lambda event: (event.time or 0.0, event.line))
    file = found[0].file
    return [event for event in found if event.file == file]


def _value(event: Event) -> int:
    value = event.fields["value"]
    return value if isinstance(value, int) else 0
