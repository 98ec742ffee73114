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
    def key(self) -> str:
        """The name as the functions know it."""
        return self.name.replace("-", "_")


@dataclass(frozen=True)
class Result:
    """One value that a calculator gives.

    Args:
        name: What it is, in words.
        value: In base units.
        unit: What it counts.
    """

    name: str
    value: float
    unit: Unit


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
        except ArithmeticError as error:
            raise ValueError(OUT_OF_RANGE) from error
        if not all(isfinite(one.value) for one in found):
            raise ValueError(OUT_OF_RANGE)
        return found


def given(values: Values, key: str) -> float:
    """Return a value.

    Raises:
        ValueError: It was left out.
    """
    value = values[key]
    if value is None:
        raise ValueError(f"--{key.replace('_', '-')} is missing")
    return value


def positive(values: Values, *keys: str) -> None:
    """Check values that stand below a line or under a root.

    Raises:
        ValueError: One of them is zero.
    """
    for key in keys:
        if values[key] is not None and values[key] == 0:
            raise ValueError(f"--{key.replace('_', '-')} must be above zero")
