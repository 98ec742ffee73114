"""The series behind a finding, for readers."""

from collections.abc import Iterator

from diagnose.filters import duration, percent, size
from diagnose.model.report import Curve, Finding
from diagnose.render.blocks import Block, Note, Sparkline
from diagnose.render.words import Language, phrase

CURVES = 3
"""Series of a finding that are shown unless all are asked for."""


def curves(finding: Finding, lang: Language, verbose: bool) -> Iterator[Block]:
    """Yield a row of bars for each series of a finding."""
    shown = finding.series if verbose else finding.series[:CURVES]
    for curve in shown:
        yield Sparkline(_named(curve, lang), tuple(curve.values), _said(curve, lang))
    if len(shown) < len(finding.series):
        yield Note(phrase(lang, "more", count=len(finding.series) - len(shown)))


def _named(curve: Curve, lang: Language) -> str:
    metric = curve.metric.replace("_", " ")
    if curve.rank is not None:
        return phrase(lang, "curve-of", metric=metric, who=f"rank {curve.rank}")
    return phrase(lang, "curve-of", metric=metric, who=curve.host) if curve.host else metric


def _said(curve: Curve, lang: Language) -> str:
    """Return what the numbers were and at which steps."""
    before, after = curve.before, curve.after
    if before is not None and after is not None:
        change = {"before": _shown(before, curve), "after": _shown(after, curve)}
        parts = [phrase(lang, "curve-change", **change)]
        if curve.step is not None:
            parts.append(phrase(lang, "curve-at", step=curve.step))
    elif curve.low is not None and curve.high is not None:
        ends = {"low": _shown(curve.low, curve), "high": _shown(curve.high, curve)}
        parts = [phrase(lang, "curve-range", **ends)]
    else:
        parts = []
    if curve.first_step is not None and curve.last_step is not None:
        ends = {"low": str(curve.first_step), "high": str(curve.last_step)}
        parts.append(phrase(lang, "curve-steps", **ends))
    if None in curve.values:
        parts.append(phrase(lang, "curve-nan"))
    return phrase(lang, "commas").join(parts)


def _shown(value: float, curve: Curve) -> str:
    if curve.unit == "s":
        return duration(value)
    if curve.unit == "bytes":
        return size(value)
    if curve.unit == "share":
        return percent(value)
    return f"{value:.4g} {curve.unit}" if curve.unit else f"{value:.4g}"
