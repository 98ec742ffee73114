"""Losses that climb: slowly to the end of a run, or within a dozen values to a NaN."""

import math
import random

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, named, points, reading

NAN = math.nan


def noisy(levels, noise=0.01, seed=1):
    random_ = random.Random(seed)
    return [level * random_.gauss(1, noise) for level in levels]


CLIMB = [*([2.9] * 100), *(2.9 + 0.04 * at for at in range(60))]


@pytest.mark.parametrize(
    ("steps", "lasted"),
    [(range(160), 140), ([NAN] * 160, None), ([*range(158), NAN, NAN], 140)],
    ids=["numbered", "without steps", "the last of them unknown"],
)
def test_a_rise_to_the_end_of_a_run(steps, lasted):
    series = points("loss", noisy(CLIMB), steps=list(steps))
    (rise,) = named(build(reading(series)), "train.loss_rise")
    assert rise["ratio"] > 1.2
    assert rise["minimum"] == pytest.approx(2.9, rel=0.02)
    assert rise["points"] >= 30
    assert (rise["steps"] is None) == (lasted is None)
    assert (rise["step"] is None) == (lasted is None)


def until_nan(values, line=None):
    gone = event("train.nan_loss", Nature.ERROR, line=line or len(values) + 1)
    return named(build(reading(points("loss", values), gone)), "train.climb_to_nan")


@pytest.mark.parametrize("count", [4, 12, 40])
def test_an_exponential_climb_before_a_nan(count):
    climb = [2.9 * 2.4 ** (at / count) for at in range(1, count + 1)]
    (found,) = until_nan(noisy([*([2.9] * 60), *climb]))
    assert found["before"] == pytest.approx(2.9, rel=0.02)
    assert found["ratio"] > 1.5
    assert found["score"] > 6
    assert count <= found["points"] <= count + 60


def test_no_climb_before_a_nan():
    (flat,) = until_nan(noisy([2.9] * 60))
    assert flat["ratio"] < 1.05
    (falling,) = until_nan(noisy([10 / (1 + at / 20) for at in range(60)]))
    assert falling["ratio"] < 1.05
    assert not until_nan([2.9] * 7)


def test_what_comes_behind_the_nan_is_no_climb():
    values = noisy([*([2.9] * 60), *([7.0] * 20)])
    (found,) = until_nan(values, line=60)
    assert found["ratio"] < 1.05
