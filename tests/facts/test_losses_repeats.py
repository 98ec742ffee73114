"""Losses that come back, counters that stand still, stairs of epochs, ranks with one sampler."""

import random

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def named(case, name):
    return [one.fields for one in case.events if one.name == name]


def losses(count, seed=1, size=0.02):
    rng = random.Random(seed)
    return [round(2.4 * (1 + size * rng.gauss(0, 1)), 4) for _ in range(count)]


def repeated(values, *others, **more):
    return named(build(reading(points("loss", values, **more), *others)), "train.losses_repeat")


def test_a_row_of_losses_that_was_there_before():
    old = losses(60)
    (row,) = repeated([*old, *old[20:30], *losses(20, seed=2)])
    assert (row["step"], row["equal"], row["lag"], row["first_step"]) == (61, 10, 40, 21)


def test_chance_rounding_and_a_constant_are_no_repeats():
    assert not repeated(losses(400))
    assert not repeated([round(value, 1) for value in losses(400)])
    assert not repeated([2.4] * 400)
    assert not repeated([0.0] * 400)
    assert not repeated([2.4 + 8 / (1 + at / 20) for at in range(400)])


def test_tasks_in_turn_are_no_repeats():
    turns = [2.4 + 0.1 * (at % 7) for at in range(400)]
    assert not repeated([value + 0.0123 for value in turns])
    assert not repeated(
        [value + one for value, one in zip(turns, losses(400, size=0.01), strict=True)]
    )


def test_steps_that_are_done_again_are_no_repeats():
    old = losses(60)
    steps = [*range(1, 61), *range(41, 61)]
    load = event("ckpt.load_end", Nature.PROGRESS, line=61)
    assert not repeated([*old, *old[40:]], load, steps=steps, lines=[*range(1, 61), *range(62, 82)])


def test_samples_in_the_same_order_again():
    rng = random.Random(4)
    order = [rng.gauss(0, 0.02) for _ in range(300)]
    values = [2.4 * (1 + order[at % 300] + rng.gauss(0, 0.008)) for at in range(600)]
    (found,) = repeated(values)
    assert (found["lag"], found["equal"]) == (300, 0)
    assert found["alike"] > 0.6
    epochs = points("epoch", [at // 150 for at in range(600)])
    assert repeated(values, epochs)[0]["off_epoch"] == pytest.approx(0, abs=0.01)


def test_a_counter_of_samples_that_stands_still():
    def still(samples):
        series = points("loss", losses(len(samples))), points("consumed_samples", samples)
        return named(build(reading(*series)), "train.samples_still")

    (found,) = still([512.0 * min(at, 20) for at in range(60)])
    assert (found["step"], found["steps"], found["samples"]) == (21, 39, 20 * 512)
    assert not still([512.0 * at for at in range(60)])


def test_stairs_at_the_boundaries_of_epochs():
    def stairs(values):
        epochs = points("epoch", [at // 50 for at in range(len(values))])
        return named(build(reading(points("loss", values), epochs)), "train.epoch_stairs")

    (found,) = stairs([value * (1 - 0.1 * (at // 50)) for at, value in enumerate(losses(200))])
    assert (found["stairs"], found["epochs"]) == (3, 3)
    assert not stairs(losses(200))


def ranks(seeds):
    series = (
        points("loss", losses(30, seed=seed), rank=rank, file=f"rank{rank}.log")
        for rank, seed in enumerate(seeds)
    )
    return [one["ranks"] for one in named(build(reading(*series)), "train.ranks_same_loss")]


@pytest.mark.parametrize(
    ("seeds", "found"),
    [
        ([1, 2, 3, 2, 4, 5], [[1, 3]]),
        ([1, 2, 3, 4, 5, 6], []),
        ([1, 1, 1, 1, 1, 1], []),
        ([1, 1, 2, 2, 3, 3], []),
        ([1, 1, 2], []),
    ],
)
def test_ranks_that_see_the_same_samples(seeds, found):
    assert ranks(seeds) == found
