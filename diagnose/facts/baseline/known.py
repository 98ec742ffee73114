"""The shipped table ``rules/baseline.yaml``, and which kind of row an expectation is."""

from functools import cache
from typing import Any

from diagnose import shipped
from diagnose.model.baseline import Expectation
from diagnose.model.comparison import Kind

EVENTS = ("baseline.row",)
"""The event of a row that was measured."""

BENCHES = ("nccl_tests.result", "bench.collective")
"""Events of tests of collectives."""

EFFICIENCY = "scaling_efficiency"

NODE = 8
"""GPUs that one node holds where a row does not say on how many nodes its GPUs are."""


@cache
def table() -> dict[str, Any]:
    """Return the shipped table.

    Raises:
        InstallationError: The shipped rules are missing.
    """
    found: dict[str, Any] = shipped.table("baseline")
    return found


def kind_of(test: Expectation) -> Kind:
    """Return what a row speaks of: one GPU, the links of a node, the network, ..."""
    if test.bench is not None:
        inside = test.nodes == 1 if test.nodes is not None else (test.gpus or NODE) <= NODE
        return "node" if inside else "network"
    if test.metric is None:
        return "other"
    kind: Kind = table()["metrics"][test.metric]["kind"]
    return "gpu" if kind == "pace" and test.gpus == 1 else kind


def measures(test: Expectation) -> str:
    """Return what a row measures, in the words of the file."""
    if test.bench is not None:
        return f"{test.bench} bus bandwidth"
    return test.metric or test.test or ""
