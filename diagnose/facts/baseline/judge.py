"""Holds a run against a baseline: a verdict for every row, and the event ``baseline.row``.

``baseline.row``
    One for each row that was measured: ``name``, ``measures``, ``kind``, ``gpus``, ``nodes``,
    ``unit``, ``expected``, ``measured``, ``ratio`` (under 1 is worse than expected, also where less
    is better), ``verdict``, and ``hosts``, those that fall behind their like. ``question`` says why
    the expectation is doubtful, ``healthy`` whether healthy machines give what was measured. Where
    smaller rows account for the miss: ``predicted`` (in the unit of the row), ``factors``,
    ``because`` (their names) and ``covered`` (the share of the miss).

Rows without a measurement are in the table of the report alone: they are no evidence.
"""

from collections.abc import Sequence

from diagnose.facts.baseline.comparable import shape_of
from diagnose.facts.baseline.known import EVENTS, kind_of, measures, table
from diagnose.facts.baseline.measure import Measured, Unknown, measure
from diagnose.facts.baseline.predict import covered, predict
from diagnose.facts.baseline.question import question
from diagnose.facts.case import Case
from diagnose.filters import amount, size
from diagnose.model.baseline import Baseline, Expectation
from diagnose.model.comparison import BaselineRow, BaselineTable, Comparison
from diagnose.model.event import Event, Nature, Value

LONGEST = 1e15
"""From here on numbers are shown with an exponent."""


def hold_against(baseline: Baseline, case: Case) -> BaselineTable:
    """Return how a run compares with a baseline, and add the events to the case.

    Args:
        baseline: What is expected.
        case: The run; the baseline becomes part of it.
    """
    case.baseline = baseline
    found = [measure(test, baseline, case) for test in baseline.tests]
    pairs = list(zip(baseline.tests, found, strict=True))
    rows = [_row(test, one) for test, one in pairs]
    models = shape_of(case).models
    doubts = [question(test, models, _value(one)) for test, one in pairs]
    for row, (doubt, _) in zip(rows, doubts, strict=True):
        row.question = doubt
    for row, (test, one) in zip(rows, pairs, strict=True):
        _explain(row, rows, test, own_base=isinstance(one, Measured) and one.own_base)
    last = max((event.attempt for event in case.events), default=0)
    case.add(
        [
            _event(row, one, healthy=well, attempt=last)
            for row, one, (_, well) in zip(rows, found, doubts, strict=True)
            if isinstance(one, Measured)
        ]
    )
    return BaselineTable(file=baseline.file, rows=rows)


def _row(test: Expectation, found: Measured | Unknown) -> BaselineRow:
    row = BaselineRow(
        name=test.name,
        measures=measures(test),
        kind=kind_of(test),
        gpus=test.gpus,
        nodes=test.nodes,
        unit=test.unit,
        expected=test.expected,
        verdict="not-measured",
    )
    if isinstance(found, Unknown):
        row.verdict = "not-measured" if found.comparable else "not-comparable"
        row.reason = found.reason
        row.command = command(test)
        return row
    row.measured = _digits(found.value / test.scale)
    row.ratio = _ratio(test, found.value)
    row.verdict = _verdict(test, row.ratio)
    row.file, row.line = found.file, found.line
    return row


def _ratio(test: Expectation, measured: float) -> float | None:
    """Return how good a measurement is, 1 for as expected; None if it cannot be any better."""
    expected = test.expected * test.scale
    if test.metric and table()["metrics"][test.metric].get("share") and expected < 1:
        return _digits((1 - measured) / (1 - expected))
    if test.better == "larger":
        return _digits(measured / expected)
    return _digits(expected / measured) if measured else None


def _verdict(test: Expectation, ratio: float | None) -> Comparison:
    if ratio is None or ratio >= test.ok:
        return "ok"
    return "warning" if ratio >= test.warning else "failure"


def command(test: Expectation) -> str:
    """Return how a row is measured."""
    kind = kind_of(test)
    form = kind if kind in ("node", "network", "scaling") else "metric" if test.metric else "other"
    text = str(table()["commands"][form])
    nodes = test.nodes or "<nodes>"
    per_node = test.gpus // test.nodes if test.gpus and test.nodes else "<gpus-per-node>"
    return text.format(
        bench=test.bench,
        metric=test.metric,
        test=test.test,
        size=size(test.size or table()["plateau"]).replace(" ", "").removesuffix("iB"),
        gpus=test.gpus or "<gpus>",
        nodes=nodes,
        per_node=per_node,
    )


def _explain(
    row: BaselineRow, rows: Sequence[BaselineRow], test: Expectation, *, own_base: bool
) -> None:
    """Say what the rows below a missed one make of it."""
    if row.verdict not in ("warning", "failure"):
        return
    found = predict(row, rows, test.scale, own_base=own_base)
    if found is not None:
        row.predicted = _digits(found.value)
        row.factors = [_digits(factor) for factor in found.factors]
        row.because = list(found.because)
        row.covered = covered(row, found.value)


def _event(row: BaselineRow, found: Measured, *, healthy: bool, attempt: int) -> Event:
    fields: dict[str, Value] = {
        "name": row.name,
        "measures": row.measures,
        "kind": row.kind,
        "gpus": row.gpus,
        "nodes": row.nodes,
        "unit": row.unit,
        "expected": _plain(row.expected),
        "measured": _plain(row.measured),
        "ratio": row.ratio,
        "verdict": row.verdict,
        "hosts": list(found.hosts),
        "tests": found.tests,
        "question": row.question,
        "healthy": healthy,
        "predicted": _plain(row.predicted),
        "factors": list(row.factors),
        "because": list(row.because),
        "covered": row.covered or 0.0,
    }
    measured, expected = amount(row.measured, row.unit), amount(row.expected, row.unit)
    text = f"{row.name}: {measured} measured, {expected} expected"
    return Event(
        name=EVENTS[0], nature=Nature.MEASUREMENT, file=found.file, line=found.line,
        end_line=found.line, text=text, fields=fields, attempt=attempt,
        host=found.hosts[0] if len(found.hosts) == 1 else None,
    )  # fmt: skip


def _value(found: Measured | Unknown) -> float | None:
    return found.value if isinstance(found, Measured) else None


def _plain(value: float | None) -> float | None:
    """Return a whole number without its point, as texts show it."""
    return int(value) if value is not None and value < LONGEST and value.is_integer() else value


def _digits(value: float) -> float:
    """Return a number to six digits: what is shown and what is judged are the same."""
    return float(f"{value:.6g}")
