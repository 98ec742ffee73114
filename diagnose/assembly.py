"""From judged findings to the report: texts, evidence, playbooks, stages, timeline.

Nothing is decided here; the verdict stage has decided what is cause and what is consequence.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from diagnose.engine.availability import MATCHING_TEXT
from diagnose.engine.match import EVIDENCE_SHOWN, RuleOutcome
from diagnose.engine.node import Node
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.unknown import unknown_errors
from diagnose.engine.verdict import Judged
from diagnose.facts.case import Case
from diagnose.filters import size
from diagnose.model.comparison import BaselineTable
from diagnose.model.event import Event
from diagnose.model.reading import Extent, Reading
from diagnose.model.report import (
    STAGES,
    Alternative,
    Curve,
    Evidence,
    FilledPlaybook,
    Finding,
    Goodput,
    Inputs,
    Moment,
    ReportData,
    Stage,
    UnknownError,
    Verdict,
)
from diagnose.model.taxonomy import UNKNOWN_OWNER, Cause
from diagnose.playbooks import Playbook, fill

SCHEMA = "diagnose.report/1"

TEXT_SHOWN = 500
"""Characters of an evidence line in a report."""

CURVES_SHOWN = 12
"""Series of a finding that a report holds."""

SURE = 0.6
"""From here on a root is likely, and an open cause counts as an answer."""


def assemble(
    reading: Reading,
    case: Case,
    rules: RuleSet,
    outcomes: Sequence[RuleOutcome],
    judged: Sequence[Judged],
    playbooks: Mapping[str, Playbook],
    *,
    version: str,
    lang: str,
    baseline: BaselineTable | None = None,
) -> ReportData:
    """Return the report.

    Args:
        reading: What was read.
        case: What it says.
        rules: What was asked.
        outcomes: What each rule answered.
        judged: The findings with their roles.
        playbooks: All that rules name.
        version: Of the program.
        lang: Language of playbook texts, ``en`` or ``zh``.
        baseline: How the run compares with what is expected of it.
    """
    findings = [_finding(one, case, playbooks, lang) for one in judged]
    lines = {source.name: source.lines for source in reading.sources}
    cited = {id(event) for one in judged for event in one.node.events}
    unknown = [
        error for error in unknown_errors(case.events, cited, lines) if not _overcome(case, error)
    ]
    stages = _stages(outcomes, findings, rules.causes)
    verdict = _verdict(findings, unknown, stages, rules.causes)
    summary = _summary(verdict, findings, unknown)
    if reading.partial is not None:
        verdict = "no-evidence" if verdict == "healthy" else verdict
        summary = _so_far(reading.partial, verdict, summary)
    return ReportData(
        schema=SCHEMA,
        tool={
            "name": "diagnose",
            "version": version,
            "rules": {"shipped": version, "packs": list(rules.packs)},
        },
        verdict=verdict,
        summary=summary,
        job=case.job.report,
        findings=findings,
        stages=stages,
        timeline=_timeline(judged, case),
        unknown_errors=unknown,
        inputs=Inputs(
            files=len(reading.sources) + reading.looked_at,
            bytes=sum(source.bytes for source in reading.sources),
            lines=sum(source.lines for source in reading.sources),
            skipped=reading.skipped,
            truncated=[*reading.truncated, *_cut_short(outcomes)],
            partial=reading.partial,
        ),
        goodput=_goodput(case),
        baseline=baseline,
    )


def _finding(one: Judged, case: Case, playbooks: Mapping[str, Playbook], lang: str) -> Finding:
    node, match = one.node, one.node.match
    first = min(node.events, key=lambda event: _moment(event, case), default=None)
    return Finding(
        key=node.key,
        id=node.rule.id,
        cause=node.cause.id,
        stage=node.cause.stage,
        symptoms=list(node.rule.symptoms or node.cause.symptoms),
        role=one.role,
        level=node.rule.level,
        confidence=node.confidence,
        owner=node.cause.owner,
        title=match.title,
        explanation=match.explanation,
        culprit=node.culprit,
        first_seen=_iso(first, case) if first else None,
        count=node.count,
        evidence=[_evidence(event, case) for event in _proof(node)],
        explains=sorted(other.key for other in node.reach() if other is not node),
        explained_by=sorted(other.key for other in node.explained_by),
        missing_evidence=list(match.missing),
        suppressed=node.suppressed,
        alternatives=[
            Alternative(cause=rival.cause.id, confidence=rival.confidence, why_not=reason)
            for rival, reason in one.rivals
        ],
        playbook=_playbook(node, playbooks, lang) if one.role != "context" else None,
        series=_curves(node, case),
    )


def _proof(node: Node) -> list[Event]:
    """Return the evidence that a report cites."""
    return _guilty_first(_places(node)[:EVIDENCE_SHOWN], node)


def _guilty_first(events: Sequence[Event], node: Node) -> list[Event]:
    """Return events with what the culprit itself wrote before the rest."""
    guilty = node.culprit
    if guilty.ranks:
        return sorted(events, key=lambda event: event.rank not in guilty.ranks)
    return sorted(events, key=lambda event: event.host not in guilty.hosts)


def _curves(node: Node, case: Case) -> list[Curve]:
    """Return the series that a finding rests on, each once."""
    if not case.reading.points:
        return []
    from diagnose.facts.curves import curve_of, metric_of

    asked: set[tuple[str, str, int | None, str | None]] = set()
    curves: list[Curve] = []
    for event in _guilty_first(node.events, node):
        metric = metric_of(event)
        if metric is None or len(curves) == CURVES_SHOWN:
            continue
        writer = metric, event.file, event.rank, event.host
        curve = None if writer in asked else curve_of(event, case.series(metric))
        asked.add(writer)
        if curve is not None:
            curves.append(curve)
    return curves


def _places(node: Node) -> list[Event]:
    """Return the evidence of a finding, one event of each line."""
    places: dict[tuple[str, int], Event] = {}
    for event in node.events:
        places.setdefault((event.file, event.line), event)
    return list(places.values())


def _playbook(node: Node, playbooks: Mapping[str, Playbook], lang: str) -> FilledPlaybook | None:
    if node.rule.playbook is None:
        return None
    values = {**node.match.with_values, "culprit": node.culprit}
    return fill(playbooks[node.rule.playbook], values, lang)


def _evidence(event: Event, case: Case) -> Evidence:
    return Evidence(
        file=event.file,
        line=event.line,
        end_line=event.end_line,
        time=_iso(event, case),
        rank=event.rank,
        host=event.host,
        text=event.text[:TEXT_SHOWN],
    )


def _overcome(case: Case, error: UnknownError) -> bool:
    """Return whether work went on after the first error of a kind."""
    place = (error.first["file"], error.first["line"])
    for event in case.events:
        if (event.file, event.line) == place:
            return case.progress_after(event, "rank" if event.rank is not None else "job") is True
    return False


def _verdict(
    findings: Sequence[Finding],
    unknown: Sequence[UnknownError],
    stages: Mapping[str, Stage],
    causes: Mapping[str, Cause],
) -> Verdict:
    counted = [one for one in findings if one.suppressed is None and one.role != "context"]
    if any(_is_answer(finding, causes) for finding in counted):
        return "root-cause"
    if counted or unknown:
        return "symptoms-only"
    if any(stage.state == "clear" for stage in stages.values()):
        return "healthy"
    return "no-evidence"


def _is_answer(finding: Finding, causes: Mapping[str, Cause]) -> bool:
    """Return whether a finding is a root that says what to mend, or an open one that is likely."""
    return finding.role == "root" and (not causes[finding.cause].open or finding.confidence >= SURE)


def _stages(
    outcomes: Sequence[RuleOutcome], findings: Sequence[Finding], causes: Mapping[str, Cause]
) -> dict[str, Stage]:
    stages = {}
    for name in STAGES:
        asked = [outcome for outcome in outcomes if outcome.rule.stage == name]
        checked = sum(outcome.had_input for outcome in asked)
        here = [
            finding
            for finding in findings
            if finding.stage == name and finding.role != "context" and finding.suppressed is None
        ]
        answers = [finding for finding in here if _is_answer(finding, causes)]
        if answers:
            stages[name] = Stage(state="fault", checked=checked, why=answers[0].title)
        elif any(finding.role != "cascade" for finding in here):
            stages[name] = Stage(state="suspect", checked=checked, why=here[0].title)
        elif here:
            why = f"only consequences: {here[0].title}"
            stages[name] = Stage(state="suspect", checked=checked, why=why)
        elif checked:
            why = f"{checked} rule{'s' * (checked > 1)} had input, none fired"
            stages[name] = Stage(state="clear", checked=checked, why=why)
        else:
            stages[name] = Stage(state="no-evidence", checked=0, why=_lacking(asked))
    return stages


def _lacking(asked: Sequence[RuleOutcome]) -> str:
    """Return what a stage would need most: what most of its rules lack."""
    lacking = Counter(
        name for outcome in asked for name in outcome.missing_inputs if name != MATCHING_TEXT
    )
    if not lacking:
        return "nothing to look at"
    most = sorted(lacking, key=lambda name: (-lacking[name], name))
    return f"nothing to look at: no {' or '.join(most[:3])}"


def _summary(verdict: Verdict, findings: Sequence[Finding], unknown: Sequence[UnknownError]) -> str:
    live = [one for one in findings if one.suppressed is None and one.role != "context"]
    if verdict == "root-cause":
        roots = [one for one in live if one.role == "root"]
        more = f", and {len(roots) - 1} more independent" if len(roots) > 1 else ""
        explained = len(roots[0].explains)
        so = f"; it explains {explained} other finding{'s' * (explained != 1)}" if explained else ""
        return f"{roots[0].title}{so}{more}."
    if verdict == "symptoms-only":
        if live and live[0].role == "contributing" and live[0].owner != UNKNOWN_OWNER:
            return f"{live[0].title}; the evidence is too weak to call it the cause."
        if live:
            return f"{live[0].title}; the logs do not show why."
        return f"The logs end in an error that no rule knows: {unknown[0].template}"
    if verdict == "healthy":
        return "Nothing that needs action was found in these logs."
    return "Nothing was recognised in this input, so it neither shows a fault nor clears one."


def _goodput(case: Case) -> Goodput | None:
    """Return where the time of a run went, None where no series tells."""
    if not case.reading.points:
        return None
    from diagnose.facts.goodput import goodput

    return goodput(case)


def _so_far(partial: Extent, verdict: Verdict, summary: str) -> str:
    """Return the summary of a report on a part of the input."""
    of = "" if partial.found is None else f" of {size(partial.found)}"
    read = f"Partial, {size(partial.read)}{of} read"
    if verdict == "no-evidence":
        return f"{read}: nothing was found in that part."
    return f"{read}: {summary}"


def _timeline(judged: Sequence[Judged], case: Case) -> list[Moment]:
    moments: list[tuple[float, Moment]] = []
    for one in judged:
        if one.role == "context":
            continue
        for event in one.node.events[:1]:
            moments.append(
                (
                    _moment(event, case),
                    Moment(
                        time=_iso(event, case),
                        what=one.node.match.title,
                        rank=event.rank,
                        host=event.host,
                        finding=one.node.key,
                    ),
                )
            )
    moments.sort(key=lambda moment: (moment[0], moment[1].finding or ""))
    return [moment for _, moment in moments]


def _cut_short(outcomes: Sequence[RuleOutcome]) -> list[dict[str, Any]]:
    """Return the searches that reached a limit and the texts that failed."""
    notes = [outcome.truncated for outcome in outcomes if outcome.truncated]
    notes += [
        f"{outcome.rule.id}: {problem}"
        for outcome in outcomes
        for match in outcome.matches
        for problem in match.problems
    ]
    return [{"file": None, "what": note, "count": 1} for note in dict.fromkeys(notes)]


def _moment(event: Event, case: Case) -> float:
    """Return when an event was printed, for sorting; unknown comes last."""
    instant = case.clocks.of(event)
    return float("inf") if instant is None else instant.seconds


def _iso(event: Event, case: Case) -> str | None:
    return case.iso(event.time, event.clock)
