"""What sizes, layout and rates say of how well the job uses its GPUs."""

from collections.abc import Iterator

from diagnose.facts.scaling import bubbles
from diagnose.model.event import Event
from diagnose.model.reading import Reading

EVENTS = bubbles.EVENTS


def derive(reading: Reading) -> Iterator[Event]:
    """Yield the events that follow from layout and rates.

    Args:
        reading: With ranks, hosts and attempts completed.
    """
    yield from bubbles.bubbles(reading)
