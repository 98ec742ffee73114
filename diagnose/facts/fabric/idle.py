"""Adapters that carry nothing while the same adapter of other hosts is busy.

``ib.adapter_idle`` has ``device``, ``port``, ``counter``, ``busy`` (hosts on which this device
works) and ``hosts`` (that were compared). An adapter that is idle on all hosts serves something
else, and is none.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from diagnose.facts.fabric.counters import Growth, at_counter, counters
from diagnose.facts.fabric.readings import Key
from diagnose.model.event import Event, Value

EVENTS = ("ib.adapter_idle",)

COUNTER = "rx_write_requests"
"""NCCL writes into its peers' memory, so each adapter that it uses answers writes."""

BUSY = 1_000
FEWEST_PEERS = 3
MAJORITY = 0.75


def derive(
    ports: Mapping[Key, list[Event]], grown: Mapping[Key, Mapping[str, Growth]]
) -> Iterator[Event]:
    """Yield the idle ones, at their last reading."""
    works: dict[tuple[Value, ...], dict[str, tuple[int, Event, int]]] = defaultdict(dict)
    for key, readings in ports.items():
        last = readings[-1]
        found = next((row for row in counters(last) if row[0] == COUNTER), None)
        if last.host is None or found is None:
            continue
        growth = grown[key].get(COUNTER)
        amount = growth.amount if growth else found[1]
        works[key[1:]][last.host] = amount, last, found[2]
    for (device, port, _), of_hosts in works.items():
        busy = sum(amount >= BUSY for amount, _, _ in of_hosts.values())
        if busy < max(FEWEST_PEERS, MAJORITY * len(of_hosts)):
            continue
        for amount, last, line in of_hosts.values():
            if amount == 0:
                fields: dict[str, Value] = {
                    "device": device, "port": port, "counter": COUNTER, "busy": busy,
                    "hosts": len(of_hosts),
                }  # fmt: skip
                yield at_counter(last, COUNTER, amount, line, EVENTS[0], fields)
