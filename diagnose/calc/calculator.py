"""How a calculator is declared: its inputs, its results, and the formula it shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

from diagnose.calc.quantity import Unit

OUT_OF_RANGE = "these values have no result: one is too large, or one that divides is zero"

Values = Mapping[str, float | None]
"""Inputs by key, None where one was left out."""


@dataclass(frozen=True)
class Input:
    """One value that a calculator takes.

    Args:
        name: As in ``--micro-batches``, with a dash.
        unit: What it counts.
        help: What it means.
        default: As it would be typed; None where the value is required or, with ``optional``, may
            be left out.
        optional: Whether it may be left out.
    """

    name: str
    unit: Unit
    help: str
    default: str | None = None
    optional: bool = False

    @property
    def required(self) -> bool:
        """Whether it cannot be left out; a switch always can."""
        return self.default is None and not self.optional and self.unit is not Unit.SWITCH

    @property
    def key(self) -> str:
        """The name as the functions know it."""
        return self.name.replace("-", "_")


@dataclass(frozen=True)
class Result:
    """One value that a calculator gives.

    Args:
        name: What it is, in words.
        value: In base units, None where the formula says nothing of these values.
        unit: What it counts.
        reason: Why there is no value.
    """

    name: str
    value: float | None
    unit: Unit
    reason: str | None = None


@dataclass(frozen=True)
class Calculator:
    """One formula with its inputs.

    Args:
        name: As in ``diagnose calc bubble``.
        title: What it tells, in one line.
        formula: As a person writes it.
        inputs: In the order of the help page.
        compute: Gets the values by key and gives the results. Raises ``ValueError`` for values that
            make no sense together.
        reading: How to read the results.
    """

    name: str
    title: str
    formula: str
    inputs: tuple[Input, ...]
    compute: Callable[[Values], list[Result]]
    reading: str

    def results(self, values: Values) -> list[Result]:
        """Return what comes out.

        Raises:
            ValueError: A value is missing or makes no sense; the message says which and why.
        """
        try:
            found = self.compute(values)
            finite = all(isfinite(one.value) for one in found if one.value is not None)
        except ArithmeticError as error:
            raise ValueError(OUT_OF_RANGE) from error
        if not finite:
            raise ValueError(OUT_OF_RANGE)
        return found


def given(values: Values, key: str) -> float:
    """Return a value.

    Raises:
        ValueError: It was left out.
    """
    value = values[key]
    if value is None:
        raise ValueError(f"{_option(key)} is missing")
    return value


def positive(values: Values, *keys: str) -> None:
    """Check values that stand below a line or under a root.

    Raises:
        ValueError: One of them is zero.
    """
    for key in keys:
        if values[key] is not None and values[key] == 0:
            raise ValueError(f"{_option(key)} must be above zero")


def apart(values: Values, key: str, *others: str) -> None:
    """Check that a value is not given beside others that say the same or contradict it.

    Raises:
        ValueError: It is; the message names both.
    """
    if values[key] is not None and all(values[other] is not None for other in others):
        beside = " and ".join(_option(other) for other in others)
        raise ValueError(f"{_option(key)} cannot be given with {beside}; leave one out")


def with_its_own(values: Values, key: str, *needed: str) -> None:
    """Check that a value is not given without others, without which nothing uses it.

    Raises:
        ValueError: It is; the message names both.
    """
    missing = [_option(other) for other in needed if values[other] in (None, False)]
    if values[key] is not None and missing:
        raise ValueError(f"{_option(key)} needs {' and '.join(missing)} as well")


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"
