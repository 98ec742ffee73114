"""How a run compares with a baseline; a part of the report."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["gpu", "node", "network", "scaling", "pace", "data", "memory", "other"]
Comparison = Literal["ok", "warning", "failure", "not-comparable", "not-measured"]


@dataclass(slots=True, kw_only=True)
class BaselineRow:
    """One expectation, held against what was measured.

    Args:
        name: Of the row.
        measures: What it measures, in the words of the file.
        kind: What it speaks of.
        gpus: How many GPUs take part, None if not stated.
        nodes: On how many nodes they are, likewise.
        unit: Of ``expected``, ``measured`` and ``predicted``.
        expected: What a healthy machine gives.
        measured: What was measured, None if nothing was.
        ratio: How good that is; under 1 is worse than expected, also where less is better.
        verdict: What follows from it.
        reason: Why nothing can be said, if so.
        question: Why the expectation itself is doubtful, if it is.
        predicted: What the rows of a smaller scope make of it, if they say anything of it.
        factors: Of which that is the product, empty where it is none.
        because: Names of those rows.
        covered: Share of the miss that they account for.
        file: Where the measurement stands.
        line: Where the measurement stands.
        command: How to measure it, where it was not.
    """

    name: str
    measures: str
    kind: Kind
    gpus: int | None = None
    nodes: int | None = None
    unit: str = ""
    expected: float
    measured: float | None = None
    ratio: float | None = None
    verdict: Comparison
    reason: str | None = None
    question: str | None = None
    predicted: float | None = None
    factors: list[float] = field(default_factory=list)
    because: list[str] = field(default_factory=list)
    covered: float | None = None
    file: str | None = None
    line: int | None = None
    command: str | None = None


@dataclass(slots=True, kw_only=True)
class BaselineTable:
    """A baseline and how the run compares with it."""

    file: str
    rows: list[BaselineRow]
