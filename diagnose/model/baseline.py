"""What a team expects of its machines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Better = Literal["larger", "smaller"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One row of a baseline file: what is measured, of how many GPUs, and what it should give.

    Args:
        name: As the team calls it; unique in the file.
        line: Where it stands in the file.
        metric: Canonical name of a series, else None.
        bench: Collective of a bandwidth test, else None.
        test: Any other test in words or as a command, else None.
        gpus: How many GPUs take part, None if not stated.
        nodes: Over how many nodes, likewise.
        size: Bytes of a message of a bandwidth test; None means the plateau of large ones.
        gpu: Model of the GPUs, such as ``H100``.
        unit: Of ``expected`` and ``measured``.
        scale: Factor from ``unit`` to the canonical unit.
        expected: What a healthy machine gives.
        measured: What a person measured; it is judged in place of the logs.
        better: Which side of the expectation is good.
        ok: Least ratio that is ok.
        warning: Least ratio that is not a failure.
    """

    name: str
    line: int
    metric: str | None = None
    bench: str | None = None
    test: str | None = None
    gpus: int | None = None
    nodes: int | None = None
    size: int | None = None
    gpu: str | None = None
    unit: str = ""
    scale: float = 1.0
    expected: float
    measured: float | None = None
    better: Better = "larger"
    ok: float
    warning: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A baseline file.

    Args:
        file: As the user named it.
        tests: In the order of the file.
        versions: Of the run it was taken from, by name.
        parallel: Parallel sizes of that run, by name.
        marks: Settings of that run, by name.
    """

    file: str
    tests: tuple[Expectation, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    parallel: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
