"""What a resumed run lost, by its losses and what stands beside them."""

import math
import random

import pytest

from diagnose.facts.case import build
from diagnose.facts.losses.discontinuities import discontinuity
from diagnose.model.event import Nature

from .build import event, fact, points, reading


def named(case, name):
    return [one.fields for one in case.events if one.name == name]


def noise(count, size=0.01, seed=1):
    rng = random.Random(seed)
    return [1 + size * rng.gauss(0, 1) for _ in range(count)]


def curve(step):
    return 2.4 + 8 / (1 + step / 20)


def test_a_steep_curve_has_no_discontinuity():
    scores = []
    for seed in range(40):
        losses = [(s, curve(s) * n) for s, n in enumerate(noise(200, 0.02, seed), 1)]
        scores.append(discontinuity(losses[:100], losses[100:]).score)
    assert max(map(abs, scores)) < 4.5


def test_a_small_rise_stands_out_of_the_noise():
    for seed in range(20):
        losses = [(s, curve(s + 200) * n) for s, n in enumerate(noise(200, 0.02, seed), 1)]
        risen = [(s, 1.06 * value) for s, value in losses[100:]]
        found = discontinuity(losses[:100], risen)
        assert found.score > 5
        assert found.change == pytest.approx(0.06, abs=0.025)


def test_a_rise_that_decays_bends_the_curve():
    factors = noise(200, 0.01)
    before = [(s, 2.4 * f) for s, f in enumerate(factors[:100])]
    decays = [
        (100 + s, 2.4 * f * (1 + 0.1 * math.exp(-s / 50))) for s, f in enumerate(factors[100:])
    ]
    stays = [(100 + s, 2.4 * f * 1.1) for s, f in enumerate(factors[100:])]
    assert discontinuity(before, decays).bend < -3.5
    assert discontinuity(before, stays).bend > -2


def test_too_few_points_say_nothing():
    few = [(s, 2.4) for s in range(4)]
    assert discontinuity(few, few) is None


LOAD = event("ckpt.load_end", Nature.PROGRESS, line=101)


def resumed(after, *others, at=101, load=LOAD, before=None, **more):
    """Return ``train.resume`` and ``train.replay`` of a run of 100 steps and what follows it."""
    old = before or [2.4 * one for one in noise(100)]
    steps = [*range(1, len(old) + 1), *range(at, at + len(after))]
    lines = [*range(1, 101), *range(102, 102 + len(after))]
    loss = points("loss", [*old, *after], steps=steps, lines=lines, **more)
    case = build(reading(*([load] if load else []), loss, *others))
    return named(case, "train.resume"), named(case, "train.replay")


def beside(metric, before, after, at=101):
    count = len(after)
    steps, lines = (
        [*range(1, 101), *range(at, at + count)],
        [*range(1, 101), *range(102, 102 + count)],
    )
    return points(metric, [*before, *after], steps=steps, lines=lines)


GOES_ON = [2.4 * one for one in noise(60, seed=2)]


def test_a_curve_that_goes_on():
    ((level,), replays) = resumed(GOES_ON)
    assert abs(level["score"]) < 4
    assert level["loaded"] is True
    assert not replays


def test_steps_that_are_the_same_the_second_time():
    old = [2.4 * one for one in noise(100)]
    (_, (replay,)) = resumed([*old[79:], *GOES_ON], at=80, before=old)
    assert (replay["steps"], replay["equal"], replay["in_noise"]) == (21, 21, 0)


def test_steps_that_are_done_again_over_other_data():
    ((level,), (replay,)) = resumed(GOES_ON, at=80)
    assert replay["in_noise"] > 0.5
    assert abs(replay["change_score"]) < 4
    assert abs(level["score"]) < 4


def test_results_that_differ_in_the_last_digits_are_the_same():
    old = [2.4 * one for one in noise(100)]
    again = [value * one for value, one in zip(old[79:], noise(21, 0.0005, 7), strict=True)]
    (_, (replay,)) = resumed([*again, *GOES_ON], at=80, before=old)
    assert replay["in_noise"] < 0.2


def test_without_a_line_about_it_a_counter_that_goes_back_is_a_resume():
    ((level,), (replay,)) = resumed(GOES_ON, at=80, load=None)
    assert level["loaded"] is False
    assert replay["step"] == 80


def test_a_second_file_that_goes_on_where_the_first_ends():
    one = points("loss", [2.4 * x for x in noise(100)])
    two = points("loss", GOES_ON, first=101, file="b.log")
    assert len(named(build(reading(one, two)), "train.resume")) == 1


def test_runs_that_begin_at_their_first_step_are_no_resume():
    one = points("loss", [2.4 * x for x in noise(100)], rank=0)
    two = points("loss", GOES_ON, file="b.log", rank=0)
    other_rank = points("loss", GOES_ON, first=101, file="c.log", rank=1)
    assert not named(build(reading(one, two, other_rank)), "train.resume")


def test_writers_that_take_turns_in_one_file_are_no_resumes():
    steps = [step + back for step in range(1, 100) for back in (0, -1)]
    loss = points("loss", [2.4 * x for x in noise(len(steps))], steps=steps)
    assert not named(build(reading(loss)), "train.replay")


def test_epochs_that_count_from_zero_are_no_resumes():
    steps = [*range(0, 100, 5)] * 3
    loss = points("loss", [2.4 * x for x in noise(len(steps))], steps=steps)
    assert not named(build(reading(loss)), "train.resume")


def test_the_gradient_norm_of_the_first_steps():
    norms = beside("grad_norm", [0.4] * 100, [1.2] * 60)
    ((level,), _) = resumed(GOES_ON, norms)
    assert level["norm_ratio"] == pytest.approx(3)


def rate(before, after, at=101):
    ((level,), _) = resumed(GOES_ON, beside("learning_rate", before, after, at), at=at)
    return level


def test_a_learning_rate_that_follows_its_schedule():
    falls = [3e-4 - 1e-6 * step for step in range(160)]
    assert rate(falls[:100], falls[100:])["rate_change"] == 0
    begins_to_fall = rate([3e-4] * 100, falls[:60])
    assert abs(begins_to_fall["rate_change"]) < 0.01


def test_a_warm_up_that_begins_again():
    level = rate([3e-4] * 100, [3e-6 * step for step in range(1, 61)])
    assert level["rate_change"] == pytest.approx(-0.99)
    assert level["rate_warms"] is True


def test_a_step_done_again_tells_the_exact_rate():
    falls = [3e-4 - 1e-6 * step for step in range(160)]
    level = rate(falls[:100], [0.98 * one for one in falls[79:139]], at=80)
    assert level["rate_exact"] is True
    assert level["rate_change"] == pytest.approx(-0.02)


def test_a_loss_scale_that_begins_again():
    scale = beside("loss_scale", [32768.0] * 100, [2.0 ** max(15, 32 - step) for step in range(60)])
    skips = beside("skipped_steps", [0.0] * 100, [float(step < 17) for step in range(60)])
    ((level,), _) = resumed(GOES_ON, scale, skips)
    assert (level["scale_before"], level["skips"]) == (32768.0, 17)
    assert level["scale_ratio"] == 2.0**17


def test_a_counter_of_samples_that_begins_again():
    old = [512.0 * step for step in range(1, 101)]
    ((lost,), _) = resumed(GOES_ON, beside("consumed_samples", old, old[:60]))
    ((kept,), _) = resumed(
        GOES_ON, beside("consumed_samples", old, [512.0 * s for s in range(101, 161)])
    )
    assert lost["samples_behind"] == pytest.approx(100)
    assert kept["samples_behind"] == pytest.approx(0)


def test_a_loss_that_is_that_of_guessing():
    words = fact(
        "arg.padded_vocab_size", 50304, fields={"name": "padded_vocab_size"}, event="job.argument"
    )
    ((level,), _) = resumed([10.8] * 40, words)
    assert level["of_chance"] == pytest.approx(10.8 / math.log(50304))


def test_a_level_that_is_lower_and_steps_up():
    lower = [2.2 * one for one in noise(40, seed=5)] + [2.4 * one for one in noise(60, seed=6)]
    ((level,), _) = resumed(lower)
    assert level["score"] < -5
    assert level["step_up"] == pytest.approx(0.083, abs=0.02)
    assert 130 <= level["step_up_at"] <= 150


@pytest.mark.parametrize(
    ("loss", "guess"), [(10.4, math.log(32_000)), (11.9, math.log(151_936)), (7.2, None)]
)
def test_a_loss_may_be_that_of_guessing_in_a_common_vocabulary(loss, guess):
    steps = [*range(4000, 4030), *range(4030, 4060)]
    before = points("loss", [2.4] * 30, steps=steps[:30], file="a.log")
    after = points("loss", [loss] * 30, steps=steps[30:], file="b.log")
    (level,) = named(build(reading(before, after)), "train.resume")
    assert level["guess"] == (None if guess is None else pytest.approx(guess))


def across_files(first, last):
    """Return what a run of the steps 1 to 450 and another one without stamps give."""
    runs = [("a.log", range(1, 451)), ("b.log", range(first, last + 1))]
    series = [
        points("loss", [2.4 * n for n in noise(len(s), 0.01, i)], steps=[*s], file=file)
        for i, (file, s) in enumerate(runs)
    ]
    return named(build(reading(*series)), "train.replay")


def test_a_file_that_does_the_last_steps_of_another_again_goes_on_from_it():
    (replay,) = across_files(401, 750)
    assert (replay["step"], replay["steps"], replay["first_file"]) == (401, 50, "a.log")


@pytest.mark.parametrize(("first", "last"), [(1, 450), (101, 750), (401, 430)])
def test_files_that_share_most_of_their_steps_do_not_follow_each_other(first, last):
    assert not across_files(first, last)


def test_a_level_that_comes_back_at_lines_without_a_step_number():
    lower = [2.2 * one for one in noise(40, seed=5)] + [2.4 * one for one in noise(60, seed=6)]
    losses = [*(2.4 * one for one in noise(100)), *lower]
    steps = [math.nan if at >= 110 and at % 10 == 0 else at + 1 for at in range(200)]
    lines = [*range(1, 101), *range(102, 202)]
    loss = points("loss", losses, steps=steps, lines=lines)
    (level,) = named(build(reading(LOAD, loss)), "train.resume")
    assert (level["back"], level["step_up_at"]) == (None, None)
