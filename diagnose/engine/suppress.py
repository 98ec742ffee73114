"""Findings that a team expects: shown, marked, and counted for nothing."""

from collections.abc import Callable
from datetime import date

from diagnose.engine.load import RuleSet
from diagnose.engine.match import Match
from diagnose.model.event import Value
from diagnose.model.report import Culprit

KINDS = {"rank": "ranks", "host": "hosts", "gpu": "gpus", "nic": "nics", "file": "files"}


def suppressor(
    rules: RuleSet, today: date
) -> Callable[[Match, Culprit], dict[str, str] | None]:
    """Return a function that gives the suppression of a finding as the report shows it, if any.

    Args:
        rules: With the suppressions of all overlays.
        today: The date up to which a suppression must hold.
    """

    def suppressed(match: Match, culprit: Culprit) -> dict[str, str] | None:
        def lookup(name: str) -> list[Value]:
            if name in KINDS:
                return list(getattr(culprit, KINDS[name]))
            return [event[name] for event in match.events if name in event.fields]

        for entry in rules.suppressions:
            rule = rules.find(entry.rule)
            if rule is not None and rule.id == match.rule.id and entry.covers(lookup, today):
                return entry.as_report()
        return None

    return suppressed
