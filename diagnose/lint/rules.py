"""Checks of single rules."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date
from functools import partial
from typing import Any

from diagnose.engine.applies import allows, constraints
from diagnose.engine.read_rule import STANDARD_NAMES
from diagnose.engine.reader import Mistake, Path, Reader, suggestion
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.schema import (
    CULPRITS,
    EventCondition,
    Rule,
    SeriesCondition,
    event_conditions,
    leaves,
    names,
)
from diagnose.errors import Problem
from diagnose.facts.settings import VERSIONS
from diagnose.ingest.pattern import COMMON, required_literals
from diagnose.lint import templating
from diagnose.lint.cases import read_cases
from diagnose.lint.vocabulary import Vocabulary
from diagnose.model.event import ATTRIBUTES, Nature

_NUMBER = re.compile(r"\s*[-+]?\d+(?:\.\d+)?\s*")
_GROUP = re.compile(r"\(\?P<(\w+)>")

_ADVICE = re.compile(r"(?i)\b(?:might|may|could)\s+be\s+(?:caused|due|a\b|asynchronously)")
"""Words with which programs guess."""

CHOSEN = ("framework", "engine")
"""Keys of ``applies`` that name a choice, not a version."""

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
    yield from _wording(data)
    yield from _texts(rule, data, words)
    yield from _tests(rule, data)
    yield from _applies(rule, words)
    yield from _sense(rule, words)
    yield from unknown_playbook(rule, playbooks)
    for other in ruleset.rules.values():
        if other.id < rule.id and other.title == rule.title:
            yield Mistake(("title",), f"the rule '{other.id}' has the same title")


def unknown_playbook(rule: Rule, playbooks: Collection[str]) -> Iterator[Mistake]:
    """Yield that a rule names a playbook which is not there.

    Args:
        rule: The rule, overlays applied.
        playbooks: Ids of all playbooks.
    """
    if rule.playbook is None or rule.playbook in playbooks:
        return
    near = suggestion(rule.playbook, playbooks)
    message = f"there is no playbook '{rule.playbook}'{near}"
    if rule.pack is not None and not near:
        message += "; add it to a folder given by --playbooks"
    yield Mistake(("playbook",), message)


def expired(ruleset: RuleSet, today: date) -> list[Problem]:
    """Return suppressions whose last day is over.

    Args:
        ruleset: All rules.
        today: The date.
    """
    found = []
    for text, overlay in ruleset.overlays:
        for one in overlay.suppressions:
            if one.until is not None and one.until < today:
                message = f"the suppression of '{one.rule}' expired on {one.until}"
                found.append(text.problem(Mistake(("suppress", one.place, "until"), message)))
    return found


def suppressed_fields(ruleset: RuleSet, words: Vocabulary) -> list[Problem]:
    """Return fields that suppressions compare and no finding of their rule has.

    Args:
        ruleset: All rules.
        words: What parsers emit.
    """
    kinds = {kind.removesuffix("s") for kind in CULPRITS}
    found = []
    for text, overlay in ruleset.overlays:
        for one in overlay.suppressions:
            rule = ruleset.find(one.rule)
            asked = _asked(rule, words).get("event") if rule is not None else None
            for name, _ in one.where:
                if asked is not None and name not in kinds and (message := asked(name)):
                    path: Path = ("suppress", one.place, "where", name)
                    found.append(text.problem(Mistake(path, message, at_key=True)))
    return found


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
            for field, wanted in (condition.get("where") or {}).items():
                if message := words.field_problem(event, field):
                    yield Mistake((*path, "where", field), message, at_key=True)
                elif words.is_number(event, field) and _is_number_as_text(wanted):
                    message = f"'{field}' is a number; take the quotes off {wanted!r}"
                    yield Mistake((*path, "where", field), message, fatal=False)
            distinct = (condition.get("distinct") or {}).get("field")
            if distinct and (message := words.field_problem(event, distinct)):
                yield Mistake((*path, "distinct", "field"), message)
        if "series" in condition and (message := words.series_problem(condition["series"])):
            yield Mistake((*path, "series"), message)
        if "fact" in condition and (message := words.fact_problem(condition["fact"])):
            yield Mistake((*path, "fact"), message)


def _windows(data: Mapping[str, Any]) -> Iterator[Mistake]:
    for path, condition in conditions(data):
        if "sequence" in condition and condition.get("within") is None:
            yield Mistake(path, "a sequence needs 'within', such as 90s or same_attempt")


def _is_number_as_text(wanted: Any) -> bool:
    values = wanted.values() if isinstance(wanted, Mapping) else [wanted]
    members = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return any(isinstance(one, str) and _NUMBER.fullmatch(one) for one in members)


def _wording(data: Mapping[str, Any]) -> Iterator[Mistake]:
    """Find texts and expressions whose only literals are words that healthy logs are full of."""
    for path, condition in conditions(data):
        form = next((form for form in ("text", "regex") if form in condition), None)
        if form is None or condition.get("literals"):
            continue
        wanted = condition[form]
        if form == "regex":
            literals = _literals(wanted)
        else:
            literals = frozenset(wanted if isinstance(wanted, list) else [wanted])
        common = sorted(one for one in literals if one.strip().lower() in COMMON)
        if common and len(common) == len(literals):
            message = f"'{common[0]}' stands in healthy logs as well; ask for a longer text"
            yield Mistake((*path, form), message, fatal=False)


def _literals(pattern: str) -> frozenset[str]:
    try:
        return required_literals(pattern)
    except ValueError:
        return frozenset()


def _asked(rule: Rule, words: Vocabulary) -> dict[str, Callable[[str], str | None]]:
    """Return, by the name that a text gives records of one known event, what judges their fields.

    Members of populations, series and other rules' findings have fields of their own.
    """
    inside = list(leaves(rule.match))
    judged: dict[str, Callable[[str], str | None]] = {}
    plain = [leaf for leaf in inside if isinstance(leaf, EventCondition)]
    for leaf in plain:
        if leaf.name is not None and sum(other.name == leaf.name for other in inside) == 1:
            judged[leaf.name] = partial(_field_problem, (leaf,), words)
    others = [leaf for leaf in inside if not isinstance(leaf, EventCondition | SeriesCondition)]
    if plain and not others:
        judged["event"] = judged["events"] = partial(_field_problem, tuple(plain), words)
    return judged


def _field_problem(
    conditions: tuple[EventCondition, ...], words: Vocabulary, name: str
) -> str | None:
    """Return why none of some events has a field; None if one has it, or may have it."""
    message = None
    for condition in conditions:
        if condition.form == "event":
            message = words.field_problem(condition.event, name)
        else:
            groups = {*_GROUP.findall(condition.regex or ""), *ATTRIBUTES}
            message = (
                None
                if name in groups
                else f"the pattern has no group '{name}'{suggestion(name, groups)}"
            )
        if message is None:
            return None
    return message


def _texts(rule: Rule, data: Mapping[str, Any], words: Vocabulary) -> Iterator[Mistake]:
    asked = _asked(rule, words)
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
            for message in templating.unknown_fields(text, asked):
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


def _applies(rule: Rule, words: Vocabulary) -> Iterator[Mistake]:
    known = {*VERSIONS, *CHOSEN}
    for name, wanted in rule.applies.items():
        path: Path = ("applies", name)
        if name not in known:
            message = f"unknown key '{name}'{suggestion(name, known)}"
            yield Mistake(path, message, at_key=True)
        elif name in CHOSEN:
            if message := words.choice_problem(f"job.{name}", wanted) or "":
                yield Mistake(path, message)
        elif not _can_hold(wanted):
            yield Mistake(path, f"no version satisfies '{wanted}'")


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
