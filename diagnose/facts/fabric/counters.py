"""Counters of ports that were read more than once, and what their growth comes to.

``ib.counter_grew`` is a counter whose growth since the last reset reaches a limit of
``rules/counters.yaml``:

=================================== ===============================================================
``device`` ``port`` ``counter``     Which
``kind`` ``value`` ``saturated``    What it means, its last value, whether it has stopped there
``growth`` ``seconds``              Since the first reading behind the last reset; None: no stamps
``per_hour`` ``per_second``         None without stamps, and of a counter that has stopped
``judged``                          ``warn`` or ``fail``, by the limits of the table
``peer`` ``peer_port``              The other end of the link, where a tool prints it
``peer_host`` ``peer_device``       If that is an adapter of a host
=================================== ===============================================================

Without stamps an hour is assumed. A growth over less than the unit of its limit counts in full
only from ten on: three errors in a minute are not 180 an hour. A limit of any growth at all holds
for a day; over a longer time the same growth is worth a look and no more.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from diagnose.facts.clock import Clocks
from diagnose.facts.fabric.readings import Key
from diagnose.model.event import Event, Value
from diagnose.parsers.fabric.counter_table import Limit, Meaning, meaning_of

EVENTS = ("ib.counter_grew",)

HOUR = 3600.0
DAY = 86_400.0

PEER = ("peer", "peer_port", "peer_host", "peer_device")

SURE = 10
"""Events of a kind from which on their rate is more than chance."""


@dataclass(slots=True)
class Growth:
    """One counter of one port between two readings.

    Args:
        meaning: Of the counter.
        first: The first reading behind the last reset.
        last: The last reading.
        line: Of the counter in the last reading.
        value: There.
        amount: By how much it grew; 0 where it did not.
        seconds: Between the two, None where unknown.
        ended: The counter has reached its largest value.
    """

    meaning: Meaning
    first: Event
    last: Event
    line: int
    value: int
    amount: int
    seconds: float | None
    ended: bool

    @property
    def per_second(self) -> float | None:
        """The rate, None where time or growth is not known."""
        return None if self.ended or not self.seconds else self.amount / self.seconds


def growths(readings: Sequence[Event], clocks: Clocks) -> dict[str, Growth]:
    """Return how far each counter of a port grew, those that were read twice.

    A reading that says since when it counts is a pair by itself.

    Args:
        readings: Of one port, in order.
        clocks: Of the input.
    """
    found: dict[str, Growth] = {}
    seconds: dict[int, float | None] = {}
    seen: dict[str, tuple[Event, int]] = {}
    for event in readings:
        rows, since = [*counters(event)], event.number("since")
        # a reset takes all counters back at once, and another host's reading is none of this port
        anew = any(name in seen and value < seen[name][1] for name, value, _ in rows)
        for name, value, line in rows:
            before, meaning = seen.get(name), meaning_of(name)
            seen[name] = event, value
            if since and meaning is not None:
                found[name] = Growth(meaning, event, event, line, value, value, since, False)
            elif anew:
                found.pop(name, None)
            elif before is not None and meaning is not None:
                known = found.get(name)
                first = known.first if known else before[0]
                amount = value - before[1] + (known.amount if known else 0)
                ended = meaning.maximum is not None and value >= meaning.maximum * meaning.factor
                found[name] = Growth(meaning, first, event, line, value, amount, None, ended)
    for growth in found.values():
        part = found.get(growth.meaning.less or "")
        if part is not None:
            growth.amount = max(0, growth.amount - part.amount)
        if growth.first is growth.last:
            continue
        pair = id(growth.first)
        if pair not in seconds:
            apart = clocks.apart(growth.first, growth.last)
            seconds[pair] = apart[0] if apart and apart[0] > 0 else None
        growth.seconds = seconds[pair]
    return found


def counters(reading: Event) -> Iterator[tuple[str, int, int]]:
    """Yield name, value and line of the counters of a reading."""
    columns = (reading.fields[name] for name in ("counters", "values", "lines"))
    names, values, lines = (column if isinstance(column, list) else [] for column in columns)
    for name, value, line in zip(names, values, lines, strict=True):
        if isinstance(name, str) and isinstance(value, int) and isinstance(line, int):
            yield name, value, reading.line + line


def derive(ports: Mapping[Key, Mapping[str, Growth]]) -> Iterator[Event]:
    """Yield each counter whose growth reaches a limit, at its last reading."""
    for grown in ports.values():
        for growth in grown.values():
            judged = judge(growth)
            if judged is not None:
                yield _event(growth, judged)


def judge(growth: Growth) -> str | None:
    """Return ``fail`` or ``warn`` where a growth is above a limit of its counter."""
    meaning = growth.meaning
    if not growth.amount:
        return None
    if _above(growth, meaning.fail):
        return "warn" if _too_long(growth, meaning.fail) else "fail"
    return "warn" if _above(growth, meaning.warn) else None


def _above(growth: Growth, limit: Limit | None) -> bool:
    if limit is None:
        return False
    if limit.seconds is None:
        return growth.amount > limit.count
    seconds = growth.seconds or HOUR
    allowed = limit.count * seconds / limit.seconds
    if seconds < limit.seconds:
        return growth.amount > limit.count or (growth.amount > allowed and growth.amount >= SURE)
    return growth.amount > allowed


def _too_long(growth: Growth, limit: Limit | None) -> bool:
    return limit is not None and limit.seconds is None and (growth.seconds or 0.0) > DAY


def _event(growth: Growth, judged: str) -> Event:
    last, rate = growth.last, growth.per_second
    fields: dict[str, Value] = {
        "device": last.fields.get("device"),
        "port": last.fields.get("port"),
        "counter": growth.meaning.name,
        "kind": growth.meaning.kind,
        "value": growth.value,
        "saturated": growth.ended,
        "growth": growth.amount,
        "seconds": growth.seconds,
        "per_second": rate,
        "per_hour": None if rate is None else rate * HOUR,
        "judged": judged,
        "tool": last.fields.get("tool"),
        **{name: last.fields.get(name) for name in PEER},
    }
    return at_counter(last, growth.meaning.name, growth.value, growth.line, EVENTS[0], fields)


def at_counter(
    reading: Event, counter: str, value: int, line: int, name: str, fields: dict[str, Value]
) -> Event:
    """Return a derived event at the line of a counter.

    The reading keeps the text of its first line alone; of another the counter and its value stand.
    """
    text = reading.text if line == reading.line else f"{counter}: {value}"
    return replace(
        reading, name=name, fields=fields, line=line, end_line=line, text=text, fact=None
    )
