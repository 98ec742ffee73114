"""Counters of one port that stand out from the same port of other hosts.

``ib.counter_stands_out`` has ``device``, ``port``, ``counter``, ``kind``, ``value``, the
``typical`` value, ``score`` (distance from it in robust standard deviations), ``hosts`` (how many
were compared), ``basis`` and ``seconds``. ``basis`` is ``growth`` where the counters of most hosts
were read twice, else ``reading``: a total since the last reset, which may be months ago, so that it
says little. ``list`` is one of the few ports that ibqueryerrors lists of the many it checked; then
``hosts`` is None and ``ports`` how many it checked.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from diagnose.facts.fabric.counters import PEER, Growth, at_counter, counters
from diagnose.facts.fabric.readings import Key
from diagnose.facts.statistics import level_and_noise
from diagnose.model.event import Event, Value
from diagnose.parsers.fabric.counter_table import meaning_of

EVENTS = ("ib.counter_stands_out",)

FEWEST_HOSTS = 4

FARTHEST = 6.0
"""Robust standard deviations within which hosts differ by chance."""

SPREAD = 0.1
"""Least noise assumed, as a share of the typical value."""

MANY_PORTS = 100
FEW_PORTS = 0.01
"""Share of the ports that may be over a threshold for one of them to stand out."""

UNCOMPARED = frozenset({"noise", "volume", "flushed"})

What = tuple[Value, Value, Value, str]
"""Device, port, tool and counter."""

Row = tuple[float, Event, int, float | None]
"""Value, reading, line of the counter, seconds."""


def derive(
    ports: Mapping[Key, list[Event]],
    grown: Mapping[Key, Mapping[str, Growth]],
    summaries: Sequence[Event],
) -> Iterator[Event]:
    """Yield the counters that stand out, at the last reading of their port.

    Args:
        ports: Readings by port.
        grown: Growth of their counters.
        summaries: Events ``ib.errors_summary``.
    """
    yield from _beside_others(ports, grown)
    yield from _listed(ports, {event.file: event for event in summaries})


def _beside_others(
    ports: Mapping[Key, list[Event]], grown: Mapping[Key, Mapping[str, Growth]]
) -> Iterator[Event]:
    growth: dict[What, dict[str, Row]] = defaultdict(dict)
    totals: dict[What, dict[str, Row]] = defaultdict(dict)
    for key, readings in ports.items():
        last = readings[-1]
        if last.host is None:
            continue
        for name, value, line in counters(last):
            meaning = meaning_of(name)
            if meaning is None or meaning.kind in UNCOMPARED:
                continue
            what = *key[1:], name
            totals[what][last.host] = value, last, line, None
            one = grown[key].get(name)
            if one is not None:
                growth[what][last.host] = one.amount, last, line, one.seconds
    for what, of_hosts in totals.items():
        compared = growth.get(what, {})
        # a third reading of two hosts says more of them than a first one of all
        basis = "growth" if 2 * len(compared) > len(of_hosts) else "reading"
        rows = compared if basis == "growth" else of_hosts
        yield from _outliers(what, rows, basis)


def _listed(ports: Mapping[Key, list[Event]], summaries: Mapping[str, Event]) -> Iterator[Event]:
    for readings in ports.values():
        last = readings[-1]
        summary = summaries.get(last.file)
        if len(readings) > 1 or summary is None or last.fields.get("tool") != "ibqueryerrors":
            continue
        checked, bad = summary.number("ports") or 0, summary.number("bad_ports") or 0
        if checked < MANY_PORTS or bad > FEW_PORTS * checked:
            continue
        for name, value, line in counters(last):
            meaning = meaning_of(name)
            if meaning is None or meaning.kind in UNCOMPARED:
                continue
            fields: dict[str, Value] = {
                **{one: last.fields.get(one) for one in ("device", "port", *PEER)},
                "counter": name, "kind": meaning.kind, "value": value, "typical": 0,
                "score": None, "hosts": None, "ports": checked, "basis": "list", "seconds": None,
            }  # fmt: skip
            yield at_counter(last, name, value, line, EVENTS[0], fields)


def _outliers(what: What, rows: Mapping[str, Row], basis: str) -> Iterator[Event]:
    if len(rows) < FEWEST_HOSTS or not _differ(rows.values()):
        return
    typical, noise = level_and_noise([row[0] for row in rows.values()])
    scale = max(noise, SPREAD * typical, typical**0.5, 1.0)
    device, port, _, name = what
    meaning = meaning_of(name)
    for value, reading, line, seconds in rows.values():
        score = (value - typical) / scale
        if score <= FARTHEST or meaning is None:
            continue
        fields: dict[str, Value] = {
            "device": device, "port": port, "counter": name, "kind": meaning.kind, "value": value,
            "typical": typical, "score": score, "hosts": len(rows), "ports": None, "basis": basis,
            "seconds": seconds,
        }  # fmt: skip
        yield at_counter(reading, name, int(value), line, EVENTS[0], fields)


def _differ(rows: Iterable[Row]) -> bool:
    values = [row[0] for row in rows]
    return max(values) > FARTHEST + min(values)
