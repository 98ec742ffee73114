"""What the records of serving engines say when they are laid side by side."""

from collections.abc import Iterator, Sequence

from diagnose.facts.clock import Clocks
from diagnose.facts.serving import ends, intervals, plans
from diagnose.model.event import Event

EVENTS = (*intervals.EVENTS, *plans.EVENTS, *ends.EVENTS)


def derive(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield the derived events.

    Args:
        events: All that was read, in the order of sources and lines.
        clocks: Of the input, repaired.
    """
    if not any(event.name.startswith("inference.") for event in events):
        return
    scrapes = [event for event in events if event.name == "inference.metrics"]
    yield from intervals.derive(scrapes, clocks)
    yield from plans.derive(events)
    yield from ends.derive(events, clocks)
