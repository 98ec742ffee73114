"""Halvings of the loss scale that a program reports one by one, without a column for the scale.

A scaler raises its scale after some thousand good steps, so halvings that follow each other with no
raise between them are more than it should need, but for the search at the start of a run. Where
steps are known they tell the search; where they are not, a run of halvings from a scale that no
scaler starts at is none.
"""

import math
from collections.abc import Iterator

from diagnose.facts.attempts import step_counters
from diagnose.facts.points import event_from, step_before
from diagnose.model.event import Event, Points, Value
from diagnose.model.reading import Reading

FALL = "train.scale_fall"

LOWEST_START = 2.0**11
"""Scales from which scalers start: 2**12 in some recipes, 2**16 and 2**32 by default."""

HALVINGS, HALVINGS_UNNUMBERED = 3, 4
"""Halvings that make a fall; more where nothing tells the step."""

SEARCH, WARM_UP, SPAN = 20, 500, 100
"""Steps of the search from a low scale and from any, and those within which halvings count."""


def falls(reading: Reading) -> Iterator[Event]:
    """Yield the longest fall of each writer's attempt."""
    counters = {(one.file, one.attempt): one for one in step_counters(reading.points)}
    loaded = {one.file for one in reading.events if one.name.startswith("ckpt.load")}
    chains: dict[tuple[str, int | None, int], list[list[Event]]] = {}
    for event in reading.events:
        if event.name != "train.overflow" or not isinstance(event.fields.get("new_scale"), float):
            continue
        runs = chains.setdefault((event.file, event.rank, event.attempt), [])
        if runs and _goes_on(runs[-1][-1], event):
            runs[-1].append(event)
        else:
            runs.append([event])
    for (file, _, attempt), runs in chains.items():
        steps = counters.get((file, attempt))
        found = [
            fall for run in runs if (fall := _fall(run, steps, resumed=file in loaded)) is not None
        ]
        if found:
            yield max(found, key=lambda one: float(str(one.fields["halvings"])))


def _scales(event: Event) -> tuple[float, float]:
    after = float(str(event.fields["new_scale"]))
    before = event.fields.get("scale")
    return (before if isinstance(before, float) else 2 * after), after


def _goes_on(last: Event, event: Event) -> bool:
    return _scales(event)[0] == _scales(last)[1] > 0


def _fall(run: list[Event], steps: Points | None, *, resumed: bool) -> Event | None:
    high, low = _scales(run[0])[0], _scales(run[-1])[1]
    if not 0 < low < high:
        return None
    halvings = round(math.log2(high / low))
    first, last = _step(run[0], steps), _step(run[-1], steps)
    late = first is not None and first >= WARM_UP and not resumed
    if late and first is not None and last is not None:
        is_fall = halvings >= HALVINGS and last - first <= SPAN
    else:
        stated = isinstance(run[0].fields.get("scale"), float)
        searching = first is not None and first < SEARCH
        is_fall = halvings >= HALVINGS_UNNUMBERED and high <= LOWEST_START
        is_fall = is_fall and stated and not searching
    if not is_fall:
        return None
    end = run[-1]
    fields: dict[str, Value] = {
        "step": last,
        "before": high,
        "after": low,
        "halvings": halvings,
        "within": last - first if first is not None and last is not None else None,
        "recovered": None,
    }
    return event_from(end, FALL, fields)


def _step(event: Event, steps: Points | None) -> int | None:
    """Return the last step before an event, None where the log shows none."""
    stated = event.fields.get("step")
    if isinstance(stated, int):
        return stated
    return step_before(steps, event.line) if steps is not None else None
