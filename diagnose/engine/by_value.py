"""The events of a name by what stands in a field, worked out once for all rules.

Dozens of rules ask for one variable each, and every rank prints all of its variables.
"""

from collections.abc import Sequence

from diagnose.engine.records import field_of
from diagnose.engine.schema import EventCondition
from diagnose.facts.case import Case, Holders
from diagnose.model.event import Event


def candidates(condition: EventCondition, case: Case) -> Sequence[Event]:
    """Return the events that hold what a condition lists for one field, in order.

    All events of the name where it lists values for none.
    """
    events = case.named(condition.event)
    listing = [(field, test) for field, test in condition.where if test.lists_values]
    if not listing:
        return events
    field, test = listing[0]
    holders = _holders(condition.event, field, case).values()
    places = [place for value, found in holders if test.holds(value) for place in found]
    return [events[place] for place in sorted(places)]


def _holders(name: str, field: str, case: Case) -> Holders:
    if (name, field) not in case.holders:
        found = case.holders[name, field] = {}
        for place, event in enumerate(case.named(name)):
            value = field_of(event, field, case)
            # The value alone is no key: a list has no hash, and 1 would be true.
            found.setdefault((type(value), str(value)), (value, []))[1].append(place)
    return case.holders[name, field]
