"""Whether the logs hold what a condition looks at, fault or no fault.

An error that is not there proves something only where its writer was heard: a rule on NCCL errors
had input if any record of NCCL was found. Text that a rule selects itself is input only when found:
that some text was read does not mean that the right program wrote it.
"""

from collections.abc import Callable, Collection

from diagnose.engine.schema import (
    AcrossCondition,
    All,
    AnyOf,
    Condition,
    EventCondition,
    FactCondition,
    RuleCondition,
    Sequence,
)
from diagnose.facts.case import Case
from diagnose.parsers import FAMILIES

MATCHING_TEXT = "matching text"
"""What a rule lacks whose own text selection found nothing."""


def possible(condition: Condition, case: Case) -> bool:
    """Return whether a condition could hold, by the names of what was found alone."""
    if isinstance(condition, AnyOf):
        return any(possible(member, case) for member in condition.members)
    if isinstance(condition, All | Sequence):
        return all(possible(member, case) for member in condition.members)
    inner = condition.of if isinstance(condition, AcrossCondition) else condition
    if isinstance(inner, EventCondition):
        return bool(case.named(inner.event))
    if isinstance(inner, FactCondition):
        return bool(case.facts_named(inner.fact))
    if isinstance(inner, RuleCondition):
        return True
    return bool(case.series(inner.metric))


def lacking(
    condition: Condition,
    case: Case,
    families: Collection[str],
    of_rule: Callable[[str], tuple[str, ...]],
) -> tuple[str, ...]:
    """Return what the logs do not hold of what a condition looks at; empty if it had input.

    Args:
        condition: The condition.
        case: The evidence.
        families: First parts of the names of all events, such as ``nccl``.
        of_rule: Gives what another rule lacks.
    """
    if isinstance(condition, AnyOf | All | Sequence):
        every = [lacking(member, case, families, of_rule) for member in condition.members]
        if isinstance(condition, AnyOf) and not all(every):
            return ()
        return tuple(dict.fromkeys(name for one in every for name in one))
    inner = condition.of if isinstance(condition, AcrossCondition) else condition
    if isinstance(inner, EventCondition):
        family = inner.event.partition(".")[0]
        if inner.form != "event":
            return () if case.named(inner.event) else (MATCHING_TEXT,)
        return () if family in families else (FAMILIES.get(family, f"{family} records"),)
    if isinstance(inner, FactCondition):
        return () if case.facts_named(inner.fact) else ("printed settings",)
    if isinstance(inner, RuleCondition):
        return of_rule(inner.rule)
    return () if case.series(inner.metric) else (f"{inner.metric} of steps",)
