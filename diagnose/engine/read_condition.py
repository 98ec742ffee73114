"""Reads conditions out of YAML data."""

import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any, Literal

from diagnose.engine.compare import OPERATORS, ORDERING, Comparison, FieldRef, Test
from diagnose.engine.reader import Path, Reader, kind, suggestion
from diagnose.engine.schema import (
    CAPTURES,
    CONDITION_KEYS,
    JOINS,
    SAME_ATTEMPT,
    SAME_STEP,
    STATS,
    AcrossCondition,
    All,
    AnyOf,
    Condition,
    Distinct,
    EventCondition,
    FactCondition,
    Key,
    Population,
    Quantity,
    Rate,
    RuleCondition,
    Sequence,
    SeriesCondition,
    Where,
    Within,
)
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Nature

SeriesGroup = Literal["rank", "host", "file", "job"]

NESTING = 8
"""Conditions inside conditions."""

_LINES = LazyPattern(r"\s*(\d+)\s+lines\s*")
_REF_KEYS = {
    "field": Key("field", "required", "the other field"),
    "times": Key("number", "1", "factor"),
}
_OVER_KEYS = {
    "last": Key("number", "all", "steps at the end that count"),
    "skip": Key("number", "0", "steps at the start that do not"),
}


class ConditionReader:
    """Reads the conditions of one rule; ``text:`` and ``regex:`` are numbered in their order.

    Args:
        reader: Collects the mistakes.
        rule: Id of the rule, for the names of its text events.
        check_patterns: Judge regular expressions, which takes longer than all the rest.
    """

    def __init__(self, reader: Reader, rule: str, *, check_patterns: bool = True) -> None:
        self.reader = reader
        self.rule = rule
        self.check_patterns = check_patterns
        self.texts = 0

    def read(self, data: object, path: Path, depth: int = 0) -> Condition | None:
        """Return a condition, or None after noting what is wrong with it."""
        found = self.reader.any_mapping(data, path, "a condition (a map)")
        if found is None:
            return None
        forms = [form for form in CONDITION_KEYS if form in found]
        if len(forms) != 1:
            known = ", ".join(CONDITION_KEYS)
            near = next((word for key in found if (word := suggestion(key, CONDITION_KEYS))), "")
            said = f"'{forms[0]}' and '{forms[1]}'" if forms else f"{', '.join(found) or 'nothing'}"
            hint = near if not forms and "did you mean" in near else ""
            self.reader.wrong(path, f"expected exactly one of {known}; found {said}{hint}")
            return None
        if depth > NESTING:
            self.reader.wrong(path, f"conditions are nested more than {NESTING} deep")
            return None
        form = forms[0]
        values = self.reader.mapping(found, path, CONDITION_KEYS[form])
        if values is None:
            return None
        if form in ("all", "any", "sequence"):
            return self._several(form, values, path, depth)
        if form in ("fact", "env"):
            return self._fact(form, values, path)
        if form == "series":
            return self._series(values, path)
        if form == "rule":
            rule = self.reader.identifier(values["rule"], (*path, "rule"))
            return rule and RuleCondition(rule=rule, **self._member(values, path)) or None
        return self._event(form, values, path)

    def _several(
        self, form: str, values: dict[str, Any], path: Path, depth: int
    ) -> Condition | None:
        entries = self.reader.sequence(values[form], (*path, form))
        if not entries:
            self.reader.wrong((*path, form), f"'{form}' needs at least one condition")
        members = [
            self.read(entry, (*path, form, index), depth + 1) for index, entry in enumerate(entries)
        ]
        read = tuple(member for member in members if member is not None)
        same = self._join(values, path)
        if form == "any":
            return AnyOf(members=read, same=same)
        within = self._within(values.get("within"), (*path, "within"))
        return (All if form == "all" else Sequence)(members=read, within=within, same=same)

    def _event(self, form: str, values: dict[str, Any], path: Path) -> Condition | None:
        reader = self.reader
        natures = self._natures(values.get("nature"), (*path, "nature"))
        member = self._member(values, path)
        where = self.where(values.get("where"), (*path, "where"))
        quantity = self._quantity(values, path)
        if form == "event":
            event = reader.text(values["event"], (*path, "event"))
            if event is None:
                return None
            if "across" not in values:
                self._alone(values, path, ("missing",))
                return EventCondition(
                    event=event, where=where, nature=natures, quantity=quantity, **member
                )
            of = EventCondition(event=event, where=where, nature=natures, quantity=quantity)
            return self._across(of, values, path, member)
        literals, pattern = self._wording(form, values[form], (*path, form))
        event = f"text:{self.rule}:{self.texts}"
        self.texts += 1
        return EventCondition(
            event=event,
            where=where,
            nature=natures,
            quantity=quantity,
            form="text" if form == "text" else "regex",
            text=literals,
            regex=pattern,
            capture=self._captures(values.get("capture"), (*path, "capture"), pattern),
            literals=reader.texts(values.get("literals"), (*path, "literals")),
            own_nature=natures[0] if natures else Nature.ERROR,
            **member,
        )

    def _fact(self, form: str, values: dict[str, Any], path: Path) -> Condition | None:
        name = self.reader.text(values[form], (*path, form))
        if name is None:
            return None
        fact = f"env.{name}" if form == "env" else name
        member = self._member(values, path)
        where = self._value_where(values.get("where"), (*path, "where"))
        quantity = self._quantity(values, path)
        if "across" in values:
            of = FactCondition(fact=fact, where=where, quantity=quantity)
            return self._across(of, values, path, member)
        self._alone(values, path, ("missing", "minority"))
        return FactCondition(fact=fact, where=where, quantity=quantity, **member)

    def _alone(self, values: dict[str, Any], path: Path, keys: tuple[str, ...]) -> None:
        for key in keys:
            if key in values:
                message = (
                    f"'{key}' needs a known population; add 'across: ranks' or 'across: hosts'"
                )
                self.reader.wrong((*path, key), message, at_key=True)

    def _across(
        self,
        of: EventCondition | FactCondition,
        values: dict[str, Any],
        path: Path,
        member: dict[str, Any],
    ) -> Condition | None:
        populations: tuple[Population, ...] = ("ranks", "hosts")
        population = self.reader.choice(values["across"], (*path, "across"), populations)
        asked = [key for key in ("missing", "minority") if key in values]
        if len(asked) != 1:
            self.reader.wrong(path, "'across' needs either 'missing' or 'minority'")
            return None
        if of.quantity:
            self.reader.wrong(
                path, f"'{asked[0]}' says how many; take out count, distinct and rate"
            )
        bound = self._bound(values[asked[0]], (*path, asked[0]))
        if population is None or bound is None:
            return None
        if "missing" in values:
            return AcrossCondition(of=of, across=population, missing=bound, **member)
        return AcrossCondition(of=of, across=population, minority=bound, **member)

    def _series(self, values: dict[str, Any], path: Path) -> Condition | None:
        reader = self.reader
        metric = reader.text(values["series"], (*path, "series"))
        groups: tuple[SeriesGroup, ...] = ("rank", "host", "file", "job")
        by = reader.choice(values.get("by", "job"), (*path, "by"), groups)
        stat = reader.choice(values.get("stat", "median"), (*path, "stat"), STATS)
        bounds = {key: values[key] for key in (*ORDERING, "equals") if key in values}
        bound = self._bound(bounds, path) if bounds else None
        if not bounds:
            reader.wrong(path, "a series needs a bound of its statistic, such as 'gte: 1.1'")
        over = reader.mapping(values.get("over", {}), (*path, "over"), _OVER_KEYS) or {}
        last = reader.whole(over["last"], (*path, "over", "last"), 1) if "last" in over else None
        skip = reader.whole(over.get("skip", 0), (*path, "over", "skip"))
        window = reader.whole(values.get("window", 20), (*path, "window"), 1)
        fraction = None
        if "fraction" in values:
            fraction = self._bound(values["fraction"], (*path, "fraction"))
        pivot = self.read(values["at"], (*path, "at"), NESTING) if "at" in values else None
        if pivot is not None and not isinstance(pivot, EventCondition):
            reader.wrong((*path, "at"), "expected an event, such as {event: checkpoint.loaded}")
            pivot = None
        if metric is None or by is None or stat is None or bound is None:
            return None
        return SeriesCondition(
            metric=metric,
            by=by,
            stat=stat,
            last=last,
            skip=skip or 0,
            window=window or 20,
            bound=bound,
            fraction=fraction,
            at=pivot,
            **self._member(values, path),
        )

    def _member(self, values: dict[str, Any], path: Path) -> dict[str, Any]:
        name = self.reader.name(values["as"], (*path, "as")) if "as" in values else None
        return {"name": name, "same": self._join(values, path)}

    def _join(self, values: dict[str, Any], path: Path) -> Any:
        if "same" not in values:
            return None
        return self.reader.choice(values["same"], (*path, "same"), JOINS)

    def _within(self, data: object, path: Path) -> Within | None:
        if data is None:
            return None
        if data == SAME_STEP:
            return Within("step")
        if data == SAME_ATTEMPT:
            return Within("attempt")
        if isinstance(data, str) and (found := _LINES.fullmatch(data)):
            return Within("lines", float(found[1]))
        length = self.reader.duration(data, path)
        return None if length is None else Within("seconds", length)

    def _natures(self, data: object, path: Path) -> tuple[Nature, ...]:
        if data is None:
            return ()
        entries = data if isinstance(data, list) else [data]
        found = [self.reader.choice(entry, path, tuple(Nature)) for entry in entries]
        return tuple(Nature(nature) for nature in found if nature is not None)

    def _quantity(self, values: dict[str, Any], path: Path) -> Quantity:
        reader = self.reader
        count = self._bound(values["count"], (*path, "count")) if "count" in values else None
        distinct = rate = None
        if "distinct" in values:
            here = (*path, "distinct")
            found = dict(reader.any_mapping(values["distinct"], here) or {})
            name = reader.text(found.pop("field", None), (*here, "field"))
            bound = self._bound(found, here)
            distinct = Distinct(name, bound) if name and bound else None
        if "rate" in values:
            here = (*path, "rate")
            found = dict(reader.any_mapping(values["rate"], here) or {})
            per = reader.duration(found.pop("per", None), (*here, "per"))
            bound = self._bound(found, here)
            rate = Rate(bound, per) if per and bound else None
        return Quantity(count, distinct, rate)

    def _bound(self, data: object, path: Path) -> Comparison | None:
        """Read a comparison of a number with numbers."""
        if isinstance(data, int | float) and not isinstance(data, bool):
            return Comparison((Test("equals", data),))
        found = self.reader.any_mapping(data, path, "a comparison such as {gte: 3}")
        if not found:
            if found is not None:
                self.reader.wrong(path, "expected a comparison such as {gte: 3}")
            return None
        tests: list[Test] = []
        for key, value in found.items():
            if key not in (*ORDERING, "equals"):
                hint = suggestion(key, (*ORDERING, "equals"))
                self.reader.wrong((*path, key), f"unknown key '{key}'{hint}", at_key=True)
            elif (amount := self.reader.number(value, (*path, key))) is not None:
                tests.append(Test(key, amount))
        return Comparison(tuple(tests)) if tests else None

    def where(self, data: object, path: Path) -> Where:
        """Return comparisons by field."""
        if data is None:
            return ()
        found = self.reader.any_mapping(data, path, "a map of fields") or {}
        compared = [(name, self.comparison(value, (*path, name))) for name, value in found.items()]
        return tuple((name, test) for name, test in compared if test is not None)

    def _value_where(self, data: object, path: Path) -> Where:
        """Read the ``where`` of a fact, which may compare its value directly."""
        if data is None:
            return ()
        if not isinstance(data, Mapping) or any(key in OPERATORS for key in data):
            test = self.comparison(data, path)
            return () if test is None else (("value", test),)
        return self.where(data, path)

    def comparison(self, data: object, path: Path) -> Comparison | None:
        """Return a comparison from a bare value, a list or a map of operators."""
        if data is None:
            self.reader.wrong(path, "nothing to compare with; write {exists: false} for absence")
            return None
        if isinstance(data, list):
            members = self._choices(data, path)
            return None if members is None else Comparison((Test("in", members),))
        if not isinstance(data, Mapping):
            return Comparison((Test("equals", data),))
        tests = [self._test(str(key), value, (*path, str(key))) for key, value in data.items()]
        read = tuple(test for test in tests if test is not None)
        if not data:
            self.reader.wrong(path, "expected a comparison such as {gte: 3}")
        return Comparison(read) if read else None

    def _test(self, operator: str, value: object, path: Path) -> Test | None:
        reader = self.reader
        if operator not in OPERATORS:
            message = f"unknown operator '{operator}'{suggestion(operator, OPERATORS)}"
            reader.wrong(path, message, at_key=True)
            return None
        operand: Any = value
        if operator == "not":
            operand = self.comparison(value, path) if isinstance(value, Mapping | list) else value
        elif operator == "in":
            operand = self._choices(value, path)
        elif operator == "exists":
            operand = reader.flag(value, path)
        elif isinstance(value, Mapping):
            operand = self._reference(value, path)
        elif operator in ORDERING:
            operand = reader.number(value, path)
        elif operator == "regex":
            operand = self._pattern(value, path)
        elif operator == "cidr":
            operand = self._network(value, path)
        elif operator in ("startswith", "same_as"):
            operand = reader.text(value, path)
        elif isinstance(value, list):
            reader.wrong(path, f"expected one value, found a list; use 'in' for {kind(value)}")
            return None
        return None if operand is None else Test(operator, operand)

    def _choices(self, data: object, path: Path) -> tuple[Any, ...] | None:
        members = tuple(self.reader.sequence(data, path))
        if not members and isinstance(data, list | None):
            self.reader.wrong(path, "expected at least one value in the list")
        return members or None

    def _reference(self, data: object, path: Path) -> FieldRef | None:
        found = self.reader.mapping(data, path, _REF_KEYS)
        name = (
            self.reader.text(found["field"], (*path, "field"))
            if found and "field" in found
            else None
        )
        times = self.reader.number((found or {}).get("times", 1.0), (*path, "times"))
        return FieldRef(name, times) if name and times is not None else None

    def _network(self, data: object, path: Path) -> str | None:
        text = self.reader.text(data, path)
        if text is None:
            return None
        try:
            ip_network(text, strict=False)
        except ValueError:
            self.reader.wrong(path, f"'{text}' is not a network such as 10.0.0.0/8")
            return None
        return text

    def _wording(self, form: str, data: object, path: Path) -> tuple[tuple[str, ...], str | None]:
        if form == "regex":
            return (), self._pattern(data, path)
        if isinstance(data, str):
            data = [data]
        texts = self.reader.texts(data, path)
        if not texts:
            self.reader.wrong(path, "expected at least one text")
            return (), None
        return texts, re.escape(max(texts, key=len))

    def _pattern(self, data: object, path: Path) -> str | None:
        text = self.reader.text(data, path)
        if text is None or not self.check_patterns:
            return text
        from diagnose.ingest.pattern import problems  # shipped rules have been judged

        try:
            found = problems(text)
        except ValueError as error:
            found = [str(error)]
        for problem in found:
            self.reader.wrong(path, f"this regular expression is not accepted: {problem}")
        return None if found else text

    def _captures(
        self, data: object, path: Path, pattern: str | None
    ) -> tuple[tuple[str, str], ...]:
        if data is None:
            return ()
        groups = set(re.findall(r"\(\?P<(\w+)>", pattern or ""))
        read: list[tuple[str, str]] = []
        for name, value in (self.reader.any_mapping(data, path) or {}).items():
            if name not in groups:
                message = f"the pattern has no group '{name}'{suggestion(name, groups)}"
                self.reader.wrong((*path, name), message, at_key=True)
            elif (word := self.reader.choice(value, (*path, name), CAPTURES)) is not None:
                read.append((name, word))
        return tuple(read)
