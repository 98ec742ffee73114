from textwrap import dedent

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.engine.read_rule import read_rule
from diagnose.engine.schema import (
    CONDITION_KEYS,
    RULE_KEYS,
    All,
    Explain,
    Within,
    compares_population,
    event_names,
    fact_names,
    field_names,
    names,
    rule_names,
    series_names,
)
from diagnose.model.event import Nature

from .build import CAUSES, rule

BASE = {"id": "some-rule", "title": "T", "cause": "comms.test", "role": "context"}


def mistakes(text, **more):
    data = {**BASE, **yaml.safe_load(dedent(text)), **more}
    _, found = read_rule(data, CAUSES)
    return [(mistake.path, mistake.message) for mistake in found]


def test_a_full_rule_is_read():
    one = rule(
        """
        aliases: [old-name]
        symptoms: [1, 7]
        level: high
        role: root
        applies: {torch: ">=2.4,<3", framework: megatron}
        match:
          all:
            - {event: a.b, where: {x: {gte: 2}}, count: {gte: 3}, as: first}
            - {fact: nccl.net, across: hosts, minority: {lte: 2}}
          within: 2m
        unless: {series: loss, stat: cv, gte: 1}
        by: host
        culprit: {hosts: "{{ event.host }}"}
        explains: [other-rule, "cause:comms.*", {rule: third, scope: gpu, within: 2m, before: 30s}]
        cleared_by: progress
        confidence: 0.8
        raise: [{when: {rule: fourth, same: host}, by: 0.1}]
        explanation: Why
        playbook: some-book
        with: {wait: 30}
        references: ["https://example.org"]
        """
    )
    assert isinstance(one.match, All)
    assert one.match.within == Within("seconds", 120)
    assert one.stage == "comms"
    assert one.explains == (
        Explain("other-rule"),
        Explain("cause:comms.*"),
        Explain("third", "gpu", 120, 30),
    )
    assert event_names(one) == {"a.b"}
    assert field_names(one) == {("a.b", "x")}
    assert fact_names(one) == {"nccl.net"}
    assert series_names(one) == {"loss"}
    assert rule_names(one) == {"fourth"}
    assert names(one.match) == {"first"}
    assert compares_population(one)


def test_text_conditions_are_numbered_events_with_a_nature():
    one = rule(
        """
        match: {any: [{text: [one thing, the longer thing]}, {regex: 'lost (?P<peer>\\S+) at', capture: {peer: ip}, nature: effect}]}
        unless: {text: all is well}
        """
    )
    assert [leaf.event for leaf in one.texts] == [f"text:test-rule:{n}" for n in range(3)]
    assert [leaf.own_nature for leaf in one.texts] == [Nature.ERROR, Nature.EFFECT, Nature.ERROR]
    assert event_names(one) == frozenset()


@pytest.mark.parametrize(
    ("text", "path", "part"),
    [
        ("mach: {event: a}", ("mach",), "did you mean 'match'?"),
        ("match: {evnt: a.b}", ("match",), "did you mean 'event'?"),
        ("match: {event: a, fact: b}", ("match",), "'event' and 'fact'"),
        ("match: {event: a, wher: {}}", ("match", "wher"), "did you mean 'where'?"),
        (
            "match: {event: a, where: {x: {gt3: 1}}}",
            ("match", "where", "x", "gt3"),
            "did you mean 'gt'?",
        ),
        (
            "match: {event: a, where: {x: {gte: '5'}}}",
            ("match", "where", "x", "gte"),
            "given as text",
        ),
        ("match: {event: a, where: {x: {gte: 5parsecs}}}", ("match", "where", "x", "gte"), "1GiB"),
        ("match: {event: a, where: {x: }}", ("match", "where", "x"), "exists: false"),
        (
            "match: {event: a, where: {x: {cidr: 10.0.0.0/99}}}",
            ("match", "where", "x", "cidr"),
            "not a network",
        ),
        ("match: {event: a, count: {gte: '5'}}", ("match", "count", "gte"), "given as text"),
        ("match: {event: a, count: {contains: 5}}", ("match", "count", "contains"), "unknown key"),
        ("match: {event: a, distinct: {gte: 5}}", ("match", "distinct", "field"), "expected text"),
        ("match: {event: a, rate: {gte: 5}}", ("match", "rate", "per"), "expected a duration"),
        ("match: {event: a, same: rnak}", ("match", "same"), "did you mean 'rank'?"),
        ("match: {event: a, nature: eror}", ("match", "nature"), "did you mean 'error'?"),
        ("match: {event: a, missing: {lte: 1}}", ("match", "missing"), "needs a known population"),
        ("match: {event: a, across: ranks}", ("match",), "either 'missing' or 'minority'"),
        (
            "match: {event: a, across: ranks, minority: {lte: 1}}",
            ("match", "minority"),
            "unknown key",
        ),
        ("match: {series: x, stat: median}", ("match",), "needs a bound"),
        ("match: {series: x, stat: meidan, gte: 1}", ("match", "stat"), "did you mean 'median'?"),
        ("match: {all: []}", ("match", "all"), "at least one"),
        ("match: {all: {event: a}}", ("match", "all"), "expected a list"),
        ("match: {sequence: [{event: a}], within: soon}", ("match", "within"), "90s"),
        ("match: {regex: '(a+)+b'}", ("match", "regex"), "not accepted"),
        ("match: {regex: '(unclosed'}", ("match", "regex"), "not accepted"),
        (
            "match: {regex: 'lost (?P<peer>x)', capture: {pear: ip}}",
            ("match", "capture", "pear"),
            "did you mean 'peer'?",
        ),
        (
            "match: {regex: 'lost (?P<peer>x)', capture: {peer: ipv4}}",
            ("match", "capture", "peer"),
            "unknown value",
        ),
        ("match: {expect: a, every: 60s}", ("match",), "expected exactly one of"),
        ("match: a.b", ("match",), "a condition (a map)"),
        ("match: []", ("match",), "a condition (a map)"),
        ("match: {event: a, where: {x: []}}", ("match", "where", "x"), "at least one value"),
        ("match: {event: a, where: {x: {in: []}}}", ("match", "where", "x", "in"), "at least one"),
        ("{}", (), "'match' is missing"),
        ("{match: {event: a}, cause: comms.tset}", ("cause",), "did you mean 'comms.test'?"),
        ("{match: {event: a}, level: hihg}", ("level",), "did you mean 'high'?"),
        ("{match: {event: a}, confidence: 80}", ("confidence",), "from 0 to 1"),
        ("{match: {event: a}, confidence: '0.8'}", ("confidence",), "given as text"),
        ("{match: {event: a}, symptoms: [14]}", ("symptoms", 0), "from 1 to 13"),
        (
            "{match: {event: a}, culprit: {host: '{{ x }}'}}",
            ("culprit", "host"),
            "did you mean 'hosts'?",
        ),
        (
            "{match: {event: a}, culprit: {hosts: event.host}}",
            ("culprit", "hosts"),
            'write "{{ event.host }}"',
        ),
        ("{match: {event: a}, applies: {torch: 2.4}}", ("applies", "torch"), "quote it"),
        ("{match: {event: a}, applies: {torch: '2.4'}}", ("applies", "torch"), "'>=2.4'"),
        ("{match: {event: a}, explains: [Not An Id]}", ("explains", 0), "rule id or cause:"),
        (
            "{match: {event: a}, explains: [{rule: b, scop: gpu}]}",
            ("explains", 0, "scop"),
            "did you mean 'scope'?",
        ),
        ("{match: {event: a}, cleared_by: progres}", ("cleared_by",), "expected 'progress'"),
        ("{match: {event: a}, raise: [{when: {event: b}}]}", ("raise", 0), "'by' is missing"),
        ("{match: {event: a}, role: root}", (), "'explanation' is missing"),
        ("{match: {event: a}, id: Some_Rule}", ("id",), "small letters"),
        ("{match: {event: a}, title: 5}", ("title",), "quote it"),
        ("{match: {event: a}, title: '{{ x'}", ("title",), "not a valid template"),
        ("match: {event: a, as: events}", ("match",), "hides a standard name"),
        ("match: {event: a, where: {x: {same_as: b.host}}}", ("match",), "nothing is named 'b'"),
        (
            "match: {event: a, where: {x: {exists: maybe}}}",
            ("match", "where", "x", "exists"),
            "true or false",
        ),
    ],
)
def test_a_mistake_has_a_path_and_says_what_to_do(text, path, part):
    found = mistakes(text)
    assert [place for place, message in found if part in message] == [path], found


def test_all_mistakes_are_found_at_once():
    found = mistakes(
        "{match: {event: a, cuont: 3, where: {x: {gte: '1'}}}, level: worst, by: node}"
    )
    assert len(found) == 4


def test_a_condition_may_not_be_nested_without_end():
    data = {"event": "a"}
    for _ in range(30):
        data = {"all": [data]}
    assert any("deep" in message for _, message in mistakes("{}", match=data))


@pytest.mark.parametrize("data", [None, [], "text", 5, {}, {"match": None}])
def test_what_is_no_rule_at_all_is_a_mistake(data):
    read, found = read_rule(data, CAUSES)
    assert read is None
    assert found


def test_the_key_tables_say_everything_that_documentation_needs():
    assert list(RULE_KEYS)[:4] == ["id", "aliases", "title", "cause"]
    tables = [RULE_KEYS, *CONDITION_KEYS.values()]
    assert all(
        key.type and key.default and key.meaning for table in tables for key in table.values()
    )
    assert all(form in table for form, table in CONDITION_KEYS.items())


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("match: {event: a, same: host}", True),
        ("match: {all: [{event: a, same: host}, {event: b}]}", True),
        ("match: {all: [{event: a}, {event: b, same: host}]}", False),
        ("match: {rule: other, same: host}", False),
        ("{match: {event: a}, unless: {event: b, same: host}}", False),
    ],
)
def test_same_with_nothing_before_it_is_warned_about(text, warned):
    assert any("nothing before it" in message for _, message in mistakes(text)) == warned


yaml_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["event", "all", "where", "count", "gte", "series", "fact", "across", "x"]
            )
            | st.integers(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*RULE_KEYS, "other"]), yaml_data, max_size=8))
@settings(max_examples=100, deadline=None)
def test_no_data_breaks_the_reader(data):
    read, found = read_rule({**BASE, **data}, CAUSES)
    assert read is not None or any(mistake.fatal for mistake in found)
    assert all(mistake.message for mistake in found)
