"""What a report says beyond the answer: the job, the stages, what is missing, other findings."""

from collections.abc import Iterator, Sequence

from diagnose.filters import duration, percent, ranges, size
from diagnose.model.report import Finding, ReportData
from diagnose.render import comparison
from diagnose.render.blocks import Block, Heading, Item, Note, Prose, StageRow
from diagnose.render.sentences import translated
from diagnose.render.who import first_names
from diagnose.render.words import Language, phrase

ENTRIES = 5
"""Entries of a list shown unless all are asked for."""

GOOD = 0.9
"""Goodput from which on the short report does not speak of it."""

LONG = 3600.0
"""Seconds of a run from which on the short report speaks of its goodput."""

SMALL = 0.005
"""Share of the run under which a part of its time is not shown."""

TIMES = (
    "productive", "warm_up", "lost_work", "save", "evaluation", "stall", "restart", "unknown",
)  # fmt: skip

_TONES = {"clear": "good", "fault": "bad", "suspect": "unsure", "no-evidence": "none"}


def around(
    report: ReportData, answers: Sequence[Finding], lang: Language, verbose: bool
) -> Iterator[Block]:
    """Yield the blocks that follow the answers.

    Args:
        report: What to show.
        answers: The findings that were shown in full.
        lang: Language of the words around the findings.
        verbose: Without limits, with the timeline and every unknown error.
    """
    yield from _job(report, lang)
    yield from _time(report, lang, verbose)
    yield from comparison.compared(report, lang)
    yield Heading(phrase(lang, "checked"))
    for name, stage in report.stages.items():
        state = "state-no-evidence" if stage.state == "no-evidence" else stage.state
        checked = phrase(lang, "rules-checked", count=stage.checked)
        tone = _TONES[stage.state]
        why = translated(lang, stage.why)
        words = phrase(lang, name)
        label = phrase(lang, "label", name=words)
        yield StageRow(words, phrase(lang, state), checked, why, tone, label)
    inputs = report.inputs
    read = phrase(
        lang,
        "inputs",
        files=f"{inputs.files:,}",
        lines=f"{inputs.lines:,}",
        bytes=size(inputs.bytes),
    )
    yield Prose(read, label=phrase(lang, "label", name=phrase(lang, "read")))
    yield from _section("unchecked", _unchecked(report, lang), lang, verbose)
    yield from _section("others", _others(report, answers, lang), lang, verbose)
    yield from _section("unknown-errors", _unknown(report, lang), lang, verbose)
    if verbose and report.timeline:
        yield Heading(phrase(lang, "timeline"))
        for moment in report.timeline:
            who = [f"rank {moment.rank}"] if moment.rank is not None else []
            who += [moment.host] if moment.host else []
            where = f" ({', '.join(who)})" if who else ""
            time = f"{moment.time}  " if moment.time else ""
            yield Item(f"{time}{moment.what}{where}")


def _job(report: ReportData, lang: Language) -> Iterator[Block]:
    job = report.job
    parts = []
    if job.framework:
        parts.append(job.framework)
    if job.world_size:
        parts.append(phrase(lang, "world", count=job.world_size))
    if job.hosts:
        parts.append(phrase(lang, "on-hosts", names=first_names(job.hosts)))
    parts += [f"{name} {version}" for name, version in job.versions.items() if version]
    parts += [f"{name} {size}" for name, size in job.parallel.items() if size is not None]
    if job.attempts > 1:
        parts.append(phrase(lang, "attempts", count=job.attempts))
    if job.last_progress:
        step, time = job.last_progress.get("step"), job.last_progress.get("time")
        if step is not None:
            parts.append(phrase(lang, "at-step-time" if time else "at-step", step=step, time=time))
        elif time:
            parts.append(phrase(lang, "at-time", time=time))
    if job.checkpoint:
        parts.append(phrase(lang, "resume-from", path=job.checkpoint.get("path")))
    parts += [f"{name}={value}" for name, value in job.marks.items()]
    if parts:
        yield Heading(phrase(lang, "job"))
        yield Prose(", ".join(parts))


def _time(report: ReportData, lang: Language, verbose: bool) -> Iterator[Block]:
    """Yield where the time of the run went, where much of it did not train."""
    spent = report.goodput
    if spent is None or not (verbose or (spent.goodput < GOOD and spent.wall >= LONG)):
        return
    shares = {"goodput": percent(spent.goodput), "ettr": percent(spent.ettr)}
    parts = [phrase(lang, "time-shares", wall=duration(spent.wall), **shares)]
    for name in TIMES:
        seconds: float = getattr(spent, name)
        if seconds >= SMALL * spent.wall:
            words = phrase(lang, "unknown-time" if name == "unknown" else name)
            share = percent(seconds / spent.wall)
            parts.append(phrase(lang, "time-part", part=words, time=duration(seconds), share=share))
    yield Heading(phrase(lang, "time"))
    yield Prose(phrase(lang, "clauses").join([parts[0], phrase(lang, "commas").join(parts[1:])]))


def _unchecked(report: ReportData, lang: Language) -> list[str]:
    entries: dict[str, None] = {}
    for finding in report.findings:
        if finding.role == "root" or report.verdict == "symptoms-only":
            entries |= dict.fromkeys(finding.missing_evidence)
    if report.job.ranks_missing:
        missing = report.job.ranks_missing
        words = "no-log" if len(missing) == 1 else "no-logs"
        entries[phrase(lang, words, ranks=ranges(missing))] = None
    entries |= dict.fromkeys(comparison.unmeasured(report, lang))
    for skipped in report.inputs.skipped:
        reason = translated(lang, skipped["reason"])
        entries[phrase(lang, "skipped", file=skipped["file"], reason=reason)] = None
    for cut in report.inputs.truncated:
        key = "truncated" if cut["file"] is not None else "failed"
        entries[phrase(lang, key, file=cut["file"], what=cut["what"])] = None
    return list(entries)


def _others(report: ReportData, answers: Sequence[Finding], lang: Language) -> list[str]:
    known = {finding.key for finding in answers}
    explained = {key for finding in answers for key in finding.explains}
    lines = []
    for finding in report.findings:
        if finding.key in known or finding.key in explained:
            continue
        title = finding.title
        if finding.suppressed is not None:
            title = phrase(lang, "suppressed", title=title, terms=_terms(finding.suppressed, lang))
        place = f" ({finding.evidence[0].place})" if finding.evidence else ""
        level = phrase(lang, "label", name=phrase(lang, finding.level))
        lines.append(f"{level}{title}{place}")
    return lines


def _terms(suppressed: dict[str, str], lang: Language) -> str:
    until = suppressed.get("until")
    terms = [
        suppressed.get("reason"),
        phrase(lang, "until", until=until) if until else None,
        suppressed.get("owner"),
    ]
    return ", ".join(term for term in terms if term)


def _unknown(report: ReportData, lang: Language) -> list[str]:
    return [
        phrase(
            lang,
            "unknown-error",
            place=f"{error.first['file']}:{error.first['line']}",
            count=error.count,
            template=error.template,
        )
        for error in report.unknown_errors
    ]


def _section(
    heading: str, entries: Sequence[str], lang: Language, verbose: bool
) -> Iterator[Block]:
    if not entries:
        return
    yield Heading(phrase(lang, heading))
    shown = entries if verbose else entries[:ENTRIES]
    for entry in shown:
        yield Item(entry)
    if len(shown) < len(entries):
        yield Note(phrase(lang, "more", count=len(entries) - len(shown)))
