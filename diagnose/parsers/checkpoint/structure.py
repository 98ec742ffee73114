"""What a pickle holds, as read without its classes, and how to take plain values out of it.

Not a parser. Dictionaries, lists, tuples and plain values are themselves; all else is a ``StandIn``. A
pickle may refer to one object from many places, so a structure can have more paths than any time would
do for; whatever walks through it here enters each object once.

*Empty*: no names, no values.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

VALUES = 1_000
LEVELS = 5
"""Plain values taken out of a structure, and how deep they may lie."""

LONGEST = 1_000
"""Characters of a text or a name that is kept."""

Plain = str | int | float | bool


@dataclass(slots=True, eq=False)
class StandIn:
    """What a pickle builds with a class or a function of its own.

    Args:
        name: Module and name, with dots.
        arguments: What it is called with; None for the class or function itself.
        state: What is set on it afterwards.
        items: What is put into it by key, None for nothing.
    """

    name: str
    arguments: Any = None
    state: Any = None
    items: dict[Any, Any] | None = None

    @property
    def tables(self) -> tuple[dict[Any, Any], ...]:
        """What it holds by name: its state, which may be a pair for ``__slots__``, and its items."""
        states = self.state if isinstance(self.state, tuple) else (self.state,)
        return tuple(one for one in (*states[:2], self.items) if isinstance(one, dict))


@dataclass(slots=True, eq=False)
class Key:
    """A key of a dictionary that is no text and no small number."""

    value: Any


def keys(value: Any) -> tuple[str, ...]:
    """Return the names at the top of a structure."""
    return tuple(key for key, _ in _named(value))


def field(value: Any, name: str) -> Any:
    """Return what a structure holds under a name, None where it holds nothing there."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, StandIn):
        return next((table[name] for table in value.tables if name in table), None)
    return None


def pairs(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of a dictionary, the keys unwrapped."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield (key.value if isinstance(key, Key) else key), one


def values(value: Any) -> dict[str, Plain]:
    """Return the plain values in a structure by their dotted names, those at the top first.

    Of an object of one plain argument (``SchedulerType('linear')``) the argument counts, of a named
    constant (``torch.bfloat16``) its name. At most ``VALUES`` are taken.
    """
    found: dict[str, Plain] = {}
    waiting: deque[tuple[str, Any, int]] = deque([("", value, 0)])
    entered: set[int] = set()
    while waiting and len(found) < VALUES:
        name, one, level = waiting.popleft()
        plain = _plain(one)
        if plain is not None and name:
            found[name] = plain
        elif level < LEVELS and id(one) not in entered:
            entered.add(id(one))
            start = f"{name}." if name else ""
            waiting.extend(
                (start + key, below, level + 1) for key, below in _named(one) if len(key) <= LONGEST
            )
    return found


def _named(value: Any) -> Iterator[tuple[str, Any]]:
    tables = value.tables if isinstance(value, StandIn) else (value,)
    for table in tables:
        if isinstance(table, dict):
            yield from ((key, one) for key, one in table.items() if isinstance(key, str))


def _plain(value: Any) -> Plain | None:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else None
    if isinstance(value, int | float):
        return value
    if isinstance(value, StandIn) and value.state is None and value.items is None:
        if value.arguments is None:
            return value.name
        if isinstance(value.arguments, tuple) and len(value.arguments) == 1:
            only = value.arguments[0]
            return only if isinstance(only, str | int | float) else None
    return None
