"""``overlay.yaml``: what a team changes in shipped rules, and what it silences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from diagnose.engine.applies import allows, constraints
from diagnose.engine.compare import Lookup
from diagnose.engine.read_condition import ConditionReader
from diagnose.engine.reader import Path, Reader
from diagnose.engine.schema import RULE_KEYS, Key, Where
from diagnose.version import VERSION

OVERLAY_KEYS: Mapping[str, Key] = {
    "requires": Key("map", "{}", "version of diagnose it was written for"),
    "rules": Key("map of rule ids", "{}", "keys merged into a rule, or {disable: true}"),
    "suppress": Key("list", "[]", "findings that are expected"),
}
SUPPRESS_KEYS: Mapping[str, Key] = {
    "rule": Key("rule id", "required", "whose findings"),
    "where": Key("map of comparisons", "{}", "which of them, by host, rank and other fields"),
    "reason": Key("text", "required", "why they are expected"),
    "until": Key("date", "none", "last day it holds"),
    "owner": Key("text", "none", "who answers for it"),
}


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings that a team expects.

    Args:
        rule: Rule id or alias.
        where: Comparisons that a finding must satisfy.
        reason: Why.
        until: Last day it holds; None for always.
        owner: Who answers for it.
        place: Its number in the list of its file, from 0.
    """

    rule: str
    where: Where
    reason: str
    until: date | None
    owner: str | None
    place: int = 0

    def covers(self, lookup: Lookup, today: date) -> bool:
        """Return whether it holds today for a finding: for each of its hosts, ranks and the like.

        Args:
            lookup: Gives the finding's values of a field, such as its hosts for ``host``.
            today: The date.
        """
        if self.until is not None and today > self.until:
            return False
        return all(
            all(test.holds(value, lookup) for value in lookup(name) or (None,))
            for name, test in self.where
        )

    def as_report(self) -> dict[str, str]:
        """Return it as the report shows it."""
        until = self.until.isoformat() if self.until else ""
        return {"reason": self.reason, "until": until, "owner": self.owner or ""}


@dataclass(frozen=True, slots=True)
class Overlay:
    """The content of one ``overlay.yaml``.

    Args:
        changes: Keys to merge, by rule id.
        disabled: Rules that are switched off.
        suppressions: Findings that are expected.
    """

    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()
    suppressions: tuple[Suppression, ...] = ()


def read_overlay(data: object, reader: Reader) -> Overlay:
    """Return an overlay; what is wrong with it goes to the reader."""
    if data is None:
        return Overlay()
    values = reader.mapping(data, (), OVERLAY_KEYS)
    if values is None:
        return Overlay()
    _check_requires(values.get("requires"), reader)
    changes: dict[str, Mapping[str, Any]] = {}
    disabled: set[str] = set()
    keys = {**RULE_KEYS, "disable": Key("true", "false", "switches the rule off")}
    optional = {name: key._replace(default="") for name, key in keys.items()}
    for rule, change in (reader.any_mapping(values.get("rules") or {}, ("rules",)) or {}).items():
        path: Path = ("rules", rule)
        known = reader.mapping(change, path, optional)
        if known is None:
            continue
        if "id" in known:
            reader.wrong((*path, "id"), "an id is permanent; it cannot be changed", at_key=True)
        if reader.flag(known.pop("disable", False), (*path, "disable")):
            disabled.add(rule)
        elif known:
            changes[rule] = known
    read = (
        _suppression(entry, place, reader)
        for place, entry in enumerate(reader.sequence(values.get("suppress"), ("suppress",)))
    )
    return Overlay(changes, frozenset(disabled), tuple(item for item in read if item is not None))


def merge(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a map with another one laid over it, key by key; lists are replaced whole.

    >>> merge({"match": {"stat": "cv", "gte": 2}}, {"match": {"gte": 3}})
    {'match': {'stat': 'cv', 'gte': 3}}
    """
    merged = dict(base)
    for key, value in change.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _check_requires(data: object, reader: Reader) -> None:
    if data is None:
        return
    keys = {"diagnose": Key("constraint", "required", "such as '>=0.3,<1'")}
    values = reader.mapping(data, ("requires",), keys)
    wanted = reader.text(values["diagnose"], ("requires", "diagnose")) if values else None
    if wanted is None:
        return
    try:
        constraints(wanted)
    except ValueError as error:
        reader.wrong(("requires", "diagnose"), str(error))
        return
    if not allows(wanted, VERSION):
        message = f"these rules need diagnose {wanted}, this is {VERSION}; install another version"
        reader.wrong(("requires", "diagnose"), message)


def _suppression(data: object, place: int, reader: Reader) -> Suppression | None:
    path: Path = ("suppress", place)
    values = reader.mapping(data, path, SUPPRESS_KEYS)
    if not values or values.get("rule") is None or values.get("reason") is None:
        return None
    rule = reader.identifier(values["rule"], (*path, "rule"))
    reason = reader.text(values["reason"], (*path, "reason"))
    until = values.get("until")
    if until is not None and not (isinstance(until, date) and type(until) is date):
        reader.wrong((*path, "until"), f"expected a date such as 2027-03-01, found '{until}'")
        return None
    owner = reader.text(values["owner"], (*path, "owner")) if "owner" in values else None
    where = ConditionReader(reader, rule or "").where(values.get("where"), (*path, "where"))
    return Suppression(rule, where, reason, until, owner, place) if rule and reason else None
