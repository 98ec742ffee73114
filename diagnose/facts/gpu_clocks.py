"""Clocks of GPUs beside each other.

``nvidia_smi.slower_clock`` is a busy GPU whose clock is under that of the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from diagnose.model.event import Event, Value

EVENTS = ("nvidia_smi.slower_clock",)

FEWEST_PEERS = 3
"""Others that a GPU must differ from."""

BUSY = 80
"""Per cent of use from which on the clock of a GPU means something."""

SLOW_CLOCK = 0.9
"""Share of the others' clock under which a GPU is slow."""


def derive(monitored: Sequence[Event]) -> Iterator[Event]:
    """Yield GPUs that are as busy as the others and run at a lower clock.

    Only busy GPUs are compared: an idle one lowers its clock to save power.
    """
    busy = [
        event for event in monitored if (event.number("use") or 0) >= BUSY and event.number("clock")
    ]
    if len(busy) <= FEWEST_PEERS:
        return
    level = median(event.number("clock") or 0 for event in busy)
    for event in busy:
        clock = event.number("clock") or 0
        if clock < SLOW_CLOCK * level:
            fields: dict[str, Value] = {
                **event.fields, "clock": clock, "expected_clock": level, "ratio": clock / level,
                "peers": len(busy) - 1,
            }  # fmt: skip
            yield replace(event, name="nvidia_smi.slower_clock", fields=fields, fact=None)
