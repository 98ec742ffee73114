"""What the logs show of an expectation."""

from dataclasses import dataclass

from diagnose.facts.baseline.comparable import other_gpus, other_work, shape_of
from diagnose.facts.baseline.gpu_names import same_model
from diagnose.facts.baseline.known import BENCHES, EFFICIENCY, table
from diagnose.facts.case import Case
from diagnose.facts.series import evaluate
from diagnose.model.baseline import Baseline, Expectation
from diagnose.model.event import Event, Value

RATES = ("tokens_per_s_gpu", "tflops", "samples_per_s", "tokens_per_s")
"""Metrics of which an efficiency can be worked out, the ones of one GPU first."""

OF_ONE_GPU = frozenset(RATES[:2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement, in canonical units, and where it stands.

    Args:
        value: What was measured.
        file: Of the place that shows it.
        line: Of the place that shows it.
        hosts: The hosts that fall behind, where tests of several hosts differ.
        tests: How many tests it is the worst of.
        own_base: An efficiency against what one GPU of these runs gives, not one as it should be.
    """

    value: float
    file: str
    line: int
    hosts: tuple[str, ...] = ()
    tests: int = 1
    own_base: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why nothing can be said.

    Args:
        reason: In words.
        comparable: Whether the logs lack it; if not, they hold it of another kind of run.
    """

    reason: str
    comparable: bool


def measure(test: Expectation, baseline: Baseline, case: Case) -> Measured | Unknown:
    """Return what a file states or the logs show of an expectation, or why they do not."""
    if test.measured is not None:
        return Measured(value=test.measured * test.scale, file=baseline.file, line=test.line)
    if test.bench is not None:
        return _bench(test, case)
    if test.metric == EFFICIENCY:
        return _efficiency(test, baseline, case)
    if test.metric is None:
        return Unknown("its result is not stated under 'measured'", True)
    if test.metric in OF_ONE_GPU and (several := _at_size(test, case)) is not None:
        rates, place, event = several
        if event.fields.get("metric") == test.metric:
            return Measured(value=rates[place], file=event.file, line=event.line)
    if not case.series(test.metric):
        return Unknown(f"the logs hold no {test.metric}", True)
    why = other_gpus(test, case) or other_work(baseline, case)
    if why is not None:
        return Unknown(why, False)
    found = level(test.metric, case)
    return found or Unknown(f"the logs hold no finite {test.metric}", True)


def level(metric: str, case: Case) -> Measured | None:
    """Return the median of a metric after warm-up over all ranks, None if the logs lack it."""
    result = evaluate(case, metric, skip=table()["warm_up"])
    if result is None:
        return None
    [spot] = next(iter(result.by_key.values())).spots
    return Measured(value=spot.value, file=spot.file, line=spot.line)


def _efficiency(test: Expectation, baseline: Baseline, case: Case) -> Measured | Unknown:
    """Return the rate of one GPU over that of fewer GPUs: of other runs, else as is expected."""
    several = _at_size(test, case)
    if several is not None:
        rates, place, event = several
        value = rates[place] / rates[0]
        return Measured(value=value, file=event.file, line=event.line, own_base=True)
    for metric in RATES:
        fewer = [
            one
            for one in baseline.tests
            if one.metric == metric and one.gpus and test.gpus and one.gpus < test.gpus
        ]
        if not fewer or not case.series(metric):
            continue
        if why := other_gpus(test, case):
            return Unknown(why, False)
        found = level(metric, case)
        if found is None:
            continue
        base = min(fewer, key=lambda one: one.gpus or 0)
        expected = base.expected * base.scale
        if metric not in OF_ONE_GPU:
            expected *= (test.gpus or 1) / (base.gpus or 1)
        return Measured(value=found.value / expected, file=found.file, line=found.line)
    reason = f"it takes runs at two sizes, or {RATES[0]} of this run and a row for fewer GPUs"
    return Unknown(reason, True)


def _at_size(test: Expectation, case: Case) -> tuple[list[float], int, Event] | None:
    """Return the rates of one GPU in runs at several sizes, and which of them a row speaks of."""
    for event in case.named("train.scaling_efficiency"):
        sizes, rates = event.fields.get("sizes"), event.fields.get("per_gpu")
        if not isinstance(sizes, list) or not isinstance(rates, list):
            continue
        if event.fields.get("unit") == "gpus" and test.gpus in sizes:
            known = [float(rate) for rate in rates if isinstance(rate, int | float)]
            return known, sizes.index(test.gpus), event
    return None


def bandwidth(event: Event, size: int | None) -> float | None:
    """Return the bus bandwidth of a test at a message size, in GB/s; None if it lacks that size.

    Args:
        event: A test of a collective.
        size: Bytes; None means the plateau of large messages.
    """
    if size is not None:
        sizes, rates = event.fields.get("sizes"), event.fields.get("busbws")
        if not isinstance(sizes, list) or not isinstance(rates, list) or size not in sizes:
            return None
        return _number(rates[sizes.index(size)])
    reached = event.fields.get("plateau_size")
    large = isinstance(reached, int) and reached >= table()["plateau"]
    return _number(event.fields.get("plateau_busbw")) if large else None


def _bench(test: Expectation, case: Case) -> Measured | Unknown:
    """Return the worst of the tests that are like an expectation."""
    found = [
        event
        for name in BENCHES
        for event in case.named(name)
        if event.fields.get("collective") == test.bench and event.fields.get("rows")
    ]
    if not found:
        return Unknown(f"the logs hold no test of {test.bench}", True)
    alike = [event for event in found if _alike(test, event, case)]
    if not alike:
        ran = ", ".join(sorted({_ran(event) for event in found}))
        return Unknown(f"it is for {_wanted(test)}; the logs hold {ran}", False)
    rates = [(rate, event) for event in alike if (rate := bandwidth(event, test.size)) is not None]
    if not rates:
        size = "1 GiB and more" if test.size is None else f"{test.size:,} bytes"
        return Unknown(f"the test has no messages of {size}", False)
    worst, event = min(rates, key=lambda pair: pair[0])
    behind = [one for rate, one in rates if rate < test.ok * test.expected * test.scale]
    named = {one.host for one in behind if one.host is not None}
    hosts = tuple(sorted(named)) if len(behind) < len(rates) or len(rates) == 1 else ()
    return Measured(value=worst, file=event.file, line=event.line, hosts=hosts, tests=len(rates))


def _alike(test: Expectation, event: Event, case: Case) -> bool:
    model = event.fields.get("gpu_model")
    models = [str(model)] if model is not None else sorted(shape_of(case).models)
    return (
        _equal(test.gpus, event.fields.get("ranks"))
        and _equal(test.nodes, event.fields.get("nodes"))
        and all(same_model(test.gpu, one) for one in models)
    )


def _equal(wanted: int | None, found: Value) -> bool:
    return wanted is None or wanted == found


def _wanted(test: Expectation) -> str:
    gpus = f"{test.gpus} {test.gpu or 'GPUs'}" if test.gpus else str(test.gpu or "other GPUs")
    return f"{gpus} on {test.nodes} nodes" if test.nodes and test.nodes > 1 else gpus


def _ran(event: Event) -> str:
    ranks, nodes, model = (event.fields.get(name) for name in ("ranks", "nodes", "gpu_model"))
    gpus = f"{ranks or 'an unknown number of'} {model or 'GPUs'}"
    return f"{gpus} on {nodes} nodes" if isinstance(nodes, int) and nodes > 1 else gpus


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None
