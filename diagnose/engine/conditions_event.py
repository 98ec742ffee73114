"""Conditions on events and facts: which records they select, and how many there must be."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from diagnose.engine.by_value import candidates
from diagnose.engine.records import Record, count_of, field_of, witness
from diagnose.engine.schema import EventCondition, FactCondition, Quantity, Rate, Where
from diagnose.engine.windows import timeline
from diagnose.facts.case import Case
from diagnose.model.event import Nature

NO_EVIDENCE = frozenset({Nature.ADVICE, Nature.UNRELATED})
"""Natures that a condition must name."""

Named = Callable[[str], Iterable[Record]]
"""Gives the records that an earlier member of the rule selected under an ``as`` name."""


def select_events(condition: EventCondition, case: Case) -> list[Record]:
    """Return the events that a condition selects, in the order of the sources.

    Advice and what is unrelated are never evidence unless the condition names that nature.
    """
    natures = condition.nature
    where = alone(condition.where)
    return [
        event
        for event in candidates(condition, case)
        if (event.nature in natures if natures else event.nature not in NO_EVIDENCE)
        and satisfies(event, where, case)
    ]


def select_facts(condition: FactCondition, case: Case) -> list[Record]:
    """Return the facts that a condition selects, in the order of the sources."""
    where = alone(condition.where)
    return [fact for fact in case.facts_named(condition.fact) if satisfies(fact, where, case)]


def alone(where: Where) -> Where:
    """Return the comparisons that look at one record alone."""
    return tuple((name, test) for name, test in where if not test.relates)


def satisfies(record: Record, where: Where, case: Case) -> bool:
    """Return whether a record satisfies all of some comparisons that look at it alone."""

    def lookup(name: str) -> Sequence[Any]:
        return (field_of(record, name, case),)

    return all(test.holds(field_of(record, name, case), lookup) for name, test in where)


def related(record: Record, where: Where, case: Case, named: Named) -> bool:
    """Return whether a record satisfies the comparisons with what earlier members selected."""

    def lookup(path: str) -> Sequence[Any]:
        name, dot, field = path.partition(".")
        if not dot:
            return (field_of(record, name, case),)
        return [field_of(other, field, case) for other in named(name)]

    return all(
        test.holds(field_of(record, name, case), lookup) for name, test in where if test.relates
    )


def enough(quantity: Quantity, records: Sequence[Record], case: Case) -> bool:
    """Return whether there are as many records as a condition wants, at least one."""
    if not records:
        return False
    if quantity.count and not quantity.count.holds(sum(map(count_of, records))):
        return False
    if quantity.distinct:
        values = (field_of(record, quantity.distinct.field, case) for record in records)
        different = {str(value) for value in values if value is not None}
        if not quantity.distinct.bound.holds(len(different)):
            return False
    if quantity.rate:
        return quantity.rate.bound.holds(_most(quantity.rate, records, case))
    return True


def _most(rate: Rate, records: Sequence[Record], case: Case) -> int:
    """Return the most records in any span of the given length."""
    events = {id(event): record for record in records if (event := witness(record)) is not None}
    most = 0
    for places in timeline((witness(record) for record in events.values()), case):  # type: ignore[misc]
        ordered = sorted(places.items(), key=lambda item: item[1])
        times = [time for _, time in ordered]
        totals = [0]
        for identity, _ in ordered:
            totals.append(totals[-1] + count_of(events[identity]))
        for last, time in enumerate(times):
            first = bisect_left(times, time - rate.per)
            most = max(most, totals[last + 1] - totals[first])
    return most
