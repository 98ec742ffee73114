"""How the run compares with a baseline, for people: a table, and what is to be said of its rows."""

from collections.abc import Iterator

from diagnose.filters import amount, percent
from diagnose.model.comparison import BaselineRow
from diagnose.model.report import ReportData
from diagnose.render.blocks import Block, Heading, Item, Table
from diagnose.render.sentences import translated
from diagnose.render.words import Language, phrase

TONES = {"ok": "good", "warning": "unsure", "failure": "bad"}


def compared(report: ReportData, lang: Language) -> Iterator[Block]:
    """Yield the blocks of the comparison, none without a baseline."""
    table = report.baseline
    if table is None:
        return
    yield Heading(phrase(lang, "baseline", file=table.file))
    head = ("test", "expected", "measured", "ratio", "judged")
    yield Table(
        head=tuple(phrase(lang, f"column-{name}") for name in head),
        rows=tuple(_cells(row, lang) for row in table.rows),
        tones=tuple(TONES.get(row.verdict, "none") for row in table.rows),
    )
    for row in table.rows:
        if row.question is not None:
            question = translated(lang, row.question)
            yield Item(phrase(lang, "row-question", name=row.name, question=question))
        if row.predicted is not None:
            yield Item(_predicted(row, lang))


def unmeasured(report: ReportData, lang: Language) -> list[str]:
    """Return what is to be said of the rows that could not be judged."""
    rows = report.baseline.rows if report.baseline is not None else []
    return [
        phrase(
            lang,
            "row-unmeasured",
            name=row.name,
            reason=translated(lang, row.reason or ""),
            command=row.command,
        )
        for row in rows
        if row.measured is None
    ]


def _cells(row: BaselineRow, lang: Language) -> tuple[str, ...]:
    measured = "-" if row.measured is None else amount(row.measured, row.unit)
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    judged = phrase(lang, f"row-{row.verdict}")
    return row.name, amount(row.expected, row.unit), measured, ratio, judged


def _predicted(row: BaselineRow, lang: Language) -> str:
    names = phrase(lang, "list").join(row.because)
    value = amount(float(f"{row.predicted or 0.0:.3g}"), row.unit)
    if len(row.factors) > 1:
        product = " x ".join(f"{factor:.2f}" for factor in row.factors)
        value = phrase(lang, "product", factors=product, value=value)
    share = percent(row.covered)
    return phrase(lang, "row-predicted", name=row.name, because=names, value=value, share=share)
