"""The report in SARIF 2.1.0, which code hosts and build systems show beside the logs.

Format: OASIS, Static Analysis Results Interchange Format, version 2.1.0. Every finding is a result
of the rule that made it; its places are the evidence, and its fingerprint the key of the finding.
"""

import json
from typing import Any
from urllib.parse import quote

from diagnose.model.report import Evidence, Finding, Level, ReportData
from diagnose.render.visible import one_line, visible

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS: dict[Level, str] = {
    "critical": "error",
    "high": "error",
    "medium": "warning",
    "low": "note",
    "info": "note",
}


def render(report: ReportData) -> str:
    """Return the SARIF text of a report, with a line end behind it."""
    run = {
        "tool": {"driver": _driver(report)},
        "invocations": [{
            "executionSuccessful": True,
            "toolExecutionNotifications": [
                {
                    "level": "note",
                    "message": {"text": one_line(f"not read: {one['reason']}")},
                    "locations": [_at(one["file"], None)],
                }
                for one in report.inputs.skipped
            ],
        }],
        "results": [_result(finding) for finding in report.findings],
        "properties": {
            "verdict": report.verdict,
            "summary": one_line(report.summary),
            "stages": {name: stage.state for name, stage in report.stages.items()},
        },
    }  # fmt: skip
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _driver(report: ReportData) -> dict[str, Any]:
    first: dict[str, Finding] = {}
    for finding in report.findings:
        first.setdefault(finding.id, finding)
    return {
        "name": report.tool["name"],
        "version": report.tool["version"],
        "rules": [
            {
                "id": name,
                "shortDescription": {"text": one_line(finding.cause)},
                "defaultConfiguration": {"level": _LEVELS[finding.level]},
                "properties": {"stage": finding.stage, "owner": finding.owner,
                               "symptoms": finding.symptoms},
            }
            for name, finding in first.items()
        ],
    }  # fmt: skip


def _result(finding: Finding) -> dict[str, Any]:
    context = finding.role == "context"
    explanation = f". {finding.explanation}" if finding.explanation else ""
    result: dict[str, Any] = {
        "ruleId": finding.id,
        # SARIF knows a level for failures alone
        "kind": "informational" if context else "fail",
        "level": "none" if context else _LEVELS[finding.level],
        "message": {"text": one_line(f"{finding.title}{explanation}")},
        "locations": [_at(place.file, place) for place in finding.evidence],
        "partialFingerprints": {"finding/v1": visible(finding.key)},
        "properties": {
            "cause": finding.cause,
            "role": finding.role,
            "confidence": finding.confidence,
            "culprit": {
                name: [visible(str(one)) for one in getattr(finding.culprit, name)]
                for name in ("ranks", "hosts", "gpus", "nics", "files")
            },
            "explains": finding.explains,
            "explainedBy": finding.explained_by,
        },
    }
    if finding.suppressed is not None:
        reason = one_line(finding.suppressed.get("reason", ""))
        result["suppressions"] = [{"kind": "external", "justification": reason}]
    return result


def _at(file: str, place: Evidence | None) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": quote(file.encode("utf-8", "replace"))}}
    if place is not None and place.line > 0:
        where["region"] = {
            "startLine": place.line,
            "endLine": max(place.line, place.end_line),
            "snippet": {"text": visible(place.text)},
        }
    return {"physicalLocation": where}
