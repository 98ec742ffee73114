"""What the limits of an engine are to a queue in front of it.

``inference.saturation``
    One for each queue (``inference.queue``, with its figures) of an engine whose limits are known:
    ``slots``, how many requests may run at a time, and ``slot_share``, how many of them do;
    ``budget``, how many tokens a step may have, and ``budget_left``, the share of it that prompts
    get, since each running request takes a token of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.model.event import Event, Value

EVENTS = ("inference.saturation",)

STATE_LIMITS = frozenset({"inference.config", "inference.limits", "inference.memory_left"})


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield what each queue is to the limits.

    Args:
        events: All that was read, in the order of sources and lines.
    """
    slots = stated_limit(events, "max_num_seqs")
    budget = stated_limit(events, "max_num_batched_tokens")
    for event in events:
        running = event.number("running_median") if event.name == "inference.queue" else None
        if running is None or (slots is None and budget is None):
            continue
        found: dict[str, Value] = {
            "slots": slots,
            "slot_share": round(running / slots, 4) if slots else None,
            "budget": budget,
            "budget_left": round(1 - running / budget, 4) if budget else None,
        }
        yield replace(event, name=EVENTS[0], fields=event.fields | found)


def stated_limit(events: Sequence[Event], option: str) -> float | None:
    """Return a limit of the engine, None where it is not said or several servers differ.

    Args:
        events: All that was read.
        option: ``max_num_seqs`` or another field of the configuration.
    """
    stated = {event.number(option) for event in events if event.name in STATE_LIMITS} - {None}
    return stated.pop() if len(stated) == 1 else None
