"""Jumps of losses and gradient norms, what announces them, and climbs without one."""

import math
import random

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def named(case, name):
    return [one.fields for one in case.events if one.name == name]


def jumps(values, *, first=5000, every=10, metric="loss", name="train.loss_jump"):
    steps = [first + every * i for i in range(len(values))]
    return named(build(reading(points(metric, values, steps=steps))), name)


STEADY = [2.31 + 0.01 * (i % 3) for i in range(40)]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([2.78, 2.77, 2.77, 7.3, 8.7, 7.6], True),
        ([2.78, 2.77, 2.77, 3.9, 4.1, 4.4], True),
        ([2.78, 2.77, 2.77, 3.9, 2.8, 2.77], False),
        ([2.78, 2.77, 7.3], True),
        ([2.78, 7.3], False),
        ([1.4, 3.0, 212.0, 41.0, 4421.0], True),
        ([2.31, 2.33, 2.71, 2.36, 2.45, 5.3, 3.6, 3.3, 2.9], True),
        ([2.31, 2.93, 2.41, 3.02, 2.45, 5.3, 2.6, 2.3, 2.9], False),
        (STEADY, False),
        ([*STEADY, 2.6, *STEADY], False),
        ([*STEADY, 3.4, 3.5, 3.4, 3.5], True),
        ([1.9, 1.4, 1.6, 1.1, 1.7, 1.0, 1.5, 0.9], False),
        ([0.001, 0.002, 0.001, 0.009, 0.008], False),
        ([], False),
    ],
)
def test_a_jump_of_the_loss(values, found):
    assert bool(jumps(values)) is found


def test_the_first_steps_of_a_run_may_do_anything():
    assert not jumps([12.4, 41.0, 43.0, 38.1], first=1, every=1)


def test_without_step_numbers_a_steep_head_is_no_level():
    nan = math.nan
    steep = points("loss", [9.0, 4.0, 2.0, 6.1, 6.2], steps=[nan] * 5)
    level = points("loss", [2.1, 2.0, 2.1, 6.1, 6.2], steps=[nan] * 5)
    assert not named(build(reading(steep)), "train.loss_jump")
    assert named(build(reading(level)), "train.loss_jump")


def test_a_jump_says_where_and_whether_it_came_back():
    (spike,) = jumps([2.36, 2.35, 2.36, 5.1, 3.0, 2.4, 2.35], first=100)
    assert (spike["step"], spike["before"], spike["after"]) == (130, 2.36, 5.1)
    assert (spike["recovered"], spike["recovered_step"]) == (True, 150)
    (lasting,) = jumps([2.36, 2.35, 2.36, 5.1, 5.2, 5.3, 5.2], first=100)
    assert lasting["recovered"] is False
    (cut,) = jumps([2.36, 2.35, 2.36, 5.1, 5.2], first=100)
    assert cut["recovered"] is None


def test_a_gradient_norm_jumps_by_a_factor_of_ten():
    def found(values):
        return jumps(values, metric="grad_norm", name="train.gradient_jump")

    assert found([0.4, 0.5, 0.4, 9.8])
    assert not found([0.4, 0.5, 0.4, 2.0, 0.4])


def test_each_attempt_is_judged_by_itself():
    load = event("ckpt.load_end", Nature.PROGRESS, line=5)
    series = points(
        "loss",
        [2.3, 2.3, 2.3, 2.3, 9.8, 9.7, 9.8],
        steps=[500, 510, 520, 530, 510, 520, 530],
        lines=[1, 2, 3, 4, 6, 7, 8],
    )
    assert not named(build(reading(load, series)), "train.loss_jump")


def twice(**second):
    values, steps = [2.3, 2.3, 2.3, 4.9, 4.8, 4.7], [500, 510, 520, 530, 540, 550]
    one = points("loss", values, steps=steps)
    other = points("loss", values, steps=second.pop("steps", steps), **second)
    return named(build(reading(one, other)), "train.jump_again")


def test_a_jump_that_comes_back_in_the_next_attempt():
    (again,) = twice(attempt=1, file="b.log")
    assert (again["step"], again["apart"]) == (530, 0)


def test_another_step_another_rank_or_one_run_seen_twice_is_no_second_jump():
    assert not twice(attempt=1, file="b.log", steps=[600, 610, 620, 630, 640, 650])
    assert not twice(file="b.log")
    assert not twice(file="b.log", rank=1, attempt=1)


def noisy(count, level=2.3, noise=0.02, seed=1):
    rng = random.Random(seed)
    return [level * (1 + noise * rng.gauss(0, 1)) for _ in range(count)]


def test_a_long_run_is_judged_by_its_own_noise():
    tenth = [
        value * 1.15 if 200 <= at < 206 else value
        for at, value in enumerate(noisy(400, noise=0.03))
    ]
    assert not jumps(noisy(400, noise=0.04))
    assert not jumps(tenth), "six standard deviations of this noise are eighteen percent"
    quiet = noisy(400, noise=0.01)
    (jump,) = jumps([v * 1.15 if 200 <= at < 206 else v for at, v in enumerate(quiet)], every=1)
    assert (jump["step"], jump["points_above"], jump["recovered_steps"]) == (5200, 6, 6)


def test_a_single_leap_of_noisy_losses_is_none():
    rng = random.Random(3)
    wild = [1.2 * math.exp(rng.gauss(0, 0.3)) for _ in range(400)]
    assert not jumps(wild)


def test_every_jump_of_a_run_is_told():
    values = noisy(300, noise=0.005)
    for at in (60, 130, 220):
        values[at : at + 3] = [4.0, 3.6, 3.0]
    found = jumps(values, every=1)
    assert [one["step"] for one in found] == [5060, 5130, 5220]
    assert all(one["recovered"] for one in found)


def test_a_falling_head_hides_no_jump_and_is_none():
    head = [2.4 + 8 / (1 + at / 20) for at in range(300)]
    assert not jumps(head, first=1, every=1)
    head[150] *= 1.5
    assert [one["step"] for one in jumps(head, first=1, every=1)] == [151]


def announced(norms):
    losses = noisy(120, noise=0.005)
    losses[110] = 5.0
    series = points("loss", losses, first=1000), points("grad_norm", norms, first=1000)
    (jump,) = named(build(reading(*series)), "train.loss_jump")
    return jump["norm_known"], jump["norm_lead"], jump["norm_ratio"]


def test_a_gradient_norm_that_grows_first():
    norms = noisy(120, level=0.3)
    known, lead, ratio = announced([*norms[:105], 1.2, 4.8, 20.0, 80.0, 300.0, *norms[110:]])
    assert (known, lead) == (True, 5)
    assert ratio == pytest.approx(1000, rel=0.1)
    assert announced(norms)[:2] == (True, None)


def test_a_gradient_norm_that_is_not_logged_announces_nothing():
    losses = [*noisy(60, noise=0.005), 5.0, 5.0, 5.0]
    (jump,) = jumps(losses)
    assert (jump["norm_known"], jump["norm_lead"]) == (False, None)


def crowded(places, rate):
    losses = noisy(200, noise=0.005)
    for at in places:
        losses[at] = 5.0
    series = points("loss", losses, first=100), points("learning_rate", rate, first=100)
    return named(build(reading(*series)), "train.loss_jumps")


PEAK = [3e-4 if 60 <= at < 100 else 3e-5 for at in range(200)]


def test_jumps_that_crowd_at_the_peak_of_the_learning_rate():
    (crowd,) = crowded([62, 70, 80, 90], PEAK)
    assert (crowd["jumps"], crowd["at_peak"], crowd["share"]) == (4, 4, 0.2)
    assert crowd["chance"] == pytest.approx(0.2**4)
    (spread,) = crowded([30, 80, 150, 190], PEAK)
    assert spread["chance"] > 0.5
    assert not crowded([62, 80], PEAK), "two are no crowd"


def climbs(values, **more):
    return named(build(reading(points("loss", values, **more))), "train.loss_rise")


def test_a_climb_that_lasts_to_the_end():
    flat, up = noisy(300, noise=0.01), [2.3 * (1 + at / 800) for at in range(300)]
    (climb,) = climbs([*flat, *up])
    assert climb["ratio"] > 1.15
    assert climb["slope"] > 0.05
    assert climb["score"] > 6
    assert 200 <= climb["steps"] <= 240
    assert not climbs([*flat, *up, *flat]), "it came back"
    assert not climbs([2.4 + 8 / (1 + at / 20) for at in range(300)])
