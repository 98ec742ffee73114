"""What must have been found before a rule can speak: enough to pass over most rules unread."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from diagnose.engine.schema import (
    AcrossCondition,
    AnyOf,
    Condition,
    EventCondition,
    FactCondition,
    Rule,
    RuleCondition,
    Several,
)


class Inputs(NamedTuple):
    """What a condition looks at.

    Args:
        kind: ``text`` is an event of lines that the rule selects itself.
        name: Of the event, fact, metric or rule.
        members: Of ``any`` and ``all``.
    """

    kind: Literal["event", "text", "fact", "series", "rule", "any", "all"]
    name: str = ""
    members: tuple["Inputs", ...] = ()


class Premise(NamedTuple):
    """What is asked of a case before a rule itself is asked.

    Args:
        id: Of the rule.
        stage: Of its cause.
        applies: Versions, framework and engine it is for.
        inputs: What it looks at.
        selects: Whether it selects lines by text itself.
    """

    id: str
    stage: str
    applies: Mapping[str, str]
    inputs: Inputs
    selects: bool


def premise_of(rule: Rule) -> Premise:
    """Return the premise of a rule."""
    return Premise(rule.id, rule.stage, rule.applies, _inputs(rule.match), bool(rule.texts))


def known_premise(data: Any) -> Premise:
    """Return a premise from the lists that JSON makes of one."""
    name, stage, applies, inputs, selects = data
    return Premise(name, stage, applies, _known_inputs(*inputs), selects)


def _inputs(condition: Condition) -> Inputs:
    if isinstance(condition, Several):
        kind: Literal["any", "all"] = "any" if isinstance(condition, AnyOf) else "all"
        return Inputs(kind, members=tuple(map(_inputs, condition.members)))
    inner = condition.of if isinstance(condition, AcrossCondition) else condition
    if isinstance(inner, EventCondition):
        return Inputs("event" if inner.form == "event" else "text", inner.event)
    if isinstance(inner, FactCondition):
        return Inputs("fact", inner.fact)
    if isinstance(inner, RuleCondition):
        return Inputs("rule", inner.rule)
    return Inputs("series", inner.metric)


def _known_inputs(kind: Any, name: str, members: list[Any]) -> Inputs:
    return Inputs(kind, name, tuple(_known_inputs(*member) for member in members))
