"""Why a rule spoke or did not: its conditions, one by one, held against what the logs hold."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from diagnose.engine.conditions import Selector
from diagnose.engine.conditions_event import select_events, select_facts
from diagnose.engine.describe import clauses, comparison
from diagnose.engine.match import RuleOutcome, excluded
from diagnose.engine.records import Fired, Record, field_of, witness
from diagnose.engine.schema import (
    AcrossCondition,
    All,
    AnyOf,
    Condition,
    EventCondition,
    FactCondition,
    Leaf,
    Rule,
    RuleCondition,
    SeriesCondition,
)
from diagnose.engine.schema import Sequence as Ordered
from diagnose.facts.case import Case
from diagnose.facts.series import evaluate
from diagnose.model.event import Event

VALUES = 3
"""Different values of a field that are told."""


@dataclass(frozen=True, slots=True)
class Held:
    """One line of a condition and what the logs say to it.

    Args:
        depth: How deep it stands.
        text: What it asks for.
        holds: Whether the logs satisfy it by itself.
        found: What was found, in words.
        place: ``file:line`` of the first record that was looked at, if any.
    """

    depth: int
    text: str
    holds: bool
    found: str
    place: str | None


@dataclass(frozen=True, slots=True)
class Account:
    """What became of one rule.

    Args:
        rule: The rule.
        excluded: What it is for, where that is not this job.
        conditions: Its ``match``.
        silencing: Each ``unless`` that the logs satisfy.
        matches: How many findings it made.
    """

    rule: Rule
    excluded: str | None
    conditions: tuple[Held, ...]
    silencing: tuple[tuple[Held, ...], ...]
    matches: int


def account(rule: Rule, case: Case, outcomes: Mapping[str, RuleOutcome]) -> Account:
    """Return why a rule spoke or did not.

    Args:
        rule: The rule.
        case: The evidence.
        outcomes: What every rule answered, by id.
    """

    def fired(name: str) -> Sequence[Fired]:
        outcome = outcomes.get(name)
        return [Fired(match) for match in outcome.matches] if outcome is not None else []

    def held(condition: Condition) -> tuple[Held, ...]:
        return tuple(_held(condition, Selector(case, fired)))

    silencing = [held(condition) for condition in rule.unless]
    return Account(
        rule=rule,
        excluded=excluded(rule.applies, case),
        conditions=held(rule.match),
        silencing=tuple(lines for lines in silencing if lines[0].holds),
        matches=len(outcomes[rule.id].matches),
    )


def _held(condition: Condition, selector: Selector) -> Iterator[Held]:
    for clause in clauses(condition):
        asked = clause.condition
        holds = selector.select(asked) is not None
        if isinstance(asked, All | AnyOf | Ordered):
            found, record = _together(asked, selector, holds), None
        else:
            found, record = _alone(asked, selector)
        event = witness(record) if record is not None else None
        place = _place(event) if event is not None else None
        yield Held(clause.depth, clause.text, holds, found, place)


def _place(event: Event) -> str:
    return f"{event.file}:{event.line}" if event.line else event.file


def _together(condition: All | AnyOf | Ordered, selector: Selector, holds: bool) -> str:
    """Return what is to be said where the members hold and the whole does not."""
    if holds or isinstance(condition, AnyOf):
        return ""
    each = all(selector.select(member) is not None for member in condition.members)
    return "each holds by itself, but not together" if each else ""


def _alone(condition: Leaf, selector: Selector) -> tuple[str, Record | None]:
    """Return what was found for a single condition, and the first record that was looked at."""
    case = selector.case
    match condition:
        case EventCondition():
            every: list[Record] = [*case.named(condition.event)]
            return _filtered(condition, every, select_events(condition, case), case)
        case FactCondition():
            every = [*case.facts_named(condition.fact)]
            return _filtered(condition, every, select_facts(condition, case), case)
        case SeriesCondition():
            return _of_series(condition, case), None
        case AcrossCondition() | RuleCondition():
            records = selector.records(condition)
            counted = "no" if not records else str(len(records))
            what = "members" if isinstance(condition, AcrossCondition) else "findings"
            return f"{counted} such {what}", next(iter(records), None)


def _filtered(
    condition: EventCondition | FactCondition,
    every: Sequence[Record],
    left: Sequence[Record],
    case: Case,
) -> tuple[str, Record | None]:
    if not every:
        return "the logs hold none", None
    if left:
        return _counted(len(left)), left[0]
    for name, bound in condition.where:
        values = [field_of(record, name, case) for record in every]
        if not bound.relates and not any(bound.holds(value) for value in values):
            wanted = comparison(bound, name)
            return f"{_counted(len(every))}, none with {wanted}: {_told(values)}", every[0]
    return f"{_counted(len(every))}, none passes", every[0]


def _counted(number: int) -> str:
    return "1 record" if number == 1 else f"{number:,} records"


def _told(values: Sequence[object]) -> str:
    """Return the commonest values with how often each came."""
    counts = Counter("unknown" if value is None else str(value)[:60] for value in values)
    said = [f"{value} ({count}x)" for value, count in counts.most_common(VALUES)]
    return ", ".join([*said, "..."] if len(counts) > VALUES else said)


def _of_series(condition: SeriesCondition, case: Case) -> str:
    if not case.series(condition.metric):
        return f"the logs hold no {condition.metric}"
    result = evaluate(
        case,
        condition.metric,
        by=condition.by,
        last=condition.last,
        skip=condition.skip,
        stat=condition.stat,
        window=condition.window,
    )
    if result is None or not result.groups:
        return f"too few points for {condition.stat}"
    shown = islice(result.groups.items(), VALUES)
    said = ", ".join(f"{key}: {value:.4g}" for key, value in shown)
    more = ", ..." if len(result.groups) > VALUES else ""
    return f"{condition.stat} is {said}{more}"
