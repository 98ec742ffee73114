"""Steps that take far longer than those around them, and pauses between them."""

import pytest

from diagnose.facts.attempts import Attempts
from diagnose.facts.pace.joining import pace_of
from diagnose.facts.pace.segments import find_segments
from diagnose.facts.pace.slow_steps import slow_steps

from ..build import points
from .series import noisy, stamps


def slow(values, **more):
    pace = pace_of([points("step_time", values, first=100, **more)], Attempts())
    return {one.place: one.excess for one in slow_steps(pace, find_segments(pace.seconds))}


def test_a_slow_step_and_its_seconds():
    values = noisy(200)
    values[50] += 3.0
    assert slow(values) == {50: pytest.approx(3.0, abs=0.3)}


def test_a_little_above_the_noise_is_not_slow():
    values = noisy(200, noise=0.002)
    values[50] *= 1.1
    assert not slow(values)


def test_behind_a_rise_of_the_level_nothing_is_slow():
    assert not slow([one * (1.5 if at >= 130 else 1) for at, one in enumerate(noisy(300))])


def test_behind_a_rise_in_a_short_series_nothing_is_slow():
    values = [one * (1.06 if at >= 66 else 1) for at, one in enumerate(noisy(120, noise=0.001))]
    steps = [100.0 * at for at in range(101, 221)]
    assert not slow(values, steps=steps)


def test_pauses_in_whole_seconds_have_to_be_longer():
    values = noisy(300, level=0.3, noise=0.03)
    times = stamps(values, {100: 1.5, 200: 9.0})
    assert set(slow(values, times=times)) == {100, 200}
    assert set(slow(values, times=[int(time) for time in times])) == {200}


def test_a_clock_that_differs_a_little_from_the_stated_times_hides_no_pause():
    values = noisy(300)
    times = stamps([one * 0.98 for one in values], {100: 20.0, 200: 20.0})
    assert set(slow(values, times=times)) == {100, 200}
