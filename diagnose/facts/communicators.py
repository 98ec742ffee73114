"""Which communicator an NCCL record belongs to, where it prints only a pointer.

A pointer means something within its process only. Init lines join it to the communicator's id; a
communicator that was split off another prints no id from 2.23 on and is named after its parent,
the number of the split and its color, which are the same on all its ranks.
"""

from collections.abc import Sequence

from diagnose.model.event import Event, Value

JOINED = frozenset({"nccl.comm_init", "nccl.comm_end", "nccl.comm_topology", "nccl.collective"})
"""Records that print the pointer."""

Pointer = tuple[str, str | None, int | None, Value]


def name_communicators(events: Sequence[Event]) -> None:
    """Complete the communicator of NCCL's records, in place.

    Args:
        events: Those that are ``JOINED``, in the order of sources and lines; a pointer that is used
            again is another communicator from its next init line on.
    """
    names: dict[Pointer, str] = {}
    for event in events:
        if "comm" not in event.fields:
            continue
        own = _pointer(event, event.fields["comm"])
        if event.communicator is None:
            event.communicator = _split(event, names) or names.get(own)
        if event.communicator is not None:
            names[own] = event.communicator


def _pointer(event: Event, pointer: Value) -> Pointer:
    return event.file, event.host, event.pid, pointer


def _split(event: Event, names: dict[Pointer, str]) -> str | None:
    """Return the name of a communicator that was split off, None of any other."""
    parent = event.fields.get("parent")
    family = names.get(_pointer(event, parent)) if parent is not None else None
    if family is None:
        return None
    return f"{family}/{event.fields.get('child', 0)}.{event.fields.get('color', 0)}"
