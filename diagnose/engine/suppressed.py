"""Which findings a team expects, and so are silenced."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from diagnose.engine.records import Match
from diagnose.engine.rule_set import RuleSet
from diagnose.model.event import ATTRIBUTES, Event
from diagnose.model.report import Culprit


def suppression(rules: RuleSet, today: date) -> Callable[[Match, Culprit], dict[str, str] | None]:
    """Return a function that gives the suppression of a finding as the report shows it, or None.

    Args:
        rules: With the suppressions of all folders.
        today: The date.
    """

    def of(match: Match, culprit: Culprit) -> dict[str, str] | None:
        def lookup(name: str) -> Sequence[Any]:
            named = getattr(culprit, f"{name}s", None)
            if named:
                return list(named)
            return [event[name] for event in match.events if _has(event, name)]

        for entry in rules.suppressions:
            rule = rules.aliases.get(entry.rule, entry.rule)
            if rule == match.rule.id and entry.covers(lookup, today):
                return entry.as_report()
        return None

    return of


def _has(event: Event, name: str) -> bool:
    return name in event.fields or name in ATTRIBUTES
