"""What a report for people says and in which order; the text and Markdown renderers draw it.

The order: what is wrong and who, how sure, the proof, what it explains, what to do, what was
checked, what could not be checked, other things seen.
"""

from collections.abc import Iterator, Sequence

from diagnose.filters import size
from diagnose.model.report import Finding, ReportData
from diagnose.model.taxonomy import UNKNOWN_OWNER
from diagnose.render import surroundings
from diagnose.render.blocks import (
    Block,
    Command,
    Group,
    Heading,
    Headline,
    Item,
    Note,
    Proof,
    Prose,
)
from diagnose.render.curves import curves
from diagnose.render.sentences import translated
from diagnose.render.who import culprits
from diagnose.render.words import Language, owner, phrase

PROOFS = 3
"""Places shown for one finding unless all are asked for."""

ENTRIES = 3
"""Entries of a list shown unless all are asked for."""

SHORT_GROUPS = ("confirm", "fix")
"""Groups of steps in the short report."""

GROUPS = ("confirm", "fix", "prevent", "not_if")


def outline(report: ReportData, *, lang: Language = "en", verbose: bool = False) -> list[Block]:
    """Return the blocks of a report in reading order.

    Args:
        report: What to show.
        lang: Language of the words around the findings.
        verbose: All proof, steps, alternatives, the timeline, unknown errors and skipped inputs.
    """
    answers = leading(report)
    blocks = list(_opening(report, answers, lang))
    for number, finding in enumerate(answers, start=1):
        blocks += _finding(report, finding, number, len(answers), lang, verbose)
    blocks += surroundings.around(report, answers, lang, verbose)
    return blocks


def leading(report: ReportData) -> list[Finding]:
    """Return the findings that are the answer: the roots.

    Where nothing is sure enough to be a root, the first symptoms stand in for it. Suppressed
    findings never lead.
    """
    counted = [finding for finding in report.findings if finding.suppressed is None]
    roots = [finding for finding in counted if finding.role == "root"]
    if roots or report.verdict != "symptoms-only":
        return roots
    return [finding for finding in counted if finding.role == "contributing"][:ENTRIES]


def _opening(report: ReportData, answers: Sequence[Finding], lang: Language) -> Iterator[Block]:
    if report.inputs.partial is not None:
        extent = report.inputs.partial
        if extent.found is None:
            note = phrase(lang, "partial-pipe", read=size(extent.read))
        else:
            note = phrase(lang, "partial-note", read=size(extent.read), found=size(extent.found))
        yield Headline(label(lang, phrase(lang, "partial")), note, "unsure")
    if report.verdict == "root-cause" and answers:
        if len(answers) > 1:
            total = phrase(lang, "root-causes", total=len(answers))
            yield Headline(label(lang, total), translated(lang, report.summary), "bad")
        return
    if report.verdict in ("healthy", "no-evidence"):
        # The summary of these says the same as the headline.
        tone = "good" if report.verdict == "healthy" else "unsure"
        yield Headline(phrase(lang, report.verdict), "", tone)
        read = report.inputs.lines > 0 or report.verdict == "healthy"
        yield Prose(phrase(lang, f"{report.verdict}-note" if read else "no-input-note"))
        return
    verdict = phrase(lang, report.verdict)
    yield Headline(label(lang, verdict), translated(lang, report.summary), "unsure")


def label(lang: Language, name: str) -> str:
    """Return a name with the colon of the language, as it stands before what it names."""
    return phrase(lang, "label", name=name)


def _finding(
    report: ReportData, finding: Finding, number: int, total: int, lang: Language, verbose: bool
) -> Iterator[Block]:
    heading = label(lang, _rank_of(report, finding, number, total, lang))
    yield Headline(heading, _what_and_who(finding, lang), "bad")
    yield Prose(_how_sure(finding, lang), label=label(lang, phrase(lang, "how-sure")))
    if finding.explanation:
        yield Prose(finding.explanation)
    yield from _proof(finding, lang, verbose)
    yield from curves(finding, lang, verbose)
    yield from _explained(report, finding, lang, verbose)
    if verbose and finding.alternatives:
        yield Heading(phrase(lang, "alternatives"))
        for other in finding.alternatives:
            yield Item(
                phrase(
                    lang,
                    "why-not",
                    cause=other.cause,
                    confidence=other.confidence,
                    why_not=other.why_not,
                )
            )
    yield from _steps(finding, lang, verbose)


def _rank_of(report: ReportData, finding: Finding, number: int, total: int, lang: Language) -> str:
    unsure = finding.role == "contributing" and finding.owner != UNKNOWN_OWNER
    if report.verdict == "symptoms-only" and unsure:
        return phrase(lang, "possible-cause")
    if report.verdict == "symptoms-only":
        return phrase(lang, "unexplained")
    if total > 1:
        return phrase(lang, "root-cause-of", number=number, total=total)
    return phrase(lang, "root-cause")


def _what_and_who(finding: Finding, lang: Language) -> str:
    unnamed = culprits(finding.culprit, lang, named_in=finding.title)
    return f"{finding.title} ({unnamed})" if unnamed else finding.title


def _how_sure(finding: Finding, lang: Language) -> str:
    # The bounds are part of the report's format: 0.85 confirmed, 0.6 likely, 0.35 possible.
    bounds = ((0.85, "confirmed"), (0.6, "likely"), (0.35, "possible"))
    word = next((word for bound, word in bounds if finding.confidence >= bound), "weak")
    kind = phrase(
        lang,
        "kind",
        level=phrase(lang, finding.level),
        stage=_stage(finding.stage, lang),
        cause=finding.cause,
        owner=owner(lang, finding.owner),
    )
    parts = [phrase(lang, word, confidence=finding.confidence), kind]
    if finding.symptoms:
        key = "symptoms" if len(finding.symptoms) > 1 else "symptom"
        parts.append(phrase(lang, key, numbers=", ".join(map(str, finding.symptoms))))
    return phrase(lang, "clauses").join(parts)


def _stage(stage: str, lang: Language) -> str:
    # The stage of a rule pack's own cause is one of the four as well, so words exist.
    return phrase(lang, stage)


def _proof(finding: Finding, lang: Language, verbose: bool) -> Iterator[Block]:
    if not finding.evidence:
        return
    yield Heading(phrase(lang, "proof"))
    shown = finding.evidence if verbose else finding.evidence[:PROOFS]
    for place in shown:
        yield Proof(place.place, place.text, whole=verbose)
    if len(shown) < len(finding.evidence):
        yield Note(phrase(lang, "more", count=len(finding.evidence) - len(shown)))


def _explained(
    report: ReportData, finding: Finding, lang: Language, verbose: bool
) -> Iterator[Block]:
    by_key = {item.key: item for item in report.findings}
    by_rule: dict[str, list[Finding]] = {}
    for key in finding.explains:
        if key in by_key:
            by_rule.setdefault(by_key[key].id, []).append(by_key[key])
    if not by_rule:
        return
    yield Heading(phrase(lang, "explains"))
    kinds = list(by_rule.values())
    shown = kinds if verbose else kinds[:ENTRIES]
    for effects in shown:
        records = sum(effect.count for effect in effects)
        yield Item(
            phrase(
                lang,
                "findings" if len(effects) > 1 else "records",
                title=effects[0].title,
                findings=len(effects),
                more=len(effects) - 1,
                count=records,
            )
        )
    if len(shown) < len(kinds):
        yield Note(phrase(lang, "more", count=len(kinds) - len(shown)))


def _steps(finding: Finding, lang: Language, verbose: bool) -> Iterator[Block]:
    playbook = finding.playbook
    if playbook is None:
        return
    yield Heading(label(lang, phrase(lang, "todo")) + playbook.title)
    number = hidden = 0
    for group in GROUPS:
        steps = [step for step in playbook.steps if step.group == group]
        limit = len(steps) if verbose else ENTRIES if group in SHORT_GROUPS else 0
        hidden += len(steps[limit:])
        if steps[:limit]:
            yield Group(phrase(lang, group))
        for step in steps[:limit]:
            number += 1
            tag = "" if step.kind == "observe" else phrase(lang, step.kind)
            yield Item(step.text, number=0 if group == "not_if" else number, tag=tag)
            if step.command:
                yield Command(step.command)
            if step.expect:
                yield Note(phrase(lang, "expect", text=step.expect))
            if step.otherwise and verbose:
                yield Note(phrase(lang, "otherwise", text=step.otherwise))
    if hidden:
        yield Note(phrase(lang, "more", count=hidden))
