"""Evaluates a condition: which records satisfy it together, within one scope.

``all`` and ``sequence`` with ``same`` or ``within`` are tried for each shared value and each
window, windows that were used not again; every solution counts, and together they are the evidence.
State is bounded: a search that would take too long stops and says so.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from diagnose.engine.conditions_event import enough, related, select_events, select_facts
from diagnose.engine.conditions_population import select_members
from diagnose.engine.joins import is_fixed, kinds_of, pended, relates, sharing_leaves
from diagnose.engine.records import Fired, Record, identities, witness, witnesses
from diagnose.engine.schema import (
    AcrossCondition,
    All,
    AnyOf,
    Condition,
    EventCondition,
    FactCondition,
    Leaf,
    Quantity,
    RuleCondition,
    leaves,
)
from diagnose.engine.schema import Sequence as Ordered
from diagnose.engine.scope import WIDE, Narrowing, Scope, Window
from diagnose.engine.selection import Pick, Selection, united
from diagnose.engine.windows import lines, starts, timeline
from diagnose.facts.case import Case
from diagnose.model.event import Event

if TYPE_CHECKING:
    from diagnose.engine.conditions_series import SeriesHit

BUDGET = 200_000
"""Records, windows and tries that one condition may cost for one group or finding."""

TOTAL_BUDGET = 2_000_000
"""The same for all groups or findings of one rule together."""

ASIDE_LIMIT = 20
"""Records kept of a member that is the same for all values of ``by``."""

NOBODY = object()
"""A value that no record has: the members of an ``any`` that share it are left out."""

Several = All | Ordered


@dataclass(slots=True)
class Selector:
    """Evaluates conditions of one rule.

    Args:
        case: The evidence.
        fired: Gives the findings of another rule.
        joined: Gives whom the finding speaks of, by kind, where a condition is held against one.
        given: Records of a finding by their ``as`` names.
        spent: Work done for the condition at hand, against ``BUDGET``.
        total: Work done before, against ``TOTAL_BUDGET``.
        cut: A budget ran out: there may be more solutions.
    """

    case: Case
    fired: Callable[[str], Sequence[Fired]]
    joined: Callable[[str], Sequence[Any]] | None = None
    given: dict[str, list[Record]] = field(default_factory=dict)
    spent: int = 0
    total: int = 0
    cut: bool = False
    series: dict[int, "SeriesHit"] = field(default_factory=dict)
    _records: dict[int, list[Record]] = field(default_factory=dict)
    _fixed: dict[int, Selection | None] = field(default_factory=dict)
    _aside: dict[int, Selection | None] = field(default_factory=dict)
    _independent: bool = True
    _narrowing: Narrowing = field(init=False)

    def __post_init__(self) -> None:
        self._narrowing = Narrowing(self.case)

    def select(self, condition: Condition, scope: Scope = WIDE) -> Selection | None:
        """Return what satisfies a condition that stands at the top of a key."""
        if self.joined is None or scope.after or not is_fixed(condition):
            return united(self.solutions(condition, scope))
        if id(condition) not in self._fixed:
            self._fixed[id(condition)] = united(self.solutions(condition, scope))
        return self._fixed[id(condition)]

    def solutions(self, condition: Condition, scope: Scope = WIDE) -> list[Selection]:
        """Return each solution by itself, one for each shared value and window."""
        self.total += self.spent
        self.spent = 0
        self._independent = not relates(condition)
        if self.joined is not None and kinds_of(condition):
            condition = All(members=(condition,))
        if isinstance(condition, All | Ordered):
            return list(self._solutions(condition, scope))
        found = self._select(condition, scope)
        return [] if found is None else [found]

    def records(self, leaf: Leaf) -> list[Record]:
        """Return all records a condition may select, whatever the scope."""
        found = self._records.get(id(leaf))
        if found is None:
            found = self._records[id(leaf)] = self._find(leaf)
        return found

    def values(self, condition: Condition, kind: str) -> tuple[list[Any], bool]:
        """Return the values of a kind that group a condition, and if some records lack one."""
        if isinstance(condition, All | Ordered):
            anchor = self._anchor(condition, kind)
            return ([], True) if anchor is None else self.values(condition.members[anchor], kind)
        if isinstance(condition, AnyOf):
            every = [self.values(member, kind) for member in condition.members]
            values = dict.fromkeys(value for found, _ in every for value in found)
            return list(values), any(lacking for _, lacking in every)
        parts = self._narrowing.partition(self.records(condition), kind)
        return list(parts.by_value), bool(parts.lacking)

    def _anchor(self, condition: Several, kind: str) -> int | None:
        """Return the first member whose records have values of a kind: it makes the groups."""
        for place, member in enumerate(condition.members):
            for leaf in leaves(member):
                if self._narrowing.partition(self.records(leaf), kind).by_value:
                    return place
        return None

    def _grouped(self, condition: Several, scope: Scope) -> tuple[Scope, ...]:
        """Return the scopes of the members: one is held to the group, ``same`` joins others."""
        if scope.group is None:
            return (scope,) * len(condition.members)
        anchor = self._anchor(condition, scope.group[0])
        free = replace(scope, group=None)
        return tuple(scope if place == anchor else free for place in range(len(condition.members)))

    def _find(self, leaf: Leaf) -> list[Record]:
        if isinstance(leaf, EventCondition):
            return select_events(leaf, self.case)
        if isinstance(leaf, FactCondition):
            return select_facts(leaf, self.case)
        if isinstance(leaf, AcrossCondition):
            return select_members(leaf, self.case)
        if isinstance(leaf, RuleCondition):
            return list(self.fired(leaf.rule))
        if not self.case.series(leaf.metric):
            return []
        from diagnose.engine.conditions_series import select_series

        hit = select_series(leaf, self.case)
        if hit is None:
            return []
        self.series[id(leaf)] = hit
        return list(hit.members)

    def _named(self, name: str) -> Iterable[Record]:
        return self.given.get(name, ())

    def _select(self, condition: Condition, scope: Scope) -> Selection | None:
        if isinstance(condition, All | Ordered):
            return united(self._solutions(condition, scope))
        if isinstance(condition, AnyOf):
            return united(
                found
                for member in condition.members
                if (found := self._select(member, pended(member, scope))) is not None
            )
        left = self._left(condition, scope)
        if not enough(_quantity(condition), left, self.case):
            return None
        return self._noted(Selection((Pick(condition, tuple(left)),)))

    def _noted(self, selection: Selection) -> Selection:
        """Remember the records by name, for ``same_as`` in later members."""
        if self.joined is None:
            for pick in selection.picks:
                if pick.leaf.name is not None:
                    self.given[pick.leaf.name] = list(pick.records)
        return selection

    def _left(self, leaf: Leaf, scope: Scope) -> list[Record]:
        records = self.records(leaf)
        if not records:
            return []
        left = self._narrowing.narrow(records, scope)
        self.spent += len(left) * (1 + 3 * len(scope.after))  # comparing times costs more
        if scope.after:
            left = self._narrowing.following(left, scope)
        where = leaf.where if isinstance(leaf, EventCondition | FactCondition) else ()
        if any(test.relates for _, test in where):
            return [one for one in left if related(one, where, self.case, self._named)]
        return left

    def _solutions(self, condition: Several, scope: Scope) -> Iterator[Selection]:
        scopes = self._grouped(condition, scope)
        joins = self._joins_of(condition)
        for joint in self._split(condition.members, scopes, joins):
            yield from self._in_windows(condition, joint)

    def _joins_of(self, condition: Several) -> list[tuple[str, int]]:
        """Return each kind of shared value with the last member that shares it."""
        joins: dict[str, int] = {}
        for place, member in enumerate(condition.members):
            if place or self.joined is not None:
                joins.update((kind, place) for kind in kinds_of(member))
        if condition.within is not None and condition.within.kind in ("step", "attempt"):
            joins[condition.within.kind] = len(condition.members) - 1
        return list(joins.items())

    def _split(
        self,
        members: Sequence[Condition],
        scopes: tuple[Scope, ...],
        joins: Sequence[tuple[str, int]],
    ) -> Iterator[tuple[Scope, ...]]:
        """Yield the scopes of the members for each combination of values they may share."""
        if not joins:
            yield scopes
            return
        (kind, last), *rest = joins
        optional = isinstance(members[last], AnyOf) and members[last].same != kind
        for value in self._shared_values(members, scopes, kind, last):
            if self._exhausted:
                return
            narrowed = [scope.with_key(kind, value) for scope in scopes[: last + 1]]
            if optional:
                narrowed[last] = scopes[last].with_pending(kind, value)
            yield from self._split(members, (*narrowed, *scopes[last + 1 :]), rest)
        if optional:
            unjoined = scopes[last].with_pending(kind, NOBODY)
            yield from self._split(members, (*scopes[:last], unjoined, *scopes[last + 1 :]), rest)

    def _shared_values(
        self, members: Sequence[Condition], scopes: Sequence[Scope], kind: str, last: int
    ) -> list[Any]:
        wild = kind == "communicator"
        if self.joined is not None and not wild and replace(scopes[last], after=()) == WIDE:
            parts = [
                self._narrowing.partition(self.records(leaf), kind).by_value
                for leaf in sharing_leaves(members[last], kind)
            ]
            return [value for value in self.joined(kind) if any(value in part for part in parts)]
        own = [
            scope.group for scope in scopes[: last + 1] if scope.group and scope.group[0] == kind
        ]
        if own:
            return [value for _, value in own if value is not None]
        values: dict[Any, None] = {}
        held = [place for place in range(last) if scopes[place].group is not None]
        for place in range(last + 1) if wild else held or [last]:
            for leaf in sharing_leaves(members[place], kind if place == last else None):
                records = self._narrowing.narrow(self.records(leaf), scopes[place])
                self.spent += len(records)
                for record in records:
                    values.update(dict.fromkeys(identities(record, kind, self.case)))
        if self.joined is not None and kind not in ("step", "attempt"):
            mine = self.joined(kind)
            if wild and not mine:
                return [None]
            kept = [value for value in values if value in mine]
            return kept or ([mine[0]] if wild else [])
        return list(values) or ([None] if wild else [])

    def _in_windows(self, condition: Several, scopes: tuple[Scope, ...]) -> Iterator[Selection]:
        within = condition.within
        if within is None or within.kind in ("step", "attempt"):
            found = self._together(condition, scopes)
            if found is not None:
                yield found
            return
        pools = [self._events(member, scope) for member, scope in _zip(condition, scopes)]
        events = {id(event): event for pool in pools for event in pool}
        by_line = within.kind == "lines"
        for places in lines(events.values()) if by_line else timeline(events.values(), self.case):
            used = float("-inf")
            for low in starts(pools, places, within.length):
                if low <= used or self._exhausted:
                    continue
                self.spent += 1
                window = Window(places, low, low + within.length, by_line)
                narrowed = tuple(scope.in_window(window) for scope in scopes)
                found = self._together(condition, narrowed)
                if found is not None:
                    yield found
                    used = _last_place(found, places)

    def _together(self, condition: Several, scopes: tuple[Scope, ...]) -> Selection | None:
        """Return one selection of every member, for a sequence in order."""
        if self.joined is None and not self._independent:
            for leaf in leaves(condition):
                self.given.pop(leaf.name or "", None)
        if isinstance(condition, Ordered):
            return self._chain(list(_zip(condition, scopes)), ())
        picks: list[Pick] = []
        grouped = any(scope.group is not None for scope in scopes)
        for member, scope in _zip(condition, scopes):
            aside = grouped and scope == WIDE and not relates(member)
            found = self._beside(member) if aside else self._select(member, scope)
            if found is None:
                return None
            picks.extend(found.picks)
        return Selection(tuple(picks))

    def _beside(self, member: Condition) -> Selection | None:
        """Return what a member selects that is the same for every group, the first of it."""
        if id(member) not in self._aside:
            found = self._select(member, WIDE)
            picks = found.picks if found is not None else ()
            self._aside[id(member)] = found and Selection(
                tuple(Pick(pick.leaf, pick.records[:ASIDE_LIMIT]) for pick in picks)
            )
        found = self._aside[id(member)]
        return found and self._noted(found)

    def _chain(
        self, members: Sequence[tuple[Condition, Scope]], after: tuple[Event, ...]
    ) -> Selection | None:
        """Return the first way to satisfy the members one after the other."""
        (member, scope), *rest = members
        for option in self._options(member, scope.following(after) if after else scope):
            if self._exhausted:
                return None
            self.spent += 1
            self._noted(option)
            if not rest:
                return option
            last = tuple(event for record in option.records for event in witnesses(record))
            following = self._chain(rest, last) if last else None
            if following is not None:
                return Selection((*option.picks, *following.picks))
        return None

    def _options(self, member: Condition, scope: Scope) -> Iterator[Selection]:
        """Yield the ways to satisfy one member of a sequence, the earliest first."""
        if isinstance(member, AnyOf):
            for inner in member.members:
                yield from self._options(inner, pended(inner, scope))
            return
        if not isinstance(member, EventCondition | FactCondition):
            found = self._select(member, scope)
            if found is not None:
                yield found
            return
        records = sorted(self._left(member, scope), key=self._when)
        quantity = member.quantity
        if not quantity:
            for record in _earliest(records) if self._independent else records:
                yield Selection((Pick(member, (record,)),))
        elif not quantity.only_lower_bounds:
            if enough(quantity, records, self.case):
                yield Selection((Pick(member, tuple(records)),))
        else:
            length = self._fewest(quantity, records)
            if length:
                yield Selection((Pick(member, tuple(records[:length])),))

    def _fewest(self, quantity: Quantity, records: Sequence[Record]) -> int:
        """Return how many of the earliest records are enough; 0 if all are not."""
        if not enough(quantity, records, self.case):
            return 0
        low, high = 1, len(records)
        while low < high:
            middle = (low + high) // 2
            if enough(quantity, records[:middle], self.case):
                high = middle
            else:
                low = middle + 1
        return low

    def _events(self, member: Condition, scope: Scope) -> list[Event]:
        found: list[Event] = []
        for leaf in leaves(member):
            narrowed = self._narrowing.narrow(self.records(leaf), scope)
            found.extend(event for one in narrowed for event in witnesses(one))
        return found

    def _when(self, record: Record) -> tuple[float, str, int]:
        event = witness(record)
        if event is None:
            return float("inf"), "", 0
        instant = self.case.clocks.of(event)
        return instant.seconds if instant else float("inf"), event.file, event.line

    @property
    def _exhausted(self) -> bool:
        if self.spent > BUDGET or self.total > TOTAL_BUDGET:
            self.cut = True
            return True
        return False


def _earliest(records: Iterable[Record]) -> list[Record]:
    """Return each writer's first record: what follows a later one follows it as well."""
    first: dict[Any, Record] = {}
    for record in records:
        event = witness(record)
        writer = (event.file, event.attempt, event.rank, event.host) if event else id(record)
        first.setdefault(writer, record)
    return list(first.values())


def _quantity(leaf: Leaf) -> Quantity:
    if isinstance(leaf, EventCondition | FactCondition):
        return leaf.quantity
    return Quantity()


def _zip(condition: Several, scopes: tuple[Scope, ...]) -> Iterator[tuple[Condition, Scope]]:
    return zip(condition.members, scopes, strict=True)


def _last_place(selection: Selection, places: dict[int, float]) -> float:
    events = (event for record in selection.records for event in witnesses(record))
    return max((places.get(id(event), float("-inf")) for event in events), default=float("inf"))
