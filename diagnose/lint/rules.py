"""Checks of single rules."""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import Any

from diagnose.engine.applies import allows, constraints
from diagnose.engine.load import RuleSet
from diagnose.engine.read_rule import STANDARD_NAMES
from diagnose.engine.reader import Mistake, Path, Reader, suggestion
from diagnose.engine.schema import EventCondition, Rule, event_conditions, names
from diagnose.errors import Problem
from diagnose.lint import templating
from diagnose.lint.cases import read_cases
from diagnose.lint.vocabulary import Vocabulary
from diagnose.model.event import Nature

_ADVICE = re.compile(r"(?i)\b(?:might|may|could)\s+be\s+(?:caused|due|a\b|asynchronously)")
"""Words with which programs guess."""

NEGATIVES = {"root": 2}
"""Tests a rule must stay silent in, by its role; one where the role is not named."""


def check(
    rule: Rule,
    data: Mapping[str, Any],
    ruleset: RuleSet,
    words: Vocabulary,
    playbooks: Collection[str],
) -> Iterator[Mistake]:
    """Yield what is wrong with a rule that can be loaded.

    Args:
        rule: The rule, overlays applied.
        data: Its file.
        ruleset: All rules.
        words: What parsers emit.
        playbooks: Ids of all playbooks.
    """
    yield from _names(data, words)
    yield from _windows(data)
    yield from _texts(rule, data)
    yield from _tests(rule, data)
    yield from _applies(rule)
    yield from _sense(rule, words)
    if rule.playbook is not None and rule.playbook not in playbooks:
        near = suggestion(rule.playbook, playbooks)
        yield Mistake(("playbook",), f"there is no playbook '{rule.playbook}'{near}")
    for other in ruleset.rules.values():
        if other.id < rule.id and other.title == rule.title:
            yield Mistake(("title",), f"the rule '{other.id}' has the same title")


def expired(ruleset: RuleSet, today: date) -> list[Problem]:
    """Return suppressions whose last day is over.

    Args:
        ruleset: All rules.
        today: The date.
    """
    return [
        Problem("overlay.yaml", 0, 0, f"the suppression of '{one.rule}' expired on {one.until}")
        for one in ruleset.suppressions
        if one.until is not None and one.until < today
    ]


def conditions(data: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield every condition of a rule file with the path to it."""
    tops: list[tuple[Path, Any]] = [(("match",), data.get("match"))]
    unless = data.get("unless")
    if isinstance(unless, list):
        tops += [(("unless", place), entry) for place, entry in enumerate(unless)]
    else:
        tops.append((("unless",), unless))
    tops.append((("cleared_by",), data.get("cleared_by")))
    for key in ("raise", "lower"):
        for place, entry in enumerate(data.get(key) or []):
            tops.append(((key, place, "when"), entry.get("when")))
    for path, top in tops:
        yield from _below(path, top)


def _below(path: Path, condition: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    if not isinstance(condition, Mapping):
        return
    yield path, condition
    for form in ("all", "any", "sequence"):
        for place, member in enumerate(condition.get(form) or []):
            yield from _below((*path, form, place), member)
    yield from _below((*path, "at"), condition.get("at"))


def _names(data: Mapping[str, Any], words: Vocabulary) -> Iterator[Mistake]:
    for path, condition in conditions(data):
        event = condition.get("event")
        if isinstance(event, str):
            if message := words.event_problem(event):
                yield Mistake((*path, "event"), message)
            for field in condition.get("where") or {}:
                if message := words.field_problem(event, field):
                    yield Mistake((*path, "where", field), message, at_key=True)
            distinct = (condition.get("distinct") or {}).get("field")
            if distinct and (message := words.field_problem(event, distinct)):
                yield Mistake((*path, "distinct", "field"), message)
        if "series" in condition and (message := words.series_problem(condition["series"])):
            yield Mistake((*path, "series"), message)
        if "fact" in condition and (message := words.fact_problem(condition["fact"])):
            # Parsers of files and blocks do not declare the facts they state.
            yield Mistake((*path, "fact"), message, fatal=False)


def _windows(data: Mapping[str, Any]) -> Iterator[Mistake]:
    for path, condition in conditions(data):
        if "sequence" in condition and condition.get("within") is None:
            yield Mistake(path, "a sequence needs 'within', such as 90s or same_attempt")


def _texts(rule: Rule, data: Mapping[str, Any]) -> Iterator[Mistake]:
    known = {*STANDARD_NAMES, *names(rule.match)}
    texts: list[tuple[Path, Any]] = [((key,), data.get(key)) for key in ("title", "explanation")]
    texts += [(("missing", place), text) for place, text in enumerate(data.get("missing") or [])]
    for key in ("culprit", "with"):
        texts += [((key, name), text) for name, text in (data.get(key) or {}).items()]
    for path, text in texts:
        if isinstance(text, str):
            # What is guilty is worked out first, so these expressions cannot name it.
            given = known - {"culprit"} if path[0] == "culprit" else known
            for message in templating.mistakes(text, given):
                yield Mistake(path, message)


def _tests(rule: Rule, data: Mapping[str, Any]) -> Iterator[Mistake]:
    reader = Reader()
    cases = read_cases(data.get("tests"), reader)
    yield from reader.mistakes
    if reader.mistakes:
        return
    fatal = rule.pack is None
    silent = sum(not case.expect.fires for case in cases)
    if silent == len(cases):
        yield Mistake(("tests",), "no test in which the rule fires", at_key=True, fatal=fatal)
    wanted = NEGATIVES.get(rule.role, 1)
    if silent < wanted:
        message = f"{silent} tests in which the rule stays silent; a {rule.role} needs {wanted}"
        yield Mistake(("tests",), message, at_key=True, fatal=fatal)


def _applies(rule: Rule) -> Iterator[Mistake]:
    for name, wanted in rule.applies.items():
        if name not in ("framework", "engine") and not _can_hold(wanted):
            yield Mistake(("applies", name), f"no version satisfies '{wanted}'")


def _can_hold(wanted: str) -> bool:
    """Tell whether any version satisfies constraints; if one does, one of these does."""
    bounds = [".".join(map(str, version)) for _, version in constraints(wanted)]
    return any(
        allows(wanted, version)
        for version in ("0", *bounds, *(f"{bound}.0.0.0.1" for bound in bounds))
    )


def _sense(rule: Rule, words: Vocabulary) -> Iterator[Mistake]:
    asked = list(event_conditions(rule.match))
    if rule.role == "root":
        for condition in asked:
            if _is_advice(condition, words):
                message = "a guess that a program prints is no root; make it 'role: context'"
                yield Mistake(("match",), message)
    if rule.role == "context" and rule.level in ("high", "critical"):
        yield Mistake(("level",), f"'role: context' is never the answer, so not '{rule.level}'")
    if rule.role == "root" and rule.level == "info":
        yield Mistake(("level",), "a root of level 'info' is none; make it 'role: context'")
    natures = [_natures(condition, words) for condition in asked]
    if rule.cleared_by is None and natures and all(one == {Nature.EFFECT} for one in natures):
        message = "effects are often overcome; say with 'cleared_by' what makes them history"
        yield Mistake(("match",), message, at_key=True, fatal=False)


def _is_advice(condition: EventCondition, words: Vocabulary) -> bool:
    if _natures(condition, words) == {Nature.ADVICE}:
        return True
    return any(_ADVICE.search(text) for text in (*condition.text, condition.regex or ""))


def _natures(condition: EventCondition, words: Vocabulary) -> set[Nature]:
    if condition.nature:
        return set(condition.nature)
    emitted = words.events.get(condition.event)
    return emitted.natures if emitted else set()
