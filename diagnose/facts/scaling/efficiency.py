"""How much of the throughput of one GPU is left at more GPUs.

``train.scaling_efficiency`` is made of runs at two or more sizes, or of a table of them. With
``sizes`` in order and the throughput of one GPU at each (``per_gpu``, of ``metric``):
``efficiency`` at the largest ``size`` against the smallest, ``base_size``; ``kind`` is ``weak``
where the global batch grew with the size, ``strong`` where it stayed, None where unknown; ``unit``
is ``gpus`` or ``nodes``. The largest loss between two neighbouring sizes is ``drop``, from
``drop_from`` to ``drop_to``; ``shape`` says whether it comes with leaving the ``node``, as a
``collapse`` at one size, or ``steady``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from diagnose.facts import settings
from diagnose.facts.sizes import FEWEST_POINTS, RATES, Run
from diagnose.model.event import Event, Nature, Points, Value

EVENT = "train.scaling_efficiency"

POINT = "scaling.point"
"""A row of a table of sizes and throughput."""

PER_GPU = frozenset({"tokens_per_s_gpu", "tflops"})

WARM_UP = 5

NODE = 8
"""GPUs of a node where nothing says otherwise."""

NODE_LOSS, COLLAPSE, STEADY = 0.2, 0.3, 0.1
"""Losses that tell the shapes apart: on leaving the node, at one size, and that of a calm curve."""

ALIKE = 0.1
"""Share by which batches may differ and still be in proportion."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Throughput at one size.

    Args:
        size: GPUs.
        per_gpu: Throughput of one GPU.
        batch: Global batch, None if unknown.
    """

    size: int
    per_gpu: float
    batch: float | None


def efficiencies(runs: Sequence[Run], events: Iterable[Event]) -> Iterator[Event]:
    """Yield how the job scales, once for the runs and once for each table.

    Args:
        runs: By size.
        events: Of the input.
    """
    metric = next((one for one in RATES if runs and all(_rate(run, one) for run in runs)), None)
    if metric is not None and len(runs) > 1:
        samples = [
            Sample(run.size, rate, _batch(run)) for run in runs if (rate := _rate(run, metric))
        ]
        last = next(one for one in runs[-1].points if one.metric == metric)
        yield _event(samples, metric, "gpus", last.file, last.lines[-1])
    tables: dict[str, list[Event]] = {}
    for event in events:
        if event.name == POINT:
            tables.setdefault(event.file, []).append(event)
    for file, rows in tables.items():
        samples = _table(rows)
        if len(samples) > 1:
            metric, unit = (str(rows[0].fields.get(name)) for name in ("metric", "unit"))
            yield _event(samples, metric, unit, file, rows[-1].line)


def _table(rows: Sequence[Event]) -> list[Sample]:
    """Return the rows by size, of several for one size the median."""
    by_size: dict[int, list[Sample]] = {}
    for row in rows:
        size, rate, batch = (row.fields.get(name) for name in ("size", "per_gpu", "global_batch"))
        if isinstance(size, int) and isinstance(rate, float):
            known = batch if isinstance(batch, float) else None
            by_size.setdefault(size, []).append(Sample(size, rate, known))
    return [
        Sample(size, median(one.per_gpu for one in found), found[0].batch)
        for size, found in sorted(by_size.items())
    ]


def _rate(run: Run, metric: str) -> float | None:
    """Return the median throughput of one GPU by a metric, None where the run lacks it."""
    values = [value for points in run.points if points.metric == metric for value in _warm(points)]
    middle = median(values) if len(values) >= FEWEST_POINTS else 0.0
    if middle <= 0:
        return None
    if metric == "step_time":
        batch = _batch(run)
        return batch / middle / run.size if batch else None
    return middle if metric in PER_GPU else middle / run.size


def _warm(points: Points) -> list[float]:
    skipped = min(WARM_UP, len(points.values) // 4)
    return [value for value in points.values[skipped:] if value > 0]


def _batch(run: Run) -> float | None:
    logged = [points.values[-1] for points in run.points if points.metric == "global_batch"]
    if logged:
        return logged[-1]
    stated = settings.arguments(run.events).get("global_batch_size")
    return float(stated) if isinstance(stated, int | float) else None


def _event(samples: Sequence[Sample], metric: str, unit: str, file: str, line: int) -> Event:
    first, last = samples[0], samples[-1]
    drops = [(1 - b.per_gpu / a.per_gpu, a.size, b.size) for a, b in pairwise(samples)]
    drop, before, behind = max(drops)
    fields: dict[str, Value] = {
        "size": last.size,
        "base_size": first.size,
        "efficiency": last.per_gpu / first.per_gpu,
        "kind": _kind(first, last),
        "sizes": [one.size for one in samples],
        "per_gpu": [one.per_gpu for one in samples],
        "metric": metric,
        "drop": drop,
        "drop_from": before,
        "drop_to": behind,
        "unit": unit,
        "shape": _shape(drops, NODE if unit == "gpus" else 1),
    }
    curve = ", ".join(f"{one.size} {unit}: {one.per_gpu:.4g}" for one in samples)
    return Event(
        name=EVENT, nature=Nature.MEASUREMENT, file=file, line=line, end_line=line,
        text=f"{metric} of one of them: {curve}", fields=fields,
    )  # fmt: skip


def _kind(first: Sample, last: Sample) -> str | None:
    if not first.batch or not last.batch:
        return None
    grown = last.batch / first.batch
    if abs(grown - 1) <= ALIKE:
        return "strong"
    return "weak" if abs(grown / (last.size / first.size) - 1) <= ALIKE else None


def _shape(drops: Sequence[tuple[float, int, int]], node: int) -> str:
    drop, before, behind = max(drops)
    if before <= node < behind and drop > NODE_LOSS:
        return "node"
    others = [other for other, *sizes in drops if sizes != [before, behind]]
    calm = bool(others) and max(others) <= STEADY
    return "collapse" if drop > COLLAPSE and calm else "steady"
