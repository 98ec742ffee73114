"""Comparisons of rules: ``{gte: 3}``, a bare value, a list that means "one of".

An absent or null value fails every comparison but ``exists: false``: what is not known is not
evidence.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import regex

from diagnose.parsers.convert import seconds, size

TIMEOUT = 1.0
"""Seconds one ``regex`` comparison may spend on one value; the last guard."""

ORDERING = ("gte", "gt", "lte", "lt")
OPERATORS: Mapping[str, str] = {
    "gte": "at least",
    "gt": "more than",
    "lte": "at most",
    "lt": "less than",
    "equals": "the same value; a number equals its text",
    "not": "a value, list or comparison that must not hold",
    "in": "one of a list",
    "contains": "a text within the text, or a member of the list",
    "startswith": "the text begins so",
    "regex": "a regular expression found in the text",
    "exists": "true: the field is there and not null; false: it is not",
    "cidr": "an address within a network, such as 10.0.0.0/8",
    "same_as": "a field of this record, or NAME.FIELD of an earlier member named by `as`",
}
"""Operators of a comparison and what each means."""

Lookup = Callable[[str], Sequence[Any]]
"""Gives the values of a field of the record at hand, or of ``name.field``."""


class FieldRef(NamedTuple):
    """A right side that is another field of the same record.

    Args:
        field: Its name.
        times: Factor applied to it.
    """

    field: str
    times: float = 1.0


class Test(NamedTuple):
    """One operator with its right side."""

    operator: str
    operand: Any


class Comparison(NamedTuple):
    """Tests that must all hold."""

    tests: tuple[Test, ...]

    def holds(self, value: Any, lookup: Lookup | None = None) -> bool:
        """Return whether a value satisfies all tests.

        Args:
            value: What the record has; None where it has nothing.
            lookup: Resolves right sides that are fields.
        """
        return all(_test(test, value, lookup or _nothing) for test in self.tests)

    @property
    def relates(self) -> bool:
        """Whether it asks for records that an earlier member selected (``same_as: name.field``)."""
        return any(test.operator == "same_as" and "." in test.operand for test in self.tests)

    @property
    def lists_values(self) -> bool:
        """Whether it lists all values that satisfy it."""
        return all(
            test.operator in ("equals", "in") and not isinstance(test.operand, FieldRef)
            for test in self.tests
        )

    @property
    def only_lower_bounds(self) -> bool:
        """Whether a larger number can never spoil it."""
        return all(test.operator in ("gte", "gt") for test in self.tests)


def quantity(text: str) -> float | None:
    """Return the number that ``1GiB``, ``30s`` or ``5m`` stands for, None for other texts.

    Sizes end in B and are powers of two, times are in seconds; a number without unit is neither.

    >>> quantity("2KiB"), quantity("5m"), quantity("250ms"), quantity("12")
    (2048.0, 300.0, 0.25, None)
    """
    if not re.fullmatch(r"\s*-?\d+(?:\.\d+)?\s*[A-Za-z]+\s*", text):
        return None
    for convert in (seconds, size):
        try:
            return float(convert(text))
        except ValueError:
            continue
    return None


def number(value: Any) -> float | None:
    """Return a value as a number, where it is one or its text is one."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return quantity(value)
    return None


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are the same; ``3`` equals ``"3"``, true equals ``"True"``."""
    if isinstance(left, bool) or isinstance(right, bool):
        return str(left).lower() == str(right).lower()
    if isinstance(left, str) == isinstance(right, str):
        return bool(left == right)
    one, other = number(left), number(right)
    return one is not None and one == other


def _test(test: Test, value: Any, lookup: Lookup) -> bool:
    if test.operator == "exists":
        return (value is not None) == bool(test.operand)
    if value is None:
        return False
    if test.operator == "same_as":
        return any(equal(value, other) for other in lookup(test.operand) if other is not None)
    operand = test.operand
    if isinstance(operand, FieldRef):
        operand = _referred(operand, lookup)
        if operand is None:
            return False
    return _CHECKS[test.operator](value, operand)


def _referred(reference: FieldRef, lookup: Lookup) -> Any:
    value = next((item for item in lookup(reference.field) if item is not None), None)
    amount = number(value)
    return value if amount is None or reference.times == 1.0 else amount * reference.times


def _order(accept: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    def check(value: Any, operand: Any) -> bool:
        left, right = number(value), number(operand)
        return left is not None and right is not None and accept(left, right)

    return check


def _not(value: Any, operand: Any) -> bool:
    if isinstance(operand, Comparison):
        return not operand.holds(value)
    return not equal(value, operand)


def _contains(value: Any, operand: Any) -> bool:
    if isinstance(value, list):
        return any(equal(member, operand) for member in value)
    return str(operand) in str(value)


def _matches(value: Any, operand: Any) -> bool:
    try:
        return compiled(operand).search(str(value), timeout=TIMEOUT) is not None
    except TimeoutError:
        return False


def _in_network(value: Any, operand: Any) -> bool:
    try:
        return ipaddress.ip_address(str(value)) in ipaddress.ip_network(operand, strict=False)
    except ValueError:
        return False


def _nothing(_path: str) -> Sequence[Any]:
    return ()


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> "regex.Pattern[str]":
    """Return a compiled regular expression, made once."""
    return regex.compile(pattern)


_CHECKS: Mapping[str, Callable[[Any, Any], bool]] = {
    "gte": _order(lambda left, right: left >= right),
    "gt": _order(lambda left, right: left > right),
    "lte": _order(lambda left, right: left <= right),
    "lt": _order(lambda left, right: left < right),
    "equals": equal,
    "not": _not,
    "in": lambda value, operand: any(equal(value, member) for member in operand),
    "contains": _contains,
    "startswith": lambda value, operand: str(value).startswith(str(operand)),
    "regex": _matches,
    "cidr": _in_network,
}
