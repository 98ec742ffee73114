"""Packets that a port threw away as a share of those it carried.

A count since boot says little by itself; held against the packets of the same time it does: a
path that loses one packet in ten thousand has lost them, whenever that was. ``ib.drop_share`` has
``device``, ``port``, ``counter``, ``dropped``, ``packets``, ``share`` and ``basis``: ``growth``
between two readings, else ``reading``.
"""

from collections.abc import Iterator, Mapping

from diagnose.facts.fabric.counters import Growth, at_counter, counters
from diagnose.facts.fabric.readings import Key
from diagnose.model.event import Event, Value
from diagnose.parsers.fabric.counter_table import meaning_of

EVENTS = ("ib.drop_share",)

FEWEST = 100
"""Dropped packets of which a share is told."""

WORTH_A_LOOK = 1e-6


def derive(
    ports: Mapping[Key, list[Event]], grown: Mapping[Key, Mapping[str, Growth]]
) -> Iterator[Event]:
    """Yield the shares, at the last reading of a port."""
    for key, readings in ports.items():
        last, growths = readings[-1], grown[key]
        rows = {name: (value, line) for name, value, line in counters(last)}
        for name, (value, line) in rows.items():
            meaning = meaning_of(name)
            if meaning is None or meaning.of not in rows:
                continue
            both = growths.get(name), growths.get(meaning.of)
            if both[0] is not None and both[1] is not None:
                dropped, packets, basis = both[0].amount, both[1].amount, "growth"
            else:
                dropped, packets, basis = value, rows[meaning.of][0], "reading"
            share = dropped / (dropped + packets) if dropped >= FEWEST else 0.0
            if share < WORTH_A_LOOK:
                continue
            fields: dict[str, Value] = {
                "device": key[1], "port": key[2], "counter": name, "dropped": dropped,
                "packets": packets, "share": share, "basis": basis,
            }  # fmt: skip
            yield at_counter(last, name, value, line, EVENTS[0], fields)
