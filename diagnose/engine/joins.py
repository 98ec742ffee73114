"""How the members of a condition depend on one another: ``same`` and ``same_as``."""

from collections.abc import Iterator

from diagnose.engine.schema import (
    AnyOf,
    Condition,
    EventCondition,
    FactCondition,
    Join,
    Leaf,
    leaves,
    walk,
)
from diagnose.engine.scope import Scope


def kinds_of(condition: Condition) -> tuple[Join, ...]:
    """Return the kinds of ``same`` that a member says, or for an ``any`` its members do."""
    own = (condition.same,) if condition.same is not None else ()
    if isinstance(condition, AnyOf):
        inner = (kind for member in condition.members for kind in kinds_of(member))
        return tuple(dict.fromkeys((*own, *inner)))
    return own


def sharing_leaves(member: Condition, kind: str | None) -> Iterator[Leaf]:
    """Yield the conditions of a member; of an ``any`` only those that say they share the kind."""
    if kind is None or not isinstance(member, AnyOf) or member.same == kind:
        yield from leaves(member)
        return
    for inner in member.members:
        if kind in kinds_of(inner):
            yield from sharing_leaves(inner, kind)


def relates(condition: Condition) -> bool:
    """Return whether a condition compares with what earlier members selected."""
    wheres = (
        leaf.where for leaf in leaves(condition) if isinstance(leaf, EventCondition | FactCondition)
    )
    return any(test.relates for where in wheres for _, test in where)


def is_fixed(condition: Condition) -> bool:
    """Return whether a condition holds or fails alike for all findings."""
    return not relates(condition) and all(part.same is None for part in walk(condition))


def pended(member: Condition, scope: Scope) -> Scope:
    """Return the scope of a member of an ``any``: it shares what it says it shares."""
    mine = kinds_of(member)
    if isinstance(member, AnyOf):
        return scope
    for kind, value in scope.pending:
        if kind in mine:
            scope = scope.with_key(kind, value)
    return scope
