"""Reads a rule out of YAML data, with all its mistakes at once."""

from collections.abc import Mapping
from typing import Any

from diagnose.engine.applies import constraints
from diagnose.engine.read_cause import SYMPTOMS
from diagnose.engine.read_condition import ConditionReader
from diagnose.engine.reader import KEBAB, Mistake, Path, Reader, kind, suggestion
from diagnose.engine.schema import (
    CULPRITS,
    EXPLAIN_KEYS,
    GROUPS,
    ROLES,
    RULE_KEYS,
    SCOPES,
    Adjustment,
    All,
    AnyOf,
    Condition,
    EventCondition,
    Explain,
    FactCondition,
    Key,
    Rule,
    RuleCondition,
    Sequence,
    names,
    walk,
)
from diagnose.model.report import LEVELS
from diagnose.model.taxonomy import Cause

STANDARD_NAMES = frozenset({"calc", "event", "events", "culprit", "fact", "job", "logs", "series"})
"""Names that every template has."""

_ADJUSTMENT_KEYS = {
    "when": Key("condition", "required", "what must be there"),
    "by": Key("0-1", "required", "what it is worth"),
}


def read_rule(
    data: object,
    causes: Mapping[str, Cause],
    *,
    file: str = "",
    pack: str | None = None,
    check_patterns: bool = True,
) -> tuple[Rule | None, list[Mistake]]:
    """Return a rule and what is wrong with it.

    Args:
        data: As YAML gives it; ``tests`` may have been left out.
        causes: All causes, by id.
        file: Name of the file, for messages.
        pack: Folder it came from; None for a shipped rule.
        check_patterns: Judge regular expressions; not needed for rules that were tested.

    Returns:
        The rule, None where a mistake is fatal; and the mistakes in the order of the file.
    """
    reader = Reader()
    values = reader.mapping(data, (), RULE_KEYS)
    if values is None:
        return None, reader.mistakes
    rule = _RuleReader(reader, values, causes).read(file, pack, check_patterns)
    if rule is None or any(mistake.fatal for mistake in reader.mistakes):
        return None, reader.mistakes
    return rule, reader.mistakes


class _RuleReader:
    def __init__(self, reader: Reader, values: dict[str, Any], causes: Mapping[str, Cause]) -> None:
        self.reader = reader
        self.values = values
        self.causes = causes

    def read(self, file: str, pack: str | None, check_patterns: bool) -> Rule | None:
        reader, values = self.reader, self.values
        identifier = self._optional("id", reader.identifier)
        conditions = ConditionReader(reader, identifier or "", check_patterns=check_patterns)
        match = self._optional("match", conditions.read)
        fields: dict[str, Any] = {
            "title": self._optional("title", reader.template),
            "cause": self._cause(),
            "aliases": self._identifiers("aliases"),
            "symptoms": self._symptoms(),
            "level": reader.choice(values.get("level", "medium"), ("level",), LEVELS),
            "role": reader.choice(values.get("role", "root"), ("role",), ROLES),
            "applies": self._applies(),
            "unless": self._unless(conditions),
            "by": reader.choice(values.get("by", "job"), ("by",), GROUPS),
            "culprit": self._culprit(),
            "explains": self._edges("explains"),
            "explained_by": self._edges("explained_by"),
            "cleared_by": self._cleared_by(conditions),
            "confidence": reader.share(values.get("confidence", 0.7), ("confidence",)),
            "raises": self._adjustments("raise", conditions),
            "lowers": self._adjustments("lower", conditions),
            "explanation": self._optional("explanation", reader.template),
            "missing": self._missing(),
            "playbook": self._optional("playbook", reader.identifier),
            "values": self._with(),
            "references": reader.texts(values.get("references"), ("references",)),
            "tests": tuple(reader.sequence(values.get("tests"), ("tests",))),
        }
        if fields["role"] != "context":
            for key in ("explanation", "playbook"):
                if values.get(key) is None:
                    reader.wrong((), f"'{key}' is missing; only 'role: context' may do without")
        if match is None or identifier is None:
            return None
        if any(mistake.fatal for mistake in reader.mistakes):
            return None
        stage = self.causes[fields["cause"]].stage
        rule = Rule(id=identifier, match=match, stage=stage, file=file, pack=pack, **fields)
        self._check_joins(rule)
        return rule

    def _optional(self, key: str, read: Any) -> Any:
        value = self.values.get(key)
        return None if value is None else read(value, (key,))

    def _identifiers(self, key: str) -> tuple[str, ...]:
        entries = self.reader.sequence(self.values.get(key), (key,))
        found = [self.reader.identifier(item, (key, place)) for place, item in enumerate(entries)]
        return tuple(item for item in found if item is not None)

    def _cause(self) -> str | None:
        cause = self._optional("cause", self.reader.text)
        if cause is not None and cause not in self.causes:
            hint = suggestion(cause, self.causes)
            self.reader.wrong(("cause",), f"unknown cause '{cause}'{hint}")
        return str(cause) if cause is not None else None

    def _symptoms(self) -> tuple[int, ...]:
        found: list[int] = []
        for place, entry in enumerate(
            self.reader.sequence(self.values.get("symptoms"), ("symptoms",))
        ):
            if isinstance(entry, int) and not isinstance(entry, bool) and entry in SYMPTOMS:
                found.append(entry)
            else:
                message = f"expected a symptom from 1 to 13, found {kind(entry)}"
                self.reader.wrong(("symptoms", place), message)
        return tuple(found)

    def _applies(self) -> Mapping[str, str]:
        data = self.values.get("applies")
        if data is None:
            return {}
        found: dict[str, str] = {}
        for key, value in (self.reader.any_mapping(data, ("applies",)) or {}).items():
            text = self.reader.text(value, ("applies", key))
            if text is None:
                continue
            if key not in ("framework", "engine"):
                try:
                    constraints(text)
                except ValueError as error:
                    self.reader.wrong(("applies", key), str(error))
            found[key] = text
        return found

    def _unless(self, conditions: ConditionReader) -> tuple[Condition, ...]:
        data = self.values.get("unless")
        if data is None:
            return ()
        if not isinstance(data, list):
            read = conditions.read(data, ("unless",))
            return () if read is None else (read,)
        entries = [conditions.read(item, ("unless", place)) for place, item in enumerate(data)]
        return tuple(item for item in entries if item is not None)

    def _cleared_by(self, conditions: ConditionReader) -> Any:
        data = self.values.get("cleared_by")
        if data is None or data == "progress":
            return data
        if isinstance(data, str):
            self.reader.wrong(
                ("cleared_by",), f"expected 'progress' or a condition, found '{data}'"
            )
            return None
        return conditions.read(data, ("cleared_by",))

    def _adjustments(self, key: str, conditions: ConditionReader) -> tuple[Adjustment, ...]:
        found: list[Adjustment] = []
        for place, entry in enumerate(self.reader.sequence(self.values.get(key), (key,))):
            path: Path = (key, place)
            values = self.reader.mapping(entry, path, _ADJUSTMENT_KEYS)
            if not values or "when" not in values or "by" not in values:
                continue
            when = conditions.read(values["when"], (*path, "when"))
            by = self.reader.share(values["by"], (*path, "by"))
            if when is not None and by is not None:
                found.append(Adjustment(when, by))
        return tuple(found)

    def _culprit(self) -> Mapping[str, str]:
        data = self.values.get("culprit")
        if data is None:
            return {}
        found: dict[str, str] = {}
        for key, value in (self.reader.any_mapping(data, ("culprit",)) or {}).items():
            if key not in CULPRITS:
                hint = suggestion(key, CULPRITS)
                self.reader.wrong(("culprit", key), f"unknown key '{key}'{hint}", at_key=True)
            elif (text := self.reader.expression(value, ("culprit", key))) is not None:
                found[key] = text
        return found

    def _with(self) -> Mapping[str, Any]:
        data = self.values.get("with")
        if data is None:
            return {}
        found: dict[str, Any] = {}
        for key, value in (self.reader.any_mapping(data, ("with",)) or {}).items():
            path: Path = ("with", key)
            if self.reader.name(key, path) is None:
                continue
            constant = isinstance(value, int | float | list)
            read = value if constant else self.reader.expression(value, path)
            if read is not None:
                found[key] = read
        return found

    def _missing(self) -> tuple[str, ...]:
        entries = self.reader.sequence(self.values.get("missing"), ("missing",))
        found = [self.reader.template(item, ("missing", n)) for n, item in enumerate(entries)]
        return tuple(item for item in found if item is not None)

    def _edges(self, key: str) -> tuple[Explain, ...]:
        entries = self.reader.sequence(self.values.get(key), (key,))
        found = [self._explain(item, (key, place)) for place, item in enumerate(entries)]
        return tuple(item for item in found if item is not None)

    def _explain(self, data: object, path: Path) -> Explain | None:
        reader = self.reader
        if isinstance(data, str):
            return Explain(data) if self._is_target(data, path) else None
        values = reader.mapping(data, path, EXPLAIN_KEYS)
        if not values or not self._is_target(values.get("rule"), (*path, "rule")):
            return None
        scope = reader.choice(values.get("scope", "communicator"), (*path, "scope"), SCOPES)
        within = values.get("within")
        length = None if within is None else reader.duration(within, (*path, "within"))
        before = reader.duration(values.get("before", 0), (*path, "before"))
        if scope is None or before is None:
            return None
        return Explain(values["rule"], scope, length, before)

    def _is_target(self, data: object, path: Path) -> bool:
        if isinstance(data, str) and (data.startswith("cause:") or KEBAB.fullmatch(data)):
            return True
        self.reader.wrong(path, f"expected a rule id or cause:STAGE.*, found {kind(data)}")
        return False

    def _check_joins(self, rule: Rule) -> None:
        """Find ``same`` where nothing stands before it, and names that nobody gives."""
        for part in walk(rule.match):
            first = part.members[0] if isinstance(part, All | Sequence) else None
            if part is rule.match and not isinstance(part, All | AnyOf | Sequence):
                first = part
            if first is not None and first.same and not isinstance(first, RuleCondition):
                message = f"'same: {first.same}' has nothing before it to join"
                self.reader.wrong(("match",), message, fatal=False)
        given = names(rule.match)
        for clash in sorted(given & STANDARD_NAMES):
            self.reader.wrong(("match",), f"'as: {clash}' hides a standard name; choose another")
        for condition in rule.conditions:
            for part in walk(condition):
                self._check_same_as(part, given)

    def _check_same_as(self, part: Condition, given: frozenset[str]) -> None:
        if not isinstance(part, EventCondition | FactCondition):
            return
        for _, comparison in part.where:
            for test in comparison.tests:
                name, dot, _ = str(test.operand).partition(".")
                if test.operator == "same_as" and dot and name not in given:
                    hint = suggestion(name, given)
                    self.reader.wrong(("match",), f"same_as: nothing is named '{name}'{hint}")
