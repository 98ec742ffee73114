"""Every test in a rule file holds, and no rule fires on a sample of health."""

from datetime import date
from pathlib import Path

import pytest

from diagnose import api, lint, ruletest

KNOWLEDGE = ruletest.load_knowledge()
RULES = ruletest.chosen(KNOWLEDGE.rules, only_packs=False)
HEALTHY = sorted((Path(__file__).parent.parent / "samples" / "healthy").glob("*/logs"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_tests_in_the_rule_file_hold(rule):
    failed = [one for one in ruletest.run_tests(KNOWLEDGE, [rule]) if one.failures]
    assert not failed, "\n".join(f"{one.test}: {'; '.join(one.failures)}" for one in failed)


def test_there_is_nothing_wrong_with_rules_and_playbooks():
    problems = lint.lint(today=date(2026, 1, 1))
    assert not [str(problem) for problem in problems if problem.fatal]


@pytest.mark.parametrize("logs", HEALTHY, ids=lambda logs: logs.parent.name)
def test_healthy_logs_stay_silent(logs):
    report = api.run([logs])
    assert [finding.id for finding in report.findings if finding.role != "context"] == []
    assert report.verdict == "healthy"
