"""Roots, cascades and confidence: what the verdict makes of the findings that rules propose."""

import pytest

from diagnose.engine.match import match_rules
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.verdict import judge
from diagnose.model.taxonomy import Cause

from .build import CAUSES, case, event, rule

VOCABULARY = {
    **CAUSES,
    "comms.open": Cause(
        id="comms.open", stage="comms", owner="unknown", symptoms=(), title="Open", open=True
    ),
}

HOST_RULE = 'by: host\nculprit: {hosts: "{{ event.host }}"}'


def propose(identifier, name, text="", **keys):
    """A root rule that fires on one event; ``text`` adds keys."""
    keys = {"role": "root", "explanation": "why", "playbook": "p", "confidence": 0.8, **keys}
    return rule(f"id: {identifier}\nmatch: {{event: {name}}}\n{text}", **keys)


def verdict(rules, evidence, suppressed=lambda match, culprit: None):
    ruleset = RuleSet(rules={one.id: one for one in rules}, causes=VOCABULARY)
    judged = judge(match_rules(ruleset, evidence), VOCABULARY, evidence, suppressed)
    return {one.node.key: one for one in judged}


def roles(found):
    return {key: one.role for key, one in found.items()}


CAUSE = propose("cause", "c.cause", explains=["effect"])
EFFECT = propose("effect", "c.effect", role="symptom", cause="resources.test")


def test_what_a_cause_explains_is_no_root():
    found = verdict([CAUSE, EFFECT], case(event("c.cause", 1), event("c.effect", 2)))
    assert roles(found) == {"cause@job": "root", "effect@job": "cascade"}
    assert found["cause@job"].node.reach() == {one.node for one in found.values()}


def test_a_symptom_alone_is_the_root():
    assert roles(verdict([CAUSE, EFFECT], case(event("c.effect", 2)))) == {"effect@job": "root"}


def test_a_cause_pattern_explains_by_cause():
    by_cause = propose("cause", "c.cause", explains=["cause:resources.*"])
    found = verdict([by_cause, EFFECT], case(event("c.cause", 1), event("c.effect", 2)))
    assert roles(found)["effect@job"] == "cascade"


NAMING = propose(
    "naming", "c.effect", cause="resources.test", explained_by=["other", "cause:dataflow.*"]
)


def test_an_effect_names_its_causes():
    other = propose("other", "c.other")
    found = verdict([other, NAMING], case(event("c.other", 1), event("c.effect", 2)))
    assert roles(found) == {"other@job": "root", "naming@job": "cascade"}
    by_cause = propose("slow", "c.slow", cause="dataflow.test")
    found = verdict([by_cause, NAMING], case(event("c.slow", 1), event("c.effect", 2)))
    assert roles(found) == {"slow@job": "root", "naming@job": "cascade"}


def test_what_an_effect_does_not_name_does_not_explain_it():
    claims = propose("claims", "c.cause", explains=["naming", "cause:resources.*"])
    found = verdict([claims, NAMING], case(event("c.cause", 1), event("c.effect", 2)))
    assert roles(found) == {"claims@job": "root", "naming@job": "root"}


class TestScope:
    @pytest.mark.parametrize(
        ("scope", "cause", "effect", "role"),
        [
            ("host", {"host": "node-1"}, {"host": "node-1"}, "cascade"),
            ("host", {"host": "node-1"}, {"host": "node-2"}, "root"),
            ("host", {"host": "node-1"}, {}, "cascade"),
            ("rank", {"rank": 1}, {"rank": 2}, "root"),
            ("rank", {"rank": 1}, {"rank": 1}, "cascade"),
            ("gpu", {"gpu": "0", "host": "n-1"}, {"gpu": "0", "host": "n-2"}, "root"),
            ("gpu", {"gpu": "0", "host": "n-1"}, {"gpu": "0", "host": "n-1"}, "cascade"),
            ("communicator", {"communicator": "a"}, {"communicator": "b"}, "root"),
            ("communicator", {"communicator": "a"}, {}, "cascade"),
            ("job", {"host": "node-1"}, {"host": "node-2"}, "cascade"),
        ],
    )
    def test_only_what_shares_it_is_explained(self, scope, cause, effect, role):
        scoped = propose("cause", "c.cause", explains=[{"rule": "effect", "scope": scope}])
        evidence = case(event("c.cause", 1, **cause), event("c.effect", 2, **effect))
        assert roles(verdict([scoped, EFFECT], evidence))["effect@job"] == role


class TestTime:
    def test_a_cause_that_began_after_its_effect_was_reported_explains_nothing(self):
        evidence = case(event("c.cause", 1, at=500), event("c.effect", 2, at=100))
        assert roles(verdict([CAUSE, EFFECT], evidence))["effect@job"] == "root"

    def test_a_timeout_reported_late_began_when_its_wait_began(self):
        effect = event("c.effect", 2, at=1900, lasted=1800.0, timeout=1800.0)
        evidence = case(event("c.cause", 1, at=105), effect)
        assert roles(verdict([CAUSE, EFFECT], evidence))["effect@job"] == "cascade"

    def test_an_effect_long_after_is_another_matter(self):
        evidence = case(event("c.cause", 1, at=100), event("c.effect", 2, at=9000))
        assert roles(verdict([CAUSE, EFFECT], evidence))["effect@job"] == "root"

    def test_before_lets_the_cause_be_logged_later(self):
        late = propose("cause", "c.cause", explains=[{"rule": "effect", "before": "30s"}])
        evidence = case(event("c.cause", 1, at=120), event("c.effect", 2, at=100))
        assert roles(verdict([late, EFFECT], evidence))["effect@job"] == "cascade"

    def test_an_effect_of_an_earlier_attempt_is_not_explained(self):
        evidence = case(event("c.effect", 2), event("torchrun.restart", 5), event("c.cause", 9))
        assert roles(verdict([CAUSE, EFFECT], evidence))["effect@job"] == "root"


def test_context_neither_explains_nor_counts():
    seen = propose("cause", "c.cause", role="context", explains=["effect"])
    evidence = case(event("c.cause", 1), event("c.effect", 2))
    assert roles(verdict([seen, EFFECT], evidence)) == {
        "cause@job": "context",
        "effect@job": "root",
    }


def test_a_suppressed_finding_is_no_root_but_still_explains():
    evidence = case(event("c.cause", 1), event("c.effect", 2))
    found = verdict(
        [CAUSE, EFFECT],
        evidence,
        lambda match, culprit: {"reason": "test"} if match.rule.id == "cause" else None,
    )
    assert "root" not in roles(found).values()


class TestMerging:
    one_a_host = propose("broken", "c.cause", HOST_RULE)

    def test_roots_of_one_rule_become_one_with_all_culprits(self):
        evidence = case(event("c.cause", 1, host="node-1"), event("c.cause", 2, host="node-2"))
        found = verdict([self.one_a_host], evidence)
        assert list(found) == ["broken@2-hosts"]
        assert found["broken@2-hosts"].node.culprit.hosts == ["node-1", "node-2"]
        assert found["broken@2-hosts"].node.count == 2

    def test_those_of_another_attempt_stay_apart(self):
        evidence = case(
            event("c.cause", 1, host="node-1"),
            event("torchrun.restart", 5),
            event("c.cause", 9, host="node-2"),
        )
        assert set(verdict([self.one_a_host], evidence)) == {"broken@node-1", "broken@node-2"}

    def test_two_rules_that_say_the_same_of_the_same_host_are_one_root_and_surer(self):
        other = propose("also-broken", "c.other", HOST_RULE)
        evidence = case(event("c.cause", 1, host="node-1"), event("c.other", 2, host="node-1"))
        found = verdict([self.one_a_host, other], evidence)
        assert sorted(roles(found).values()) == ["contributing", "root"]
        assert max(one.node.confidence for one in found.values()) == pytest.approx(0.96)


class TestConfidence:
    def test_kinds_of_source_that_agree_combine(self):
        both = rule(
            """
            id: both
            match: {any: [{event: kernel.xid}, {event: cuda.error}]}
            """,
            role="root",
            explanation="why",
            playbook="p",
            confidence=0.7,
        )
        evidence = case(event("kernel.xid", 1), event("cuda.error", 2))
        assert verdict([both], evidence)["both@job"].node.confidence == pytest.approx(0.91)

    def test_members_of_an_alternative_are_no_witnesses_of_each_other(self):
        joined = rule(
            """
            id: joined
            match: {any: [{all: [{event: kernel.xid}, {event: cuda.error}]}, {event: nccl.warn}]}
            """,
            role="root",
            explanation="why",
            playbook="p",
            confidence=0.7,
        )
        evidence = case(event("kernel.xid", 1), event("cuda.error", 2))
        assert verdict([joined], evidence)["joined@job"].node.confidence == pytest.approx(0.7)

    def test_an_open_cause_without_a_culprit_stays_under_likely(self):
        opened = rule(
            "id: waiting\nmatch: {event: c.effect}\ncause: comms.test",
            role="root",
            explanation="why",
            playbook="p",
            confidence=0.9,
        )
        object.__setattr__(opened, "cause", "comms.open")
        assert verdict([opened], case(event("c.effect", 1)))["waiting@job"].node.confidence < 0.6

    @pytest.mark.parametrize(("share", "confidence"), [(1.0, 0.8), (0.75, 0.74), (0.05, 0.48)])
    def test_a_vote_counts_less_the_fewer_votes_are_known(self, share, confidence):
        found = verdict([CAUSE], case(event("c.cause", 1, seen_share=share)))
        assert found["cause@job"].node.confidence == pytest.approx(confidence)

    def test_too_little_to_name_is_no_root(self):
        weak = propose("weak", "c.cause", confidence=0.3)
        assert roles(verdict([weak], case(event("c.cause", 1)))) == {"weak@job": "contributing"}

    def test_a_minor_finding_beside_a_critical_root_is_no_second_root(self):
        minor = propose("minor", "c.minor", level="low", cause="resources.test")
        major = propose("major", "c.cause", level="critical")
        found = verdict([minor, major], case(event("c.cause", 1), event("c.minor", 2)))
        assert roles(found) == {"major@job": "root", "minor@job": "contributing"}
        assert [node.key for node, _ in found["major@job"].rivals] == ["minor@job"]


def test_findings_come_roots_first_then_by_confidence():
    sure = propose("sure", "c.a", confidence=0.9)
    less = propose("less", "c.b", confidence=0.6, cause="resources.test")
    explained = propose("explained", "c.effect", role="symptom", cause="dataflow.test")
    sure_cause = propose(
        "cause", "c.cause", explains=["explained"], confidence=0.7, cause="parameters.test"
    )
    names = ("c.a", "c.b", "c.cause", "c.effect")
    evidence = case(*(event(name, line) for line, name in enumerate(names, 1)))
    assert list(verdict([less, explained, sure, sure_cause], evidence)) == [
        "sure@job",
        "cause@job",
        "less@job",
        "explained@job",
    ]


class TestCulprits:
    def test_the_host_of_a_guilty_rank_is_added_and_its_adapter_named_with_it(self):
        nic = propose(
            "nic",
            "c.cause",
            'by: host\nculprit: {hosts: "{{ event.host }}", nics: "{{ event.nic }}"}',
        )
        evidence = case(event("c.cause", 1, host="node-1", nic="mlx5_2"))
        assert verdict([nic], evidence)["nic@node-1"].node.culprit.nics == ["node-1/mlx5_2"]

    def test_a_gpu_index_is_written_with_its_host(self):
        gpu = propose(
            "gpu", "c.cause", 'culprit: {hosts: "{{ event.host }}", gpus: "{{ event.gpu }}"}'
        )
        evidence = case(event("c.cause", 1, host="node-1", gpu="3"))
        assert verdict([gpu], evidence)["gpu@node-1"].node.culprit.gpus == ["node-1/gpu3"]

    def test_the_ranks_of_a_guilty_host_are_victims(self):
        host = propose("host", "c.cause", HOST_RULE)
        evidence = case(
            event("c.cause", 1, host="node-1"), event("c.other", 2, host="node-1", rank=4)
        )
        assert verdict([host], evidence)["host@node-1"].node.culprit.ranks == []


def test_open_causes_that_agree_on_nobody_are_no_answer_either():
    one, other = (propose(name, f"c.{name}", confidence=0.5) for name in ("a", "b"))
    for opened in (one, other):
        object.__setattr__(opened, "cause", "comms.open")
    found = verdict([one, other], case(event("c.a", 1), event("c.b", 2)))
    assert max(one.node.confidence for one in found.values()) < 0.6


def test_of_an_open_cause_the_finding_that_names_somebody_leads_and_gains_nothing():
    nobody = propose("timeout", "c.a", confidence=0.55)
    named = propose("silent", "c.b", 'culprit: {hosts: "{{ event.host }}"}', confidence=0.5)
    for opened in (nobody, named):
        object.__setattr__(opened, "cause", "comms.open")
    found = verdict([nobody, named], case(event("c.a", 1), event("c.b", 2, host="node-1")))
    roots = [one.node for one in found.values() if one.role == "root"]
    assert [(node.rule.id, node.confidence) for node in roots] == [("silent", 0.5)]
