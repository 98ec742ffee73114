"""What tests of bandwidth say when they are held against machines of their kind and each other."""

from collections.abc import Iterator, Sequence

from diagnose.facts.bandwidth import alone, curves, devices, judged, links, pairs, slower
from diagnose.facts.bandwidth.adapters import Adapters
from diagnose.facts.baseline.known import BENCHES
from diagnose.model.event import Event
from diagnose.model.topology import Topology

EVENTS = (
    *alone.EVENTS,
    *curves.EVENTS,
    *devices.EVENTS,
    *judged.EVENTS,
    *links.EVENTS,
    *pairs.EVENTS,
    *slower.EVENTS,
)


def derive(events: Sequence[Event], topology: Topology | None) -> Iterator[Event]:
    """Yield the derived events, each at the place of a test.

    Args:
        events: All of the input; ports of adapters among them tell what the network should give.
        topology: Who has which address by the inventory, if there is one.
    """
    tests = [event for event in events if event.name in BENCHES]
    between_two = [event for event in events if event.name == "bench.link"]
    adapters = Adapters(events)
    yield from alone.derive(tests)
    yield from curves.derive(tests)
    yield from devices.derive(events, topology)
    yield from judged.derive(tests, adapters)
    yield from links.derive(between_two, adapters)
    yield from pairs.derive(events, topology)
    yield from slower.derive(tests)
