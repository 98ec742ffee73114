"""Holds every rule to a case: stage by stage, the rules that others ask for first.

What comes out are proposals; the verdict stage decides what is cause and what is consequence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diagnose.engine import expressions
from diagnose.engine.applies import allows
from diagnose.engine.availability import lacking, possible
from diagnose.engine.conditions import Selector
from diagnose.engine.premise import Premise
from diagnose.engine.records import (
    Adjusted,
    Fired,
    Match,
    count_of,
    guilty,
    witnesses,
)
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.schema import Adjustment, Condition, Rule, leaves
from diagnose.engine.scope import Scope
from diagnose.engine.selection import Selection
from diagnose.facts.case import Case
from diagnose.model.event import Event
from diagnose.model.report import Culprit
from diagnose.model.taxonomy import stage_order

if TYPE_CHECKING:
    pass

EVIDENCE_LIMIT = 50
"""Events that one match keeps."""

EVIDENCE_SHOWN = 12
"""Events of a finding that a report cites, the first ones."""

GROUP_LIMIT = 10_000
"""Values of ``by`` that one rule is evaluated for."""

LATEST = 64
"""Last events of a finding that must all lie before what clears it."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What one rule answered.

    Args:
        rule: What was asked before the rule itself.
        had_input: Whether the logs hold what it looks at, fault or no fault.
        missing_inputs: What they do not hold.
        matches: Its findings.
        truncated: Why there may be more, if the search was cut short.
    """

    rule: Premise
    had_input: bool
    missing_inputs: tuple[str, ...] = ()
    matches: tuple[Match, ...] = ()
    truncated: str | None = None


def match_rules(rules: RuleSet, case: Case) -> list[RuleOutcome]:
    """Return the outcome of every rule, in the order of stages and then of the rule set."""
    matcher = _Matcher(rules, case)
    premises = map(rules.premise, rules.rules)
    ordered = sorted(premises, key=lambda premise: stage_order(premise.stage))
    return [matcher.outcome(premise.id) for premise in ordered]


class _Matcher:
    def __init__(self, rules: RuleSet, case: Case) -> None:
        self.rules = rules
        self.case = case
        self.names = case.names()
        heard = {name.partition(".")[0] for name in self.names}
        # Step lines are a training log, though they give numbers and no events.
        self.families = frozenset(heard | {"train"} if case.reading.points else heard)
        self.done: dict[str, RuleOutcome] = {}
        self.open: set[str] = set()

    def outcome(self, identifier: str) -> RuleOutcome:
        """Return what a rule answers, worked out once."""
        if identifier not in self.done:
            self.open.add(identifier)
            self.done[identifier] = self._ask(self.rules.premise(identifier))
            self.open.discard(identifier)
        return self.done[identifier]

    def fired(self, name: str) -> list[Fired]:
        """Return the findings of another rule; none while it is being asked itself."""
        identifier = self.rules.id_of(name)
        if identifier is None or identifier in self.open:
            return []
        return [Fired(match) for match in self.outcome(identifier).matches]

    def _ask(self, premise: Premise) -> RuleOutcome:
        reason = excluded(premise.applies, self.case)
        if reason is not None:
            return RuleOutcome(premise, False, (reason,))
        if not possible(premise.inputs, self.case):
            missing = self._lacking(premise)
            return RuleOutcome(premise, not missing, missing)
        rule = self.rules.rules[premise.id]
        selector = Selector(self.case, self.fired)
        matches: list[Match] = []
        truncated = None
        groups = _groups(rule, selector)
        if len(groups) > GROUP_LIMIT:
            truncated = (
                f"{rule.id}: only the first {GROUP_LIMIT} values of '{rule.by}' were looked at"
            )
        context = Selector(self.case, self.fired, joined=_nobody)
        for group in groups[:GROUP_LIMIT]:
            scope = Scope() if rule.by == "job" else Scope(group=(rule.by, group))
            selection = selector.select(rule.match, scope)
            if selection is not None:
                match = self._match(rule, group, selection, selector, context)
                if match is not None:
                    matches.append(match)
            selector.given.clear()
        if selector.cut or context.cut:
            truncated = f"{rule.id}: too many combinations; there may be more than was found"
        missing = () if matches else self._lacking(premise)
        return RuleOutcome(premise, not missing, missing, tuple(matches), truncated)

    def _lacking(self, premise: Premise) -> tuple[str, ...]:
        return lacking(premise.inputs, self.case, self.families, self._lacking_of)

    def _lacking_of(self, name: str) -> tuple[str, ...]:
        identifier = self.rules.id_of(name)
        if identifier is None:
            return (f"rule {name}",)
        return () if identifier in self.open else self.outcome(identifier).missing_inputs

    def _match(
        self, rule: Rule, group: Any, selection: Selection, selector: Selector, context: Selector
    ) -> Match | None:
        case = self.case
        selection = _in_order(rule, selection)
        values = expressions.standard_values(rule, selection, selector, case)
        culprit, problems = expressions.culprit_of(rule, values)
        values["culprit"] = culprit
        lines = _lines(selection)
        _hold_against(context, selection, culprit, lines, case)
        if any(context.select(condition) is not None for condition in rule.unless):
            return None
        adjusted = [
            *_adjusted(rule.raises, 1, context),
            *_adjusted(rule.lowers, -1, context),
        ]
        confidence = rule.confidence + sum(entry.by for entry in adjusted)
        texts = expressions.texts(rule, values)
        own, failed = expressions.with_values(rule, values)
        return Match(
            rule=rule,
            group=group,
            events=_evidence(selection),
            count=sum(map(count_of, selection.records)),
            names={
                pick.leaf.name: list(pick.records) for pick in selection.picks if pick.leaf.name
            },
            culprit=culprit,
            confidence=round(min(1.0, max(0.0, confidence)), 4),
            title=texts.title,
            explanation=texts.explanation,
            missing=texts.missing,
            with_values=own,
            cleared=_cleared(rule.cleared_by, lines, context, case),
            series=values["series"] or None,
            onset=_onset(lines, case),
            adjusted=tuple(adjusted),
            problems=(*problems, *failed, *texts.problems),
        )


def excluded(applies: Mapping[str, str], case: Case) -> str | None:
    """Return what a rule is for where that is not this job; the unknown counts as fitting."""
    for name, wanted in applies.items():
        if name in ("framework", "engine"):
            have = case.job.framework if name == "framework" else case.job.engine
            fits = have is None or have.lower() == wanted.lower()
        else:
            have = case.job.version(name)
            fits = allows(wanted, have)
        if not fits:
            return f"{name} {wanted} (found {have})"
    return None


def _groups(rule: Rule, selector: Selector) -> list[Any]:
    """Return the values of ``by``; None for the records that lack it."""
    if rule.by == "job":
        return [None]
    values, some_lack = selector.values(rule.match, rule.by)
    return [*values, None] if some_lack or not values else values


def _in_order(rule: Rule, selection: Selection) -> Selection:
    """Return the selection in the order of the conditions, records in the order of the logs."""
    places = {id(leaf): place for place, leaf in enumerate(leaves(rule.match))}
    return Selection(tuple(sorted(selection.picks, key=lambda pick: places[id(pick.leaf)])))


def _nobody(_kind: str) -> Sequence[Any]:
    return ()


def _hold_against(
    context: Selector, selection: Selection, culprit: Culprit, lines: list[Event], case: Case
) -> None:
    """Let ``same`` in the rule's other conditions join them to this finding."""
    known: dict[str, tuple[Any, ...]] = {}

    def joined(kind: str) -> Sequence[Any]:
        if kind not in known:
            known[kind] = guilty(culprit, lines, kind, case)
        return known[kind]

    context.joined = joined
    context.given = {
        pick.leaf.name: list(pick.records) for pick in selection.picks if pick.leaf.name
    }


def _adjusted(entries: Iterable[Adjustment], sign: int, context: Selector) -> list[Adjusted]:
    found: list[Adjusted] = []
    for entry in entries:
        selection = context.select(entry.when)
        if selection is not None:
            events = tuple(_lines(selection)[:3])
            found.append(Adjusted(sign * entry.by, events))
    return found


def _lines(selection: Selection) -> list[Event]:
    """Return all lines that show a selection, each once."""
    events = {id(e): e for record in selection.records for e in witnesses(record)}
    return list(events.values())


def _evidence(selection: Selection) -> tuple[Event, ...]:
    """Return lines of every condition; first those that a report cites, none without its share."""
    pools = [_lines(Selection((pick,))) for pick in selection.picks]
    kept = _shared(pools, EVIDENCE_LIMIT)
    cited = {id(event) for event in _shared(pools, EVIDENCE_SHOWN)}
    return tuple(sorted(kept, key=lambda event: id(event) not in cited))


def _shared(pools: list[list[Event]], limit: int) -> list[Event]:
    """Return the first lines of every condition, as many of each as the limit allows."""
    share = max(1, limit // max(1, len(pools)))
    events = {id(event): event for pool in pools for event in pool[:share]}
    for pool in pools:
        for event in pool[share:]:
            if len(events) >= limit:
                break
            events.setdefault(id(event), event)
    return list(events.values())[:limit]


def _onset(events: Iterable[Event], case: Case) -> Event | None:
    """Return the event that began first: of each file by its stamps, across files by the clocks."""
    by_file: dict[str, Event] = {}
    for event in events:
        known = by_file.setdefault(event.file, event)
        if event.onset is not None and (known.onset is None or event.onset < known.onset):
            by_file[event.file] = event
    return case.first_of(by_file.values())


def _cleared(
    by: Condition | str | None, events: list[Event], context: Selector, case: Case
) -> bool:
    """Return whether later evidence made a finding history."""
    if by is None or not events:
        return False
    # Evidence comes condition by condition; what clears it has to follow its last line.
    events = sorted(events, key=lambda event: event.line)
    if isinstance(by, str):
        last = {(event.file, event.rank): event for event in events}
        return all(case.progress_after(event) is True for event in _latest(last.values(), case))
    files = {event.file: event for event in events}
    scope = Scope(after=tuple(_latest(files.values(), case)))
    return context.select(by, scope) is not None


def _latest(events: Iterable[Event], case: Case) -> list[Event]:
    """Return the last events; those without a stamp count as last."""

    def when(event: Event) -> float:
        instant = case.clocks.of(event)
        return float("inf") if instant is None else instant.seconds

    return sorted(events, key=when)[-LATEST:]
