"""Which rows speak of a run like this one: the same GPUs, as many of them, the same work."""

from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.facts.baseline.gpu_names import same_model
from diagnose.facts.baseline.known import BENCHES, table
from diagnose.facts.case import Case
from diagnose.model.baseline import Baseline, Expectation


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides whether numbers of two runs compare; None and empty where the logs do not say.

    Args:
        gpus: World size.
        nodes: Hosts that ranks are placed on.
        models: Names of the GPUs.
    """

    gpus: int | None
    nodes: int | None
    models: frozenset[str]


def shape_of(case: Case) -> Shape:
    """Return the shape of the run."""
    world = case.job.report.world_size
    placed = case.job.placements
    hosts = {process.host for process in placed.values() if process.host is not None}
    complete = world is not None and len(placed) == world
    return Shape(world, len(hosts) if complete and hosts else None, frozenset(_models(case)))


def _models(case: Case) -> Iterator[str]:
    named = ("nvidia_smi.gpu", "name"), *((name, "gpu_model") for name in BENCHES)
    for name, field in named:
        for event in case.named(name):
            if isinstance(model := event.fields.get(field), str):
                yield model


def other_gpus(test: Expectation, case: Case) -> str | None:
    """Return why an expectation is for other GPUs than those of a run, None if it is not."""
    shape = shape_of(case)
    if test.gpus is not None and shape.gpus is None:
        return f"it is for {_gpus(test.gpus)}; the logs do not say how many ran"
    if test.gpus is not None and test.gpus != shape.gpus:
        return f"it is for {_gpus(test.gpus)}; this run has {shape.gpus}"
    if test.nodes is not None and shape.nodes is not None and test.nodes != shape.nodes:
        return f"it is for GPUs on {test.nodes} nodes; this run has {shape.nodes}"
    if not all(same_model(test.gpu, model) for model in shape.models):
        return f"it is for {test.gpu}; this run has {', '.join(sorted(shape.models))}"
    return None


def other_work(baseline: Baseline, case: Case) -> str | None:
    """Return why a step of a run is other work than one of the baseline's, None if it is not."""
    report, known = case.job.report, table()
    for name in known["same_work"]:
        if why := _differs(name, baseline.marks.get(name), report.marks.get(name)):
            return why
    for name in known["same_layout"]:
        if why := _differs(name, baseline.parallel.get(name), report.parallel.get(name)):
            return why
    return None


def expected_of(case: Case, metric: str) -> float | None:
    """Return what the baseline of a case expects of a metric, in canonical units.

    Returns:
        None without a baseline, or where no row of it speaks of a run like this one.
    """
    baseline = case.baseline
    if baseline is None or other_work(baseline, case) is not None:
        return None
    for test in baseline.tests:
        if test.metric == metric and other_gpus(test, case) is None:
            return test.expected * test.scale
    return None


def _differs(name: str, before: str | int | None, now: str | int | None) -> str | None:
    if before is None or now is None or before == now:
        return None
    return f"the baseline was made with {name} {before}; this run has {now}"


def _gpus(count: int) -> str:
    return f"{count} GPU" if count == 1 else f"{count} GPUs"
