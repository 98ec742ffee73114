"""To which records a condition is held at the moment: one group, one shared value, one window."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from diagnose.engine.records import Record, identities, witness
from diagnose.facts.case import Case
from diagnose.model.event import Event

SORTED_LIMIT = 64
"""Lists of records kept sorted at a time."""

Key = tuple[str, Any]
"""A kind of identity, such as ``host``, and the value that records must have."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A stretch of time or of lines.

    Args:
        positions: Place of each event (by ``id``) on one axis; events off the axis are outside.
        low: Where it begins.
        high: Where it ends, itself within.
        by_line: The axis is the lines of one file.
    """

    positions: Mapping[int, float]
    low: float
    high: float
    by_line: bool = False

    def holds(self, event: Event | None) -> bool:
        """Return whether an event lies in it."""
        place = None if event is None else self.positions.get(id(event))
        return place is not None and self.low <= place <= self.high


@dataclass(frozen=True, slots=True)
class Scope:
    """What narrows a condition down.

    Args:
        group: The value of the rule's ``by``; a value of None asks for records without one.
        keys: Values that ``same`` demands.
        pending: Values that the members of an ``any`` share if they say ``same``.
        windows: All must hold a record.
        after: The record must come after all of these.
        by_line: ``after`` goes by the line in one file.
    """

    group: Key | None = None
    keys: tuple[Key, ...] = ()
    pending: tuple[Key, ...] = ()
    windows: tuple[Window, ...] = ()
    after: tuple[Event, ...] = ()
    by_line: bool = False

    def with_key(self, kind: str, value: Any) -> "Scope":
        """Return the scope with one more value demanded."""
        return replace(self, keys=(*self.keys, (kind, value)))

    def with_pending(self, kind: str, value: Any) -> "Scope":
        """Return the scope with one more value for the members of an ``any``."""
        return replace(self, pending=(*self.pending, (kind, value)))

    def in_window(self, window: Window) -> "Scope":
        """Return the scope narrowed to a window."""
        return replace(self, windows=(*self.windows, window), by_line=window.by_line)

    def following(self, events: tuple[Event, ...]) -> "Scope":
        """Return the scope of what comes after some events."""
        last = {event.file: event for event in events}
        return replace(self, after=(*self.after, *last.values()))


WIDE = Scope()
"""Nothing is narrowed down."""


class Partition:
    """The records of one condition by one kind of identity.

    Args:
        records: In the order of the sources.
        kind: As for ``identities``.
        case: Completes identities.
    """

    def __init__(self, records: list[Record], kind: str, case: Case) -> None:
        self.by_value: dict[Any, list[Record]] = {}
        self.lacking: list[Record] = []
        for record in records:
            values = identities(record, kind, case)
            for value in values:
                self.by_value.setdefault(value, []).append(record)
            if not values:
                self.lacking.append(record)


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Records along an axis; the list they come from is kept so that its ``id`` stays its own."""

    records: list[Record]
    positions: Mapping[int, float]
    axis: list[float]
    ordered: list[Record]


class Narrowing:
    """Applies scopes to the records of conditions; remembers what the last scopes left.

    Args:
        case: The evidence.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self._partitions: dict[tuple[int, str], Partition] = {}
        self._bases: dict[int, tuple[Scope, list[Record]]] = {}
        self._sorted: dict[int, _Sorted] = {}

    def partition(self, records: list[Record], kind: str) -> Partition:
        """Return the records of a condition by a kind of identity; the list must stay alive."""
        key = (id(records), kind)
        found = self._partitions.get(key)
        if found is None:
            found = self._partitions[key] = Partition(records, kind, self.case)
        return found

    def narrow(self, records: list[Record], scope: Scope) -> list[Record]:
        """Return the records that a scope leaves, ``after`` apart; the list must stay alive."""
        left = self._base(records, scope)
        if scope.windows:
            left = self._slice(left, scope.windows[0])
        for window in scope.windows[1:]:
            left = [record for record in left if window.holds(witness(record))]
        return left

    def following(self, records: list[Record], scope: Scope) -> list[Record]:
        """Return the records that come after all events the scope names."""
        return [record for record in records if self._follows(record, scope)]

    def _base(self, records: list[Record], scope: Scope) -> list[Record]:
        """Return what group and keys leave; asked again for each window of one scope."""
        if scope.group is None and not scope.keys:
            return records
        wide = Scope(scope.group, scope.keys)
        known = self._bases.get(id(records))
        if known is not None and known[0] == wide:
            return known[1]
        left = records if scope.group is None else self._of_group(records, scope)
        for kind, value in scope.keys:
            left = self._sharing(left, kind, value, whole=left is records)
        self._bases[id(records)] = wide, left
        return left

    def _slice(self, records: list[Record], window: Window) -> list[Record]:
        """Return the records in a window, in their order on its axis."""
        known = self._sorted.get(id(records))
        if known is None or known.positions is not window.positions:
            places = [
                (window.positions[id(event)], index)
                for index, record in enumerate(records)
                if (event := witness(record)) is not None and id(event) in window.positions
            ]
            places.sort()
            known = _Sorted(
                records,
                window.positions,
                [place for place, _ in places],
                [records[index] for _, index in places],
            )
            if len(self._sorted) >= SORTED_LIMIT:
                self._sorted.clear()
            self._sorted[id(records)] = known
        first, last = bisect_left(known.axis, window.low), bisect_right(known.axis, window.high)
        return known.ordered[first:last]

    def _of_group(self, records: list[Record], scope: Scope) -> list[Record]:
        assert scope.group is not None
        kind, value = scope.group
        parts = self.partition(records, kind)
        return parts.lacking if value is None else parts.by_value.get(value, [])

    def _sharing(
        self, records: list[Record], kind: str, value: Any, *, whole: bool
    ) -> list[Record]:
        """Return the records with a value; a record that names no communicator joins any."""
        if kind == "communicator":
            if value is None:
                return records
            return [
                record
                for record in records
                if value in (found := identities(record, kind, self.case)) or not found
            ]
        if whole:
            return self.partition(records, kind).by_value.get(value, [])
        return [record for record in records if value in identities(record, kind, self.case)]

    def _follows(self, record: Record, scope: Scope) -> bool:
        event = witness(record)
        if event is None:
            return False
        if scope.by_line:
            return all(
                event.file == other.file and event.line > other.line for other in scope.after
            )
        return all(self.case.ordered(other, event) is True for other in scope.after)
