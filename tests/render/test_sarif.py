import json

import pytest

from diagnose.render import sarif

NAMES = ["one_root", "two_roots", "symptoms_only", "healthy", "no_evidence"]


def run_of(report):
    log = json.loads(sarif.render(report))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return run


@pytest.mark.parametrize("name", NAMES)
def test_every_finding_is_a_result_of_a_declared_rule(name, request):
    report = request.getfixturevalue(name)

    run = run_of(report)

    declared = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert [result["ruleId"] for result in run["results"]] == [one.id for one in report.findings]
    assert {result["ruleId"] for result in run["results"]} == declared
    assert run["properties"]["verdict"] == report.verdict


def test_the_proof_is_where_the_result_is(one_root):
    place = one_root.findings[0].evidence[0]

    (location, *_) = run_of(one_root)["results"][0]["locations"]

    physical = location["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == place.file
    assert physical["region"]["startLine"] == place.line
    assert physical["region"]["snippet"]["text"] == place.text


@pytest.mark.parametrize(
    ("level", "expected"),
    [("critical", "error"), ("high", "error"), ("medium", "warning"), ("low", "note"), ("info", "note")],
)  # fmt: skip
def test_levels(one_root, level, expected):
    one_root.findings[0].level = level
    assert run_of(one_root)["results"][0]["level"] == expected


def test_context_is_no_failure(one_root):
    one_root.findings[0].role = "context"
    result = run_of(one_root)["results"][0]
    assert (result["kind"], result["level"]) == ("informational", "none")


def test_a_suppressed_finding_says_why(one_root):
    one_root.findings[0].suppressed = {
        "reason": "fault tests",
        "until": "2027-03-01",
        "owner": "sre",
    }
    (found,) = run_of(one_root)["results"][0]["suppressions"]
    assert found == {"kind": "external", "justification": "fault tests"}


def test_names_with_blanks_and_escapes_become_addresses(one_root):
    one_root.findings[0].evidence[0].file = "a b!c%.log"
    one_root.findings[0].evidence[0].text = "\x1b[2J"
    place = run_of(one_root)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b%21c%25.log"
    assert place["region"]["snippet"]["text"] == "\\x1b[2J"


def test_what_a_file_as_a_whole_shows_has_no_region(one_root):
    one_root.findings[0].evidence[0].line = 0
    place = run_of(one_root)["results"][0]["locations"][0]["physicalLocation"]
    assert "region" not in place


def test_what_was_not_read_is_told(no_evidence):
    no_evidence.inputs.skipped = [{"file": "core.12", "reason": "binary"}]
    (told,) = run_of(no_evidence)["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "not read: binary"
