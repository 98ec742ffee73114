"""How the losses of a resumed run compare with those of the run before it.

================ =================================================================================
``train.replay`` Steps done again: how far their losses are from those of the first time
``train.resume`` The level of the loss before and after, and what else differs across the resume
================ =================================================================================

``train.replay``
    ``difference`` is the median of what a loss differs by, as a share; ``in_noise`` the same as a
    share of what two runs with other data or random numbers would differ by, so that it is near 0
    where they are the same and near 1 where they are not; ``change`` the mean, with its sign, and
    ``change_score`` that in standard errors.

``train.resume``
    ``change`` is the difference of the levels as a share, ``score`` the same in standard errors.
    ``bend`` is how much faster the loss rises than before, in standard errors: negative where the
    difference decays. ``remaining`` is the share of it by which the end of the run
    (``steps_after``) lies above the level before, ``back`` the steps until that was reached
    again. A step up behind a level that was lower is ``step_up``, a share, at ``step_up_at``.

``train.resume_rate``
    What ``train.resume`` says of the learning rate, at its place, where that is known before and
    after.

A run is resumed where a checkpoint was loaded, where the job was started again, or where the steps
of one file go on in another; it need not say so.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median

from diagnose.facts.clock import Clocks
from diagnose.facts.losses.continuations import COMPARED, Resumed, continuations
from diagnose.facts.losses.discontinuities import Discontinuity, discontinuity
from diagnose.facts.losses.resume_state import State
from diagnose.facts.losses.runs import FEWEST, Run, Series
from diagnose.facts.points import derived_event, whole
from diagnose.facts.statistics import SIGMA
from diagnose.model.event import Clock, Event, Value

EVENTS = ("train.replay", "train.resume", "train.resume_rate")

LATE, NEAR_LEVEL = 20, 10
"""Points that make the level at the end of a run, and those of a level on the way."""

INDEPENDENT = 0.6745 * math.sqrt(2)
"""Median distance of two independent values, in standard deviations."""

SAME_DIGITS = 1e-4
"""Share by which two losses that are equal to four digits may differ."""


def resumes(
    runs: Sequence[Run],
    series: Series,
    state: State,
    clocks: Clocks,
    by_file: dict[str, Clock],
) -> Iterator[Event]:
    """Yield how each resumed run compares with the run before it.

    Args:
        runs: Of the losses of the input.
        series: Of the input.
        state: What else is compared.
        clocks: Of the input.
        by_file: What the stamps of each file are measured against.
    """
    for resumed in continuations(runs, series, clocks, by_file):
        yield from _replay(resumed, by_file)
        yield from _level(resumed, state, by_file)


def _replay(resumed: Resumed, by_file: dict[str, Clock]) -> Iterator[Event]:
    pairs = [(resumed.again[new.step], new) for new in resumed.after if new.step in resumed.again]
    if not pairs:
        return
    changes = [(new.value - old.value) / abs(old.value) for (old, _), new in pairs]
    (old, file), new = pairs[0]
    distance = median(abs(change) for change in changes)
    first_time = [*resumed.before, *(point for (point, _), _ in pairs)]
    noise = _noise([point.value for point in first_time][-COMPARED:])
    spread = math.sqrt(fmean(change * change for change in changes) / len(changes))
    fields: dict[str, Value] = {
        "step": int(new.step),
        "steps": len(pairs),
        "before": old.value,
        "after": new.value,
        "change": fmean(changes),
        "change_score": fmean(changes) / spread if spread else 0.0,
        "difference": distance,
        "equal": sum(abs(change) <= SAME_DIGITS for change in changes),
        "in_noise": distance / (INDEPENDENT * noise) if noise else None,
        "first_file": file,
        "first_line": old.line,
    }
    yield derived_event(resumed.run.points, new, "train.replay", fields, by_file)


def _noise(values: Sequence[float]) -> float | None:
    """Return the standard deviation about the trend as a share, None for a short series."""
    if len(values) < 2 * FEWEST:
        return None
    steps = [abs(two - one) / abs(one) for one, two in pairwise(values) if one]
    return SIGMA * median(steps) / math.sqrt(2) if steps else None


def _level(resumed: Resumed, state: State, by_file: dict[str, Clock]) -> Iterator[Event]:
    found = discontinuity(*(
        [(point.step, point.value) for point in side] for side in (resumed.before, resumed.after)
    ))  # fmt: skip
    if found is None:
        return
    run = resumed.run
    fields: dict[str, Value] = {
        "step": int(run.first),
        "before": found.before,
        "after": found.after,
        "change": found.change,
        "score": found.score,
        "points": found.points,
        "bend": found.bend,
        "last": run.points.values[run.end - 1],
        "steps_after": int(run.last - run.first),
        **_course(run, found),
        **state.across(resumed),
    }
    yield derived_event(run.points, resumed.after[0], "train.resume", fields, by_file)
    if (rate := state.rate_after(run)) is not None and fields["rate_change"] is not None:
        yield derived_event(*rate, "train.resume_rate", _of_rate(fields), by_file)


def _of_rate(fields: dict[str, Value]) -> dict[str, Value]:
    own = {name: value for name, value in fields.items() if name.startswith("rate_")}
    return {**own, **{name: fields[name] for name in ("step", "change", "score", "loaded")}}


def _course(run: Run, found: Discontinuity) -> dict[str, Value]:
    """Return what became of the difference."""
    values = run.points.values[run.begin : run.end]
    steps = run.points.steps[run.begin : run.end]
    moved = found.after - found.before
    fields: dict[str, Value] = {
        "remaining": None,
        "back": None,
        "step_up": None,
        "step_up_at": None,
    }
    if len(values) >= 2 * LATE:
        late = median(values[-LATE:])
        fields["remaining"] = (late - found.before) / moved if moved else None
    for place in range(0, len(values) - NEAR_LEVEL, NEAR_LEVEL):
        near = median(values[place : place + NEAR_LEVEL])
        if moved and (near - found.before) / moved < 0.1:
            fields["back"] = whole(steps[place] - steps[0])
            break
    if moved < 0:
        fields |= _step_up(values, steps, abs(found.before))
    return fields


def _step_up(values: Sequence[float], steps: Sequence[float], level: float) -> dict[str, Value]:
    """Return the largest rise of the level from one stretch of points to the next."""
    stretches = [
        (place, median(values[place : place + LATE]))
        for place in range(0, len(values) - LATE + 1, LATE // 2)
    ]
    rises = [
        ((late - early) / level, place)
        for (_, early), (place, late) in zip(stretches, stretches[2:], strict=False)
    ]
    if not rises:
        return {}
    rise, place = max(rises)
    return {"step_up": rise, "step_up_at": whole(steps[place])}
