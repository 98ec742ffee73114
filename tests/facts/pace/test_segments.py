"""Changes of level by absolute deviations, and trends."""

import math
import random
from statistics import median

import pytest

from diagnose.facts.pace.segments import (
    WORTH,
    Segment,
    best_split,
    block_medians,
    costs,
    find_segments,
    noise,
)
from diagnose.facts.pace.trend import trend

from .series import noisy


def test_the_costs_are_those_of_the_definition():
    random_ = random.Random(3)
    values = [random_.choice([1.0, 2.0, random_.random() * 9]) for _ in range(60)]
    for count, cost in enumerate(costs(values)):
        first = values[:count]
        assert cost == pytest.approx(sum(abs(one - median(first)) for one in first))


def test_a_step_is_found_where_it_is():
    values = [value * (1.05 if at >= 130 else 1) for at, value in enumerate(noisy(300))]
    before, after = find_segments(values)
    assert abs(after.start - 130) <= 2
    assert (before.start, before.end, after.end) == (0, after.start, 300)
    assert after.level / before.level == pytest.approx(1.05, abs=0.01)
    assert after.gain > WORTH


def test_a_level_that_comes_and_goes_is_found():
    values = [value * (1.1 if 140 <= at < 170 else 1) for at, value in enumerate(noisy(300))]
    assert len(find_segments(values)) == 3


def test_a_long_series_is_thinned_and_its_split_found_to_the_point():
    values = [value * (1.05 if at >= 12_345 else 1) for at, value in enumerate(noisy(30_000))]
    _, after = find_segments(values)
    assert abs(after.start - 12_345) <= 3


@pytest.mark.parametrize("carry", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("size", [0.005, 0.01, 0.03])
def test_noise_and_spikes_have_no_level_of_their_own(size, carry):
    for seed in range(20):
        random_ = random.Random(seed)
        values = [
            value * (1 + 2 * random_.random() if random_.random() < 0.01 else 1)
            for value in noisy(400, noise=size, carry=carry, seed=seed)
        ]
        assert len(find_segments(values)) == 1


def test_too_few_points_are_one_segment():
    assert find_segments([1.0] * 10 + [9.0] * 10) == [Segment(0, 20, 5.0, 0.0)]
    assert find_segments([]) == []
    assert best_split([1.0] * 39) == (0, 0.0)


def test_blocks_and_noise():
    assert block_medians([1, 2, 3, 4, 5, 6, 7], 3) == ([2, 5], 3)
    assert block_medians([1, 2], 3) == ([1, 2], 1)
    logs = [math.log(value) for value in noisy(2000, noise=0.02)]
    assert noise(logs) == pytest.approx(0.02, rel=0.1)
    assert noise([value + (at >= 1000) for at, value in enumerate(logs)]) == pytest.approx(
        noise(logs), rel=0.01
    )


def test_a_line_is_told_from_a_step():
    rising = [value * (1 + 0.2 * at / 300) for at, value in enumerate(noisy(300))]
    stepped = [value * (1.2 if at >= 150 else 1) for at, value in enumerate(noisy(300))]
    line = trend(rising, find_segments(rising))
    assert line.is_line
    assert line.change == pytest.approx(0.2, abs=0.01)
    assert line.p < 1e-6
    assert not trend(stepped, find_segments(stepped)).is_line


def test_no_trend():
    flat = noisy(300)
    found = trend(flat, find_segments(flat))
    assert found.p > 0.01
    assert abs(found.change) < 0.01
