"""Steps that go up and down, where the log does not say what they wait for.

``train.waves``
    Of the steps the share ``slow`` takes more than 1.2 times the median; ``spread`` is the 95th
    percentile over the median; ``lag`` the steps after which the course repeats, ``repeats`` how
    strongly (autocorrelation). ``workers``: the lag is the number of loader workers or twice it;
    ``accumulation``: it is the number of parts over which gradients are added up. Only of step
    times that are printed line by line and without a time for data.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from diagnose.facts.pace.events import job_event
from diagnose.facts.pace.places import workers
from diagnose.facts.pace.segments import Segment
from diagnose.facts.pace.steps import Pace
from diagnose.facts.settings import arguments, whole
from diagnose.model.event import Clock, Event, Value
from diagnose.model.reading import Reading

EVENTS = ("train.waves",)

SLOW = 1.2
LONGEST_LAG = 64
MOST = 2_000
"""Lines at the end of the series that are looked at."""

BY_CHANCE = 3.0
"""Autocorrelation of unrelated values, times the root of their number, that is hardly exceeded."""

AS_HIGH = 0.9
"""Share of the highest peak from which on a peak at a smaller lag is the period itself."""

CLIP = 3.0
"""Times the median that a step counts at most."""


def waves(
    reading: Reading, pace: Pace, levels: Sequence[Segment], by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Yield how unevenly the steps go, where their course repeats.

    Args:
        reading: The input.
        pace: Of the job.
        levels: Its stretches of one level.
        by_file: What the stamps of each file are measured against.
    """
    if median(pace.spans) > 1 or any(points.metric == "data_time" for points in reading.points):
        return
    values = [value / one.level for one in levels for value in pace.seconds[one.start : one.end]][
        -MOST:
    ]
    found = _repeats([math.log(min(value, CLIP)) for value in values])
    if found is None or found[1] < BY_CHANCE / math.sqrt(len(values)):
        return
    lag, strength = found
    fields: dict[str, Value] = {
        "slow": sum(value > SLOW for value in values) / len(values),
        "spread": sorted(values)[int(0.95 * len(values))] / median(values),
        "lag": lag,
        "repeats": strength,
        "workers": lag in workers(reading),
        "accumulation": lag == whole(arguments(reading.events).get("gradient_accumulation_steps")),
        "points": len(values),
    }
    yield job_event(pace, len(pace) - 1, EVENTS[0], fields, by_file)


def _repeats(values: list[float]) -> tuple[int, float] | None:
    """Return the lag at which a series is most like itself, None without a peak."""
    middle = fmean(values)
    apart = [value - middle for value in values]
    whole = sum(one * one for one in apart)
    if whole == 0:
        return None
    last = min(LONGEST_LAG, len(values) // 4)
    alike = [
        sum(early * late for early, late in zip(apart, apart[lag:], strict=False)) / whole
        for lag in range(last + 2)
    ]
    peaks = [
        lag
        for lag in range(2, last + 1)
        if 0 < alike[lag] >= alike[lag + 1] and alike[lag] > alike[lag - 1]
    ]
    if not peaks:
        return None
    highest = max(alike[lag] for lag in peaks)
    lag = next(lag for lag in peaks if alike[lag] >= AS_HIGH * highest)
    return lag, alike[lag]
