from datetime import date

import pytest

from diagnose.engine.load import collect_rules, load_rules, rule_parsers
from diagnose.engine.schema import RULE_KEYS
from diagnose.engine.suppressed import suppression
from diagnose.errors import RuleErrors
from diagnose.model.event import Line
from diagnose.model.report import Culprit

from .build import case, event, outcomes
from .rule_files import rule_text, write


def messages(shipped, team, **options):
    found = collect_rules([team], root=shipped, **options)
    return [str(problem).replace(f"{team}/", "") for problem in found.problems]


def test_rules_come_in_the_order_of_stages(shipped):
    found = collect_rules(root=shipped)
    assert list(found.rules) == ["beta", "alpha"]
    assert found.problems == ()
    assert found.find("old-alpha") is found.rules["alpha"]
    assert found.cause_of(found.rules["beta"]).open
    assert found.rules["alpha"].pack is None


def test_tests_are_read_only_when_asked_for(shipped):
    (shipped / "comms" / "alpha.yaml").write_text(rule_text("alpha", tests="[{name: one}]"))
    assert collect_rules(root=shipped).rules["alpha"].tests == ()
    assert collect_rules(root=shipped, with_tests=True).rules["alpha"].tests == ({"name": "one"},)


def test_a_team_lays_rules_and_causes_over_the_shipped_ones(shipped, team):
    nested = team / "network"
    nested.mkdir()
    write(team, causes="- {id: comms.ours, stage: comms, owner: sre, symptoms: [], title: Ours}")
    write(nested, gamma=rule_text("gamma", cause="comms.ours"))
    found = collect_rules([team], root=shipped)
    assert found.problems == ()
    assert list(found.rules) == ["beta", "alpha", "gamma"]
    assert found.rules["gamma"].pack == "team"
    assert found.packs == ("team",)


def test_a_shipped_id_is_changed_in_the_overlay(shipped, team):
    write(team, alpha=rule_text("alpha"))
    assert messages(shipped, team) == [
        "alpha.yaml:1:5: a rule 'alpha' is there already (rules/comms/alpha.yaml);"
        " change it in overlay.yaml instead"
    ]


def test_a_file_is_named_for_its_rule(shipped, team):
    write(team, gamma=rule_text("delta"))
    assert messages(shipped, team) == [
        "gamma.yaml:1:5: the id 'delta' differs from the file name 'gamma'"
    ]


def test_all_mistakes_of_all_files_are_shown_with_places_and_near_words(shipped, team):
    write(
        team,
        one="""\
            id: one
            title: T
            cause: comms.tset
            role: context
            match:
              all:
                - {event: e.x, cuont: {gte: 3}}
            levle: high
            tests: []
        """,
        two="id: two\ntitle: {{ x }}\n",
    )
    with pytest.raises(RuleErrors) as caught:
        raise RuleErrors(collect_rules([team], root=shipped).problems)
    assert str(caught.value).replace(f"{team}/", "").splitlines() == [
        "one.yaml:3:8: unknown cause 'comms.tset'; did you mean 'comms.test'?",
        "one.yaml:7:20: unknown key 'cuont'; did you mean 'count'?",
        "one.yaml:8:1: unknown key 'levle'; did you mean 'level'?",
        "two.yaml:2:9: not valid YAML: found unhashable key;"
        " put quotes around a text that has {{ }} or ': ' in it",
    ]


def test_a_team_rule_without_tests_is_only_warned_about(shipped, team):
    write(team, gamma=rule_text("gamma", tests=None))
    found = collect_rules([team], root=shipped)
    assert [problem.fatal for problem in found.problems] == [False]
    assert "gamma" in found.rules


def test_a_folder_must_agree_with_the_stage(shipped):
    (shipped / "comms" / "gamma.yaml").write_text(rule_text("gamma", cause="dataflow.test"))
    [problem] = collect_rules(root=shipped).problems
    assert "is of stage dataflow; the file is in comms/" in problem.message


def test_weak_text_is_an_error_for_shipped_rules_and_a_warning_for_teams(shipped, team):
    weak = "{regex: 'x+ \\d+'}"
    write(team, gamma=rule_text("gamma", match=weak))
    (shipped / "comms" / "delta.yaml").write_text(rule_text("delta", match=weak))
    found = collect_rules([team], root=shipped, with_tests=True).problems
    assert sorted(problem.fatal for problem in found) == [False, True]
    untested = collect_rules([team], root=shipped).problems
    assert [problem.fatal for problem in untested] == [False]


def test_rules_that_ask_for_unknown_ones_or_in_a_circle(shipped, team):
    write(
        team,
        one=rule_text("one", match="{rule: two}"),
        two=rule_text("two", match="{rule: one}"),
        three=rule_text("three", match="{rule: alhpa}"),
        four=rule_text("four", match="{rule: old-alpha}"),
    )
    assert messages(shipped, team) == [
        "one.yaml:5:8: its 'rule:' conditions lead back to this rule",
        "three.yaml:5:8: unknown rule 'alhpa'; did you mean 'alpha'?",
        "two.yaml:5:8: its 'rule:' conditions lead back to this rule",
    ]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(RuleErrors, match="no such folder"):
        load_rules([tmp_path / "absent"])


def test_a_second_key_is_found_when_tests_are_read(shipped, team):
    write(team, gamma=rule_text("gamma") + "title: again\n")
    assert messages(shipped, team, with_tests=True) == [
        "gamma.yaml:7:1: the key 'title' stands here a second time"
    ]


def test_an_overlay_merges_key_by_key_and_switches_off(shipped, team):
    write(
        team,
        overlay="""\
            requires: {diagnose: ">=0.0,<99"}
            rules:
              old-alpha: {level: high, match: {gte: 3}}
              beta: {disable: true}
        """,
    )
    found = collect_rules([team], root=shipped)
    assert found.problems == ()
    alpha = found.rules["alpha"]
    assert (alpha.level, alpha.match.stat, alpha.match.bound.tests[0].operand) == ("high", "cv", 3)
    assert list(found.rules) == ["alpha"]
    assert found.disabled == {"beta"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: {alhpa: {level: low}}", "1:9: unknown rule 'alhpa'; did you mean 'alpha'?"),
        ("rules: {alpha: {levle: low}}", "1:17: unknown key 'levle'; did you mean 'level'?"),
        ("rules: {alpha: {level: lwo}}", "1:24: unknown value 'lwo'; did you mean 'low'?"),
        ("rules: {alpha: {id: other}}", "1:17: an id is permanent; it cannot be changed"),
        ("rules: {alpha: {match: {gte: '3'}}}", "1:30: the number 3 is given as text; take off the quotes"),
        ("rules: {beta: {match: {gte: 3}}}", "1:24: unknown key 'gte'; known: across, as, count"),
        ("requires: {diagnose: '>=99'}", "these rules need diagnose >=99"),
        ("requires: {diagnose: newest}", "1:22: 'newest' is not a constraint; write it as '>=2.4'"),
        ("suppress: [{rule: alpha}]", "1:12: 'reason' is missing (text): why they are expected"),
        ("suppress: [{rule: aplha, reason: r}]", "1:19: unknown rule 'aplha'; did you mean 'alpha'?"),
        ("suppress: [{rule: alpha, reason: r, until: soon}]", "1:44: expected a date such as 2027-03-01, found 'soon'"),
        ("supress: []", "1:1: unknown key 'supress'; did you mean 'suppress'?"),
        ("- a", "1:1: expected a map with requires, rules, suppress, found a list"),
    ],
)  # fmt: skip
def test_a_mistake_in_an_overlay_has_its_place(shipped, team, text, message):
    write(team, overlay=text)
    assert any(message in found for found in messages(shipped, team)), messages(shipped, team)


def test_suppressions_cover_findings_until_their_day(shipped, team):
    write(
        team,
        overlay="""\
            suppress:
              - {rule: old-beta, where: {host: {regex: "node-1[0-9]"}}, reason: tests run here, until: 2027-03-01, owner: sre}
        """,
    )
    (shipped / "dataflow" / "beta.yaml").write_text(
        rule_text("beta", cause="dataflow.test", aliases="[old-beta]", by="host")
    )
    found = collect_rules([team], root=shipped)
    assert found.problems == ()
    hosts = "node-01", "node-12"
    evidence = case(*(event("e.x", n, host=host) for n, host in enumerate(hosts, 1)))
    one, two = outcomes([found.rules["beta"]], evidence)["beta"].matches
    silent = suppression(found, date(2027, 3, 1))
    assert silent(one, Culprit()) is None
    assert silent(two, Culprit()) == {
        "reason": "tests run here",
        "until": "2027-03-01",
        "owner": "sre",
    }
    assert silent(one, Culprit(hosts=["node-13"])) is not None
    assert suppression(found, date(2027, 3, 2))(two, Culprit()) is None


def parsed(found, text):
    [parser] = rule_parsers(found)
    line = Line(file="a.log", number=7, raw=text, text=text)
    events = [one for pattern in parser.patterns if (one := pattern.match(line)) is not None]
    if parser.refine is not None:
        events = [parser.refine(one, line) for one in events]
    return [one for one in events if one is not None]


def test_text_conditions_find_their_lines(shipped, team):
    write(team, gamma=rule_text("gamma", match="{text: [lost, the rack manager]}"))
    found = collect_rules([team], root=shipped)
    assert [one.name for one in parsed(found, "lost contact to the rack manager")] == [
        "text:gamma:0"
    ]
    assert parsed(found, "asked the rack manager") == []


def test_captures_have_types_and_what_is_not_of_its_type_is_unknown(shipped, team):
    regex = r"'peer (?P<peer>\S+) of rack manager waited (?P<wait>\S+) rank (?P<rank>\d+)'"
    write(
        team,
        gamma=rule_text(
            "gamma", match=f"{{regex: {regex}, capture: {{peer: ip, wait: duration}}}}"
        ),
    )
    found = collect_rules([team], root=shipped)
    [one] = parsed(found, "peer 10.0.0.1:29500 of rack manager waited 90s rank 3")
    assert (one.fields, one.rank) == ({"peer": "10.0.0.1", "wait": 90.0}, 3)
    [one] = parsed(found, "peer 10.0.0.1:29500 of rack manager waited long rank 3")
    assert one.fields["wait"] is None


def test_every_key_of_a_rule_is_one_the_reader_knows():
    assert {"match", "tests", "raise", "with", "cleared_by"} <= RULE_KEYS.keys()
