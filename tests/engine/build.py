"""Hand-made rules and cases for the tests of the engine."""

import math
from array import array
from textwrap import dedent

import yaml

from diagnose.engine.match import match_rules
from diagnose.engine.read_rule import read_rule
from diagnose.engine.rule_set import RuleSet
from diagnose.facts.case import build
from diagnose.model.event import Clock, Event, Nature, Points
from diagnose.model.reading import Reading, SourceSummary
from diagnose.model.taxonomy import Cause

CAUSES = {
    f"{stage}.test": Cause(
        id=f"{stage}.test", stage=stage, owner="unknown", symptoms=(1,), title="A test"
    )
    for stage in ("dataflow", "comms", "resources", "parameters")
}

DAY = 1_767_312_000.0


def event(name, line=1, /, *, at=None, file="a.log", nature=Nature.ERROR, **more):
    """An event; ``at`` is seconds after midnight, and keywords that are no attributes are fields."""
    known = ("rank", "host", "gpu", "nic", "communicator", "attempt", "count", "fact", "pid")
    attributes = {key: more.pop(key) for key in known if key in more}
    return Event(
        name=name,
        nature=nature,
        file=file,
        line=line,
        end_line=line,
        text=f"{name} at line {line}",
        fields=more,
        time=None if at is None else DAY + at,
        clock=Clock.NONE if at is None else Clock.LOCAL,
        **attributes,
    )


def fact(name, value, line=1, **more):
    return event(name, line, nature=Nature.SETTING, fact=name, value=value, **more)


def points(metric, values, **more):
    count = len(values)
    return Points(
        metric=metric,
        file=more.pop("file", "a.log"),
        steps=array("d", range(1, count + 1)),
        times=array("d", [math.nan] * count),
        values=array("d", values),
        lines=array("q", range(1, count + 1)),
        **more,
    )


def case(*records, ends=()):
    """A case; ``ends`` gives (file, rank, host, seconds after midnight of the last line)."""
    events = [record for record in records if isinstance(record, Event)]
    sources = [
        SourceSummary(
            name=file,
            rank=rank,
            host=host,
            first_time=DAY,
            last_time=None if end is None else DAY + end,
            clock=Clock.NONE if end is None else Clock.LOCAL,
        )
        for file, rank, host, end in ends
    ]
    series = [record for record in records if isinstance(record, Points)]
    return build(Reading(sources=sources, events=events, points=series))


def rule(text, **more):
    """A rule from the YAML of the keys that matter; the rest is filled in."""
    data = {
        "id": "test-rule",
        "title": "A test",
        "cause": "comms.test",
        "role": "context",
        **yaml.safe_load(dedent(text)),
        **more,
    }
    read, mistakes = read_rule(data, CAUSES)
    assert read is not None, mistakes
    return read


def outcomes(rules, evidence):
    found = match_rules(RuleSet(rules={one.id: one for one in rules}, causes=CAUSES), evidence)
    return {outcome.rule.id: outcome for outcome in found}


def matches(text, *records, ends=(), **more):
    """What one rule finds in a case made of some records."""
    one = rule(text, **more)
    return list(outcomes([one], case(*records, ends=ends))[one.id].matches)


def shown(match):
    """The line numbers of a match's evidence."""
    return [event.line for event in match.events]
