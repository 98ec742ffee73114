"""Tests over each adapter of the same hosts: one that is far below the others.

``bench.device_slow`` stands at the test of such an adapter: ``tool``, ``operation``, ``device``,
``gbps``, ``usual_gbps`` of the ``devices`` tested between the same ends, and ``ratio``.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.bandwidth.square import Cell, Square
from diagnose.facts.bandwidth.tables import links
from diagnose.model.event import Event, Value
from diagnose.model.topology import Topology

EVENTS = ("bench.device_slow",)

FEWEST = 4
"""Adapters; of three one that differs is no exception."""

MOST_LOW = 0.25
"""Share of the adapters that may be low."""


def derive(events: Sequence[Event], topology: Topology | None) -> Iterator[Event]:
    """Yield the slow ones, each at its best test."""
    names = ("tool", "operation", "streams", "bidirectional", "size")
    alike: dict[tuple[Value, ...], dict[str, Cell]] = defaultdict(dict)
    for cell in links(events, topology):
        ends = sorted(end for end in (cell.sender, cell.receiver) if not end.startswith("LID "))
        if cell.event.nic is None or not ends:
            continue
        key = *ends, *(cell.event.fields.get(name) for name in names)
        best = alike[key].get(cell.event.nic)
        if best is None or cell.rate > best.rate:
            alike[key][cell.event.nic] = cell
    for by_device in alike.values():
        cells = list(by_device.values())
        square = Square("device", "Gb/s", False, cells, {})
        low = [cell for cell in cells if square.is_low(cell)]
        if len(cells) < FEWEST or len(low) > MOST_LOW * len(cells):
            continue
        for cell in low:
            fields: dict[str, Value] = {
                **{name: cell.event.fields.get(name) for name in ("tool", "operation", "device")},
                "gbps": cell.rate, "usual_gbps": square.usual, "devices": len(cells),
                "ratio": cell.rate / square.usual,
            }  # fmt: skip
            yield replace(cell.event, name=EVENTS[0], fields=fields, fact=None)
