"""What the records of serving engines say when they are laid side by side."""

from collections.abc import Iterator, Sequence

from diagnose.facts.clock import Clocks
from diagnose.facts.serving import (
    ends,
    first_minutes,
    first_tokens,
    intervals,
    kv_demand,
    kv_room,
    memory_budget,
    oom_products,
    plans,
    replicas,
    sampling_differences,
    saturation,
    weights_need,
)
from diagnose.model.event import Event

EVENTS = (
    *intervals.EVENTS, *first_tokens.EVENTS, *first_minutes.EVENTS, *saturation.EVENTS,
    *replicas.EVENTS, *plans.EVENTS, *memory_budget.EVENTS, *kv_room.EVENTS, *kv_demand.EVENTS,
    *oom_products.EVENTS, *sampling_differences.EVENTS, *weights_need.EVENTS, *ends.EVENTS,
)  # fmt: skip


def derive(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield the derived events.

    Args:
        events: All that was read, in the order of sources and lines.
        clocks: Of the input, repaired.
    """
    if not any(event.name.startswith("inference.") for event in events):
        return
    scrapes = [event for event in events if event.name == "inference.metrics"]
    between = list(intervals.derive(scrapes, clocks))
    yield from between
    yield from first_tokens.derive(between, events)
    yield from first_minutes.derive(between, events)
    yield from saturation.derive(events)
    yield from replicas.derive(events)
    planned = list(plans.derive(events))
    yield from planned
    yield from memory_budget.derive(planned)
    yield from kv_room.derive(events, planned)
    yield from kv_demand.derive(events, planned)
    yield from oom_products.derive(events, planned)
    yield from sampling_differences.derive(events)
    yield from weights_need.derive(events)
    yield from ends.derive(events, clocks)
