"""Every test in a rule file holds, and no rule fires on a sample of health."""

from pathlib import Path

import pytest

from diagnose import api, ruletest

KNOWLEDGE = api.load_knowledge()
HEALTHY = sorted((Path(__file__).parent.parent / "samples" / "healthy").glob("*/logs"))


@pytest.mark.parametrize("logs", HEALTHY, ids=lambda logs: logs.parent.name)
def test_healthy_logs_stay_silent(logs):
    report = api.run([logs])
    assert [finding.id for finding in report.findings if finding.role != "context"] == []
    assert report.verdict == "healthy"
