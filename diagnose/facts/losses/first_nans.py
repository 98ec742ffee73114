"""Which ranks had a loss that is not finite before the others.

``train.nan_first``
    ``ranks`` had it at ``step``, the first of ``others`` other ranks ``ahead`` steps later.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from diagnose.facts.points import event_from
from diagnose.model.event import Event, Value

NAME = "train.nan_first"

SHARE = 0.25
"""Share of the ranks that can be first at most; more of them share a cause."""


def first_nans(events: Iterable[Event]) -> Iterator[Event]:
    """Yield, for each start of the job, the ranks that came first."""
    by_attempt: dict[int, dict[int, Event]] = defaultdict(dict)
    for event in events:
        if event.name == "train.nan_loss" and event.rank is not None and "step" in event.fields:
            known = by_attempt[event.attempt].setdefault(event.rank, event)
            if _step(event) < _step(known):
                by_attempt[event.attempt][event.rank] = event
    for found in by_attempt.values():
        steps = {rank: _step(event) for rank, event in found.items()}
        first = min(steps.values())
        ranks = sorted(rank for rank, step in steps.items() if step == first)
        later = [step for step in steps.values() if step > first]
        if not later or len(ranks) > SHARE * len(steps) or not math.isfinite(max(later)):
            continue
        event = found[ranks[0]]
        fields: dict[str, Value] = {
            "step": int(first),
            "ranks": [*ranks],
            "others": len(later),
            "ahead": int(min(later) - first),
        }
        yield event_from(event, NAME, fields)


def _step(event: Event) -> float:
    step = event.fields.get("step")
    return step if isinstance(step, int) else math.inf
