"""The baseline that a healthy run makes: what it measured, of how many GPUs, with which work."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median_low

from diagnose.facts.baseline.comparable import Shape, shape_of
from diagnose.facts.baseline.known import BENCHES, table
from diagnose.facts.baseline.measure import bandwidth, level
from diagnose.facts.case import Case
from diagnose.filters import size
from diagnose.model.baseline import Baseline, Expectation
from diagnose.model.event import Event

SHOWN = {"bytes": "GiB", "share": "share"}
"""Units that a file states in place of the canonical ones."""


def draft(case: Case, file: str) -> Baseline:
    """Return the baseline of a run; it has no tests where nothing was measured.

    Args:
        case: The run.
        file: What the baseline will be called.
    """
    shape = shape_of(case)
    report = case.job.report
    work = {name: report.marks[name] for name in table()["same_work"] if name in report.marks}
    return Baseline(
        file=file,
        tests=(*_metrics(case, shape), *_benches(case)),
        versions={name: one for name, one in report.versions.items() if one is not None},
        parallel={name: size for name, size in report.parallel.items() if size is not None},
        marks={**work, **{name: text for name, text in report.marks.items() if name not in work}},
    )


def _metrics(case: Case, shape: Shape) -> Iterator[Expectation]:
    known = table()
    [model] = shape.models if len(shape.models) == 1 else [None]
    gpus = shape.gpus
    where = f" on {gpus} GPU{'s' * (gpus != 1)}" if gpus else ""
    for metric, meaning in known["metrics"].items():
        found = level(metric, case)
        if found is None or not found.value > 0:
            continue
        unit = SHOWN.get(meaning["unit"], meaning["unit"])
        yield Expectation(
            name=f"{metric}{where}",
            line=0,
            metric=metric,
            gpus=gpus,
            nodes=shape.nodes,
            gpu=model,
            unit=unit,
            scale=known["units"][meaning["unit"]][unit],
            expected=_digits(found.value / known["units"][meaning["unit"]][unit]),
            better=meaning["better"],
            ok=known["ok"],
            warning=known["warning"],
        )


def _benches(case: Case) -> Iterator[Expectation]:
    """Yield one row for all tests of one kind: the middle one of them."""
    known = table()
    alike: dict[tuple[str, int, int, str | None], list[Event]] = defaultdict(list)
    for event in (event for name in BENCHES for event in case.named(name)):
        fields = event.fields
        bench, ranks, nodes = (fields.get(name) for name in ("collective", "ranks", "nodes"))
        if bench in known["benchmarks"] and isinstance(ranks, int) and isinstance(nodes, int):
            model = fields.get("gpu_model")
            key = str(bench), ranks, nodes, None if model is None else str(model)
            alike[key].append(event)
    for (bench, ranks, nodes, model), events in sorted(alike.items(), key=lambda one: one[0][:3]):
        least = None if all(bandwidth(event, None) for event in events) else _common_size(events)
        rates = [rate for event in events if (rate := bandwidth(event, least)) is not None]
        if not rates:
            continue
        where = f"on {nodes} nodes" if nodes > 1 else "in one node"
        large = "" if least is None else f", messages of {size(least)}"
        yield Expectation(
            name=f"{bench} of {ranks} {model or 'GPUs'} {where}{large}",
            line=0,
            bench=bench,
            gpus=ranks,
            nodes=nodes,
            size=least,
            gpu=model,
            unit="GB/s",
            expected=_digits(median_low(rates)),
            ok=known["ok"],
            warning=known["warning"],
        )


def _common_size(events: list[Event]) -> int | None:
    """Return the largest message that all of some tests sent."""
    sent = [set(sizes) for event in events if isinstance(sizes := event.fields.get("sizes"), list)]
    common = [size for size in set.intersection(*sent) if isinstance(size, int)] if sent else []
    return max(common, default=None)


def _digits(value: float) -> float:
    return float(f"{value:.4g}")
