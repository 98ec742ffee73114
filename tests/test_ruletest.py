"""How tests in rule files are read and judged; the rules' own tests are in test_rules.py."""

import pytest

from diagnose.engine.reader import Reader
from diagnose.errors import NoInputError, RuleErrors
from diagnose.lint.cases import Case, Expectation, copied, read_cases
from diagnose.model.report import Culprit, Evidence, Finding

LINE = "[rank0]: [Rank 0] rank 0 of 8: [PG 0 Rank 0] waits for Rank 01"


def cases(*entries):
    reader = Reader()
    return read_cases(list(entries), reader), [mistake.message for mistake in reader.mistakes]


def test_a_copy_renumbers_the_name_and_three_spellings_only():
    assert copied("rank0.log", LINE, 0, 12) == (
        "rank12.log",
        "[rank12]: [Rank 12] rank 0 of 8: [PG 0 Rank 12] waits for Rank 01",
    )


def test_a_copy_leaves_other_ranks_alone():
    assert (
        copied("logs/rank1.log", "[rank1] [rank10] [rank11]", 1, 2)[1]
        == "[rank2] [rank10] [rank11]"
    )


def test_copies_of_ranges():
    [case], wrong = cases(
        {
            "name": "a",
            "logs": {"rank0.log": "[rank0] x", "other.log": "y"},
            "copies": {"of": "rank0.log", "ranks": "1-3, 7"},
            "expect": {"root": True},
        }
    )
    assert wrong == []
    assert sorted(case.logs) == ["other.log", *(f"rank{n}.log" for n in (0, 1, 2, 3, 7))]
    assert case.logs["rank7.log"] == "[rank7] x"


def test_several_copies():
    [case], _ = cases(
        {
            "name": "a",
            "logs": {"rank0.log": "[rank0]", "rank4.log": "[rank4]"},
            "copies": [{"of": "rank0.log", "ranks": "1-3"}, {"of": "rank4.log", "ranks": "5"}],
            "expect": {},
        }
    )
    assert len(case.logs) == 6


def test_a_file_of_another_test():
    (_, second), wrong = cases(
        {"name": "a", "logs": {"x.log": "text"}, "expect": {}},
        {"name": "b", "logs": {"x.log": {"from": "a"}}, "expect": {"fires": False}},
    )
    assert wrong == []
    assert second == Case(name="b", logs={"x.log": "text"}, expect=Expectation(fires=False))


GOOD = {"name": "a", "logs": {"rank0.log": "x"}, "expect": {}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lgos": {}}, "unknown key 'lgos'; did you mean 'logs'?"),
        ({"logs": {"a": 1}}, "expected the text of the file, found '1'"),
        ({"logs": "x"}, "expected a map of file to text"),
        ({"logs": {"rank0.log": {"from": "b"}}}, "there is no test 'b'; known: a"),
        ({"logs": {"rank0.log": {"from": "a"}}}, "has no file 'rank0.log' with a text of its own"),
        ({"logs": {"rank0.log": {"form": "a"}}}, "unknown key 'form'; did you mean 'from'?"),
        ({"copies": {"of": "rank9.log", "ranks": "1"}}, "expected a file of this test"),
        (
            {"copies": {"of": "rank0.log", "ranks": "1-"}},
            "expected ranges such as '1-7,9', found '1-'",
        ),
        ({"copies": {"of": "rank0.log", "ranks": "1-999999999999"}}, "at most 4096 are made"),
        ({"expect": {"fires": "no"}}, "expected true or false, found 'no'"),
        ({"expect": {"fires": False, "root": True}}, "leaves nothing else to expect"),
        ({"expect": {"culprit": {"rank": [1]}}}, "unknown key 'rank'; did you mean 'ranks'?"),
        ({"expect": {"culprit": {"ranks": 1}}}, "expected a list, found '1'"),
        ({"expect": {"confidence": {"gte": 2}}}, "expected a number from 0 to 1, found 2"),
        ({"expect": {"confidence": 0.5}}, "expected a map with gte, lte"),
        ({"expect": {"explains": "a"}}, "expected a list"),
        ({"expect": None}, "'expect' is missing"),
        ({"name": None}, "'name' is missing"),
    ],
)
def test_mistakes_in_tests(change, said):
    found, wrong = cases(GOOD | change)
    assert found == []
    assert any(said in message for message in wrong), wrong


def test_two_tests_of_one_name():
    assert "a test before is named 'a' as well" in cases(GOOD, GOOD)[1]


@pytest.mark.parametrize("data", [None, [], {}, "x", [1], [None], [{}]])
def test_odd_shapes_are_no_crash(data):
    assert read_cases(data, Reader()) == []


# ------------------------------------------------------------------ judging


@pytest.fixture
def ruletest():
    pytest.importorskip("diagnose.api", exc_type=ImportError)
    from diagnose import ruletest

    return ruletest


class Named:
    """As much of a rule or report as judging needs."""

    def __init__(self, **values):
        self.__dict__.update(values)


def finding(key="slow@1", **changes):
    values = dict(
        key=key, id=key.partition("@")[0], cause="comms.x", stage="comms", symptoms=[], role="root",
        level="high", confidence=0.8, owner="network", title="Slow", explanation="",
        culprit=Culprit(ranks=[3, 1], hosts=["node-1"]), first_seen=None, count=1,
        evidence=[Evidence(file="a.log", line=3, end_line=3, time=None, rank=None, host=None, text="")],
        explains=["late@2"],
    )  # fmt: skip
    return Finding(**(values | changes))


FOUND = [finding(), finding("late@2", role="cascade", explains=[])]


@pytest.mark.parametrize(
    ("expect", "failures"),
    [
        (Expectation(), []),
        (Expectation(fires=False), ["expected no finding, found: Slow"]),
        (Expectation(root=True), []),
        (Expectation(root=False), ["expected no root, found role root"]),
        (Expectation(culprit={"ranks": ("1", "3")}), []),
        (Expectation(culprit={"ranks": ("1",)}), ["expected ranks ['1'], found ['1', '3']"]),
        (Expectation(culprit={"nics": ()}), []),
        (Expectation(least=0.8), []),
        (Expectation(least=0.81), ["expected a confidence of 0.81 to 1, found 0.8"]),
        (Expectation(most=0.5), ["expected a confidence of 0 to 0.5, found 0.8"]),
        (Expectation(explains=("late",)), []),
        (Expectation(explains=("late@2",)), []),
        (Expectation(explains=("early",)), ["expected that it explains early, found ['late@2']"]),
        (Expectation(evidence=("a.log:3",)), []),
        (Expectation(evidence=("a.log:4",)), ["expected evidence a.log:4, found ['a.log:3']"]),
        (Expectation(root=False, least=0.9), ["expected no root, found role root", "expected a confidence of 0.9 to 1, found 0.8"]),
    ],
)  # fmt: skip
def test_what_differs_is_said(ruletest, expect, failures, monkeypatch):
    assert judge(ruletest, monkeypatch, expect, FOUND) == failures


def report_of(findings, notes=()):
    truncated = [{"file": None, "what": note, "count": 1} for note in notes]
    return Named(findings=findings, inputs=Named(truncated=truncated))


def judge(ruletest, monkeypatch, expect, findings, notes=()):
    monkeypatch.setattr(ruletest, "run_sources", lambda *_, **__: report_of(findings, notes))
    monkeypatch.setattr(
        ruletest,
        "read_cases",
        lambda tests, reader: [Case(name="t", logs={"a": "x"}, expect=expect)],
    )
    rule = Named(id="slow", tests=(), file="slow.yaml")
    [outcome] = ruletest.run_tests(None, [rule])
    return list(outcome.failures)


def test_a_rule_that_says_nothing(ruletest, monkeypatch):
    found = judge(ruletest, monkeypatch, Expectation(), [finding("late@2")])
    assert found == ["expected a finding, found only late@2"]
    found = judge(ruletest, monkeypatch, Expectation(), [])
    assert found == ["expected a finding, found none of any rule"]


@pytest.mark.parametrize("fires", [True, False])
def test_a_text_that_cannot_be_filled_fails_the_test(ruletest, monkeypatch, fires):
    notes = ["slow: title: 'nope' is undefined", "slower: title: not this rule"]
    found = judge(
        ruletest, monkeypatch, Expectation(fires=fires), [finding()] if fires else [], notes
    )
    assert found == ["failed while it ran: title: 'nope' is undefined"]


def test_an_explained_finding_names_what_explains_it(ruletest, monkeypatch):
    explained = finding(role="cascade", explained_by=["cut@3"])
    found = judge(ruletest, monkeypatch, Expectation(root=True), [explained])
    assert found == ["expected a root, found role cascade, explained by cut@3"]


def test_of_several_findings_the_best_fitting_counts(ruletest, monkeypatch):
    both = [finding(role="cascade"), finding("slow@2")]
    assert judge(ruletest, monkeypatch, Expectation(root=True), both) == []


def test_empty_logs_are_logs(ruletest, monkeypatch):
    def nothing(sources, knowledge, *, baseline, topology):
        raise NoInputError("empty", report_of([]))

    monkeypatch.setattr(ruletest, "run_sources", nothing)
    tests = ({"name": "t", "logs": {"a.log": ""}, "expect": {"fires": False}},)
    [outcome] = ruletest.run_tests(None, [Named(id="slow", tests=tests, file="slow.yaml")])
    assert outcome.failures == ()


def test_a_wrong_test_fails(ruletest):
    tests = ({"name": "t", "logs": {}, "expect": {"fires": 1}},)
    [outcome] = ruletest.run_tests(None, [Named(id="slow", tests=tests, file="slow.yaml")])
    assert outcome.test == "test 1"
    assert "expected true or false" in outcome.failures[0]


RULE = """\
id: our-rule
title: Lease revoked
cause: dataflow.storage-error
match: {text: "lease of the cache revoked"}
explanation: It was.
playbook: nowhere-at-all
tests:
  - {name: a, logs: {a.log: "lease of the cache revoked"}, expect: {root: true}}
"""


def test_an_unknown_playbook_is_said_with_its_place_before_any_test_runs(ruletest, tmp_path):
    (tmp_path / "our-rule.yaml").write_text(RULE)
    with pytest.raises(RuleErrors) as caught:
        ruletest.load_knowledge([tmp_path])
    [problem] = caught.value.problems
    assert (problem.line, problem.column) == (6, 11)
    assert "there is no playbook 'nowhere-at-all'" in problem.message
