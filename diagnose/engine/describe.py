"""Conditions in words, for people who ask what a rule looks for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from diagnose.engine.compare import Comparison, FieldRef, Test
from diagnose.engine.schema import (
    AcrossCondition,
    All,
    AnyOf,
    Condition,
    EventCondition,
    Explain,
    FactCondition,
    Leaf,
    Quantity,
    RuleCondition,
    Sequence,
    SeriesCondition,
    Where,
    Within,
)
from diagnose.filters import duration

_SIGNS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<", "equals": "="}
_WORDS = {
    "contains": "contains",
    "startswith": "begins with",
    "regex": "matches",
    "cidr": "lies in",
    "same_as": "is that of",
}


@dataclass(frozen=True, slots=True)
class Clause:
    """One line of a condition in words.

    Args:
        depth: How deep it stands.
        text: What it asks for.
        condition: What it describes.
    """

    depth: int
    text: str
    condition: Condition


def clauses(condition: Condition, depth: int = 0) -> Iterator[Clause]:
    """Yield a condition as lines, each member below what holds it."""
    if isinstance(condition, All | AnyOf | Sequence):
        yield Clause(depth, _several(condition), condition)
        for member in condition.members:
            yield from clauses(member, depth + 1)
    else:
        yield Clause(depth, leaf(condition), condition)


def leaf(condition: Leaf) -> str:
    """Return a single condition in words.

    >>> from diagnose.engine.compare import Comparison, Test
    >>> where = (("growth", Comparison((Test("gte", 120),))),)
    >>> leaf(EventCondition(event="ib.counter_grew", where=where))
    'event ib.counter_grew with growth >= 120'
    """
    return _asked(condition) + (f", of the same {condition.same}" if condition.same else "")


def edge(explain: Explain) -> str:
    """Return an edge of the cascade graph in words."""
    parts = [f"same {explain.scope}"] if explain.scope != "job" else ["anywhere in the job"]
    if explain.within is not None:
        parts.append(f"within {duration(explain.within)}")
    if explain.before:
        parts.append(f"logged up to {duration(explain.before)} after it")
    return f"{explain.target} ({', '.join(parts)})"


def comparison(bound: Comparison, name: str) -> str:
    """Return what a value must be, with its name."""
    return " and ".join(_test(test, name) for test in bound.tests)


def _several(condition: All | AnyOf | Sequence) -> str:
    if isinstance(condition, AnyOf):
        text = "any of"
    else:
        text = "one after the other" if isinstance(condition, Sequence) else "all of"
        text += _within(condition.within)
    return text + (f", of the same {condition.same}" if condition.same else "")


def _within(within: Within | None) -> str:
    if within is None:
        return ""
    if within.kind in ("step", "attempt"):
        return f" in the same {within.kind}"
    if within.kind == "lines":
        return f" within {within.length:.0f} lines"
    return f" within {duration(within.length)}"


def _asked(condition: Leaf) -> str:
    match condition:
        case EventCondition(form="text"):
            return "line with " + " and ".join(map(repr, condition.text)) + _filtered(condition)
        case EventCondition(form="regex"):
            return f"line that matches {condition.regex}" + _filtered(condition)
        case EventCondition():
            return f"event {condition.event}" + _filtered(condition)
        case FactCondition():
            return f"setting {condition.fact}" + _filtered(condition)
        case AcrossCondition(of=of, across=across):
            asked = _asked(of)
            if condition.missing is not None:
                return f"{across} that lack {asked}: {comparison(condition.missing, 'number')}"
            bound = condition.minority
            rest = f": {comparison(bound, 'number')}" if bound is not None else ""
            return f"{across} that differ from at least 75 % of the others in {asked}{rest}"
        case SeriesCondition():
            return _series(condition)
        case RuleCondition():
            return f"rule {condition.rule} has fired"


def _filtered(condition: EventCondition | FactCondition) -> str:
    return _where(condition.where) + _quantity(condition.quantity)


def _where(where: Where) -> str:
    said = [comparison(bound, name) for name, bound in where]
    return f" with {', '.join(said)}" if said else ""


def _quantity(quantity: Quantity) -> str:
    parts = []
    if quantity.count is not None:
        parts.append(comparison(quantity.count, "count"))
    if quantity.distinct is not None:
        name = f"different values of {quantity.distinct.field}"
        parts.append(comparison(quantity.distinct.bound, name))
    if quantity.rate is not None:
        name = f"records in {duration(quantity.rate.per)}"
        parts.append(comparison(quantity.rate.bound, name))
    return "".join(f"; {part}" for part in parts)


def _series(condition: SeriesCondition) -> str:
    of = "" if condition.by == "job" else f" of each {condition.by}"
    over = f" over the last {condition.last} steps" if condition.last is not None else ""
    bound = comparison(condition.bound, f"{condition.stat} of {condition.metric}{of}{over}")
    if condition.at is not None:
        bound += f", before and after {_asked(condition.at)}"
    if condition.fraction is not None:
        bound += f", {comparison(condition.fraction, 'share of windows')}"
    return bound


def _test(test: Test, name: str) -> str:
    operand = test.operand
    if test.operator == "exists":
        return f"{name} known" if operand else f"{name} unknown"
    if test.operator == "in":
        return f"{name} one of {', '.join(map(str, operand))}"
    if test.operator == "not":
        if isinstance(operand, Comparison):
            return f"not ({comparison(operand, name)})"
        return f"{name} not {operand}"
    if test.operator in _SIGNS:
        return f"{name} {_SIGNS[test.operator]} {_right(operand)}"
    return f"{name} {_WORDS[test.operator]} {_right(operand)}"


def _right(operand: Any) -> str:
    if isinstance(operand, FieldRef):
        return operand.field if operand.times == 1.0 else f"{operand.times:g} x {operand.field}"
    return f"{operand:g}" if isinstance(operand, float) else str(operand)
