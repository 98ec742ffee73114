"""Fills the texts and expressions of a rule with what it matched."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diagnose import templates
from diagnose.engine.conditions import Selector
from diagnose.engine.records import Member, Record, View
from diagnose.engine.schema import CULPRITS, Rule, SeriesCondition, names
from diagnose.engine.selection import Selection
from diagnose.facts.case import Case
from diagnose.filters import UNKNOWN
from diagnose.model.event import Event, Fact
from diagnose.model.report import Culprit


class Nothing:
    """Stands for an event, fact or series that a finding does not have: every field is null."""

    __slots__ = ()

    def __getitem__(self, name: str) -> None:
        return None

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Any:
        return iter(())

    def __str__(self) -> str:
        return UNKNOWN


NOTHING = Nothing()


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one finding, and what went wrong with them."""

    title: str
    explanation: str
    missing: tuple[str, ...]
    problems: tuple[str, ...]


def standard_values(
    rule: Rule, selection: Selection, selector: Selector, case: Case
) -> dict[str, Any]:
    """Return what every template of a rule may name, ``culprit`` apart.

    Args:
        rule: The rule.
        selection: What it matched.
        selector: Knows the series behind members.
        case: Completes fields.
    """
    by_name: dict[str, list[Record]] = {name: [] for name in names(rule.match)}
    events: list[Event] = []
    facts: list[Record] = []
    series: Any = NOTHING
    for pick in selection.picks:
        if pick.leaf.name is not None:
            by_name[pick.leaf.name].extend(pick.records)
        events.extend(record for record in pick.records if isinstance(record, Event))
        if isinstance(pick.leaf, SeriesCondition):
            series = series or selector.series[id(pick.leaf)].view(pick.records) or NOTHING
        else:
            facts.extend(record for record in pick.records if isinstance(record, Fact | Member))
    values: dict[str, Any] = {
        name: [View(record, case) for record in records] for name, records in by_name.items()
    }
    values["events"] = [View(event, case) for event in events]
    values["event"] = values["events"][0] if events else NOTHING
    values["fact"] = View(facts[0], case) if facts else NOTHING
    values["series"] = series
    values["job"] = case.job.report
    values["logs"] = {
        "ranks": sorted(case.job.ranks_with_logs),
        "hosts": sorted(case.job.hosts_with_logs),
    }
    return values


def culprit_of(rule: Rule, values: Mapping[str, Any]) -> tuple[Culprit, list[str]]:
    """Return who is guilty by the rule's expressions, and what went wrong with them."""
    found, problems = _evaluated(rule.culprit, values)
    lists: dict[str, Any] = {kind: found.get(kind, []) for kind in CULPRITS}
    lists["ranks"] = sorted({rank for one in lists["ranks"] if (rank := _rank(one)) is not None})
    for kind in CULPRITS[1:]:
        lists[kind] = sorted({str(one) for one in lists[kind]})
    return Culprit(**lists), problems


def with_values(rule: Rule, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the rule's own values for its playbook, and what went wrong with them."""
    constants = {name: value for name, value in rule.values.items() if not isinstance(value, str)}
    texts = {name: value for name, value in rule.values.items() if isinstance(value, str)}
    found, problems = _evaluated(texts, values)
    lists = {
        name: value if isinstance(value, list) else [value] for name, value in constants.items()
    }
    return {**lists, **found}, problems


def texts(rule: Rule, values: Mapping[str, Any]) -> Texts:
    """Return the texts of a finding; one that cannot be filled names the rule and is reported."""
    problems: list[str] = []

    def fill(key: str, text: str, instead: str) -> str:
        try:
            return " ".join(templates.render(text, **values).split())
        except ValueError as error:
            problems.append(f"{key}: {error}")
            return instead

    title = fill("title", rule.title, rule.id)
    explanation = fill("explanation", rule.explanation, "") if rule.explanation else ""
    missing = tuple(text for entry in rule.missing if (text := fill("missing", entry, "")))
    return Texts(title, explanation, missing, tuple(problems))


def _evaluated(
    expressions: Mapping[str, str], values: Mapping[str, Any]
) -> tuple[dict[str, list[Any]], list[str]]:
    found: dict[str, list[Any]] = {}
    problems: list[str] = []
    for name, text in expressions.items():
        try:
            found[name] = templates.evaluate(text, **values)
        except ValueError as error:
            found[name] = []
            problems.append(f"{name}: {error}")
    return found, problems


def _rank(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
