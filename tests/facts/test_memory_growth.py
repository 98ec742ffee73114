"""Memory that grows before anything fails."""

import math

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading

GIB = 2.0**30


def growth(values, *others, metric="memory_allocated"):
    case = build(reading(points(metric, values), *others))
    return [one.fields for one in case.events if one.name == "train.memory_growth"]


LEAK = [20 * GIB + 0.05 * GIB * at for at in range(200)]


def test_a_leak_says_how_fast_it_is():
    (leak,) = growth(LEAK)
    assert leak["growth"] == pytest.approx(0.05 * GIB)
    assert leak["growth_fit"] == pytest.approx(1)
    assert leak["steady"] == pytest.approx(1)
    assert (leak["growth_per"], leak["full_at"]) == ("step", None)


def test_a_leak_says_when_the_device_is_full():
    card = event("nvidia_smi.gpu", Nature.MEASUREMENT, fields={"memory_total": 40 * GIB})
    (leak,) = growth(LEAK, card)
    assert leak["full_at"] == 401


def test_pools_that_fill_are_not_steady():
    (pools,) = growth([20 * GIB + 5 * GIB * (1 - math.exp(-at / 40)) for at in range(200)])
    assert pools["steady"] < 0.3


@pytest.mark.parametrize(
    "values", [[20 * GIB] * 200, [20 * GIB + GIB * (at % 11) for at in range(200)], LEAK[:20]]
)
def test_level_memory_and_few_points_say_nothing(values):
    assert not growth(values)
