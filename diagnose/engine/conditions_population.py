"""Conditions on a population: who lacks something, who differs from the rest.

Absence counts only where a member's log is there and goes on past the moment in question; a member
without a log is unknown.
"""

from collections import Counter
from typing import Any

from diagnose.engine.conditions_event import alone, satisfies, select_events, select_facts
from diagnose.engine.records import Member, Record, identities, witness
from diagnose.engine.schema import AcrossCondition, EventCondition, FactCondition
from diagnose.facts.case import Case
from diagnose.facts.stated import FEWEST, MAJORITY
from diagnose.model.event import Fact


def select_members(condition: AcrossCondition, case: Case) -> list[Record]:
    """Return the members that lack or differ, in order; empty where too many or too few do."""
    kind = condition.across.removesuffix("s")
    if condition.missing is not None:
        members = _missing(condition.of, kind, case)
        bound = condition.missing
    else:
        assert condition.minority is not None
        members = _odd(condition.of, kind, case)
        bound = condition.minority
    who = {(member.rank, member.host) for member in members}
    return list(members) if who and bound.holds(len(who)) else []


def _missing(of: EventCondition | FactCondition, kind: str, case: Case) -> list[Member]:
    holders = _holders(of, case)
    events = [event for record in holders if (event := witness(record)) is not None]
    first = case.first_of(events)
    if first is None:
        return []
    holding = {value for record in holders for value in identities(record, kind, case)}
    members: list[Member] = []
    if kind == "rank":
        for rank in sorted(case.job.ranks_with_logs - holding):
            if case.reaches(first, rank=rank):
                members.append(Member(rank, case.job.host_of(rank), None, first))
    else:
        for host in sorted(case.job.hosts_with_logs - holding):
            if case.reaches(first, host=host):
                members.append(Member(None, host, None, first))
    return members


def _holders(of: EventCondition | FactCondition, case: Case) -> list[Record]:
    if isinstance(of, EventCondition):
        return select_events(of, case)
    return select_facts(of, case)


def _odd(of: EventCondition | FactCondition, kind: str, case: Case) -> list[Member]:
    """Return the members with another value than most, one entry for each such value."""
    assert isinstance(of, FactCondition)
    stated: dict[Any, dict[str, Fact]] = {}
    for fact in case.facts_named(of.fact):
        for value in identities(fact, kind, case):
            stated.setdefault(value, {}).setdefault(str(fact.value), fact)
    votes = Counter(tuple(sorted(facts)) for facts in stated.values())
    if len(stated) < FEWEST:
        return []
    usual, most = votes.most_common(1)[0]
    if most < MAJORITY * len(stated):
        return []
    odd: list[Member] = []
    for who in sorted(stated):
        for text, fact in stated[who].items():
            if text not in usual and satisfies(fact, alone(of.where), case):
                rank = who if kind == "rank" else None
                host = who if kind == "host" else case.job.host_of(rank) or fact.host
                odd.append(Member(rank, host, fact.value, fact.event))
    return odd
