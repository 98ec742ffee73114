"""Rows of gradient norms that are NaN, or 0."""

import math

from diagnose.facts.case import build

from .build import points, reading

NAN = math.nan


def rows(name, norms, *others):
    steps = range(4000, 4000 + len(norms))
    beside = [points(metric, values, steps=steps) for metric, values in others]
    case = build(reading(points("grad_norm", norms, steps=steps), *beside))
    return [one.fields for one in case.events if one.name == name]


def test_the_longest_row_of_nan_is_told():
    (row,) = rows("train.gradients_nan", [0.4, NAN, NAN, NAN, 0.4, *[NAN] * 5])
    assert (row["step"], row["last_step"], row["points"]) == (4005, 4009, 5)
    assert row["goes_on"]
    assert row["since_start"] == 5


def test_two_in_a_row_are_none():
    assert not rows("train.gradients_nan", [0.4, NAN, NAN, 0.4, NAN, NAN])


def test_an_infinite_norm_is_none():
    assert not rows("train.gradients_nan", [0.4, *[math.inf] * 9])


def test_a_scale_that_moves_beside_them_is_counted():
    norms = [0.4, *[NAN] * 4]
    (row,) = rows("train.gradients_nan", norms, ("loss_scale", [16.0, 8.0, 4.0, 2.0, 1.0]))
    assert (row["scale_before"], row["scale_after"], row["scales"]) == (16, 1, 4)


def test_norms_of_zero_tell_how_the_loss_moves():
    norms = [0.4, *[0.0] * 10]
    (flat,) = rows("train.gradients_zero", norms, ("loss", [2.4] * 11))
    (falls,) = rows("train.gradients_zero", norms, ("loss", [2.4 - 0.1 * i for i in range(11)]))
    assert flat["loss_change"] == 0
    assert falls["loss_change"] < -0.1
    assert not flat["scale_before"]
