"""Stalls that come back: where, what with, and how much they cost."""

import random

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Clock, Nature

from ..build import event, named, points, reading
from .series import noisy, stamps

STALL, IRREGULAR = "train.periodic_stall", "train.irregular_stalls"


def argument(name, value):
    return event("job.argument", Nature.SETTING, fields={"name": name, "value": value},
                 fact=f"arg.{name}")  # fmt: skip


def stalled(places, seconds=20.0, count=300, first=100, **more):
    values = noisy(count, **more)
    for place in places:
        values[place] += seconds
    return points("step_time", values, first=first)


def paused(places, seconds=20.0, count=300, first=100):
    values = noisy(count)
    times = stamps(values, dict.fromkeys(places, seconds))
    return points("step_time", values, first=first, times=times)


def found(*records, name=STALL):
    return named(build(reading(*records)), name)


EVERY_50 = [1, 51, 101, 151, 201, 251]


@pytest.mark.parametrize("series", [stalled(EVERY_50), paused(EVERY_50)], ids=["steps", "pauses"])
def test_a_stall_at_every_save(series):
    (stall,) = found(series, argument("save_interval", 50))
    assert (stall["matches"], stall["period"], stall["hits"]) == ("save", 50, 6)
    assert stall["excess"] == pytest.approx(20, abs=0.5)
    assert stall["steps"] == pytest.approx(20 / 6.2, abs=0.1)
    assert stall["total"] == pytest.approx(120, abs=3)
    assert stall["share"] == pytest.approx(120 / (300 * 6.2 + 120), abs=0.005)
    assert (stall["precision"], stall["recall"], stall["shown"]) == (1, 1, False)


def test_saves_that_the_log_shows_count_before_the_argument():
    shown = [event("ckpt.save_start", Nature.PROGRESS, line=step, fields={"step": step})
             for step in (110, 147, 205, 266, 333)]  # fmt: skip
    (stall,) = found(stalled([11, 48, 106, 167, 234]), *shown, argument("save_interval", 50))
    assert (stall["matches"], stall["shown"], stall["hits"]) == ("save", True, 5)


def test_evaluations_are_told_from_saves():
    evaluated = points("validation_loss", [2.1] * 6, steps=[100, 150, 200, 250, 300, 350])
    (stall,) = found(paused(EVERY_50), evaluated, argument("save_interval", 50))
    assert stall["matches"] == "evaluation"


@pytest.mark.parametrize("stated", [True, False], ids=["with its step", "without a step"])
def test_evaluations_that_print_no_loss(stated):
    ran = [
        event("train.eval_end", Nature.PROGRESS, line=place + 1, fields={"step": 99 + place} if stated else {})
        for place in EVERY_50
    ]  # fmt: skip
    (stall,) = found(paused(EVERY_50), *ran)
    assert (stall["matches"], stall["shown"]) == ("evaluation", True)


def test_collections_that_the_log_shows():
    times = points(
        "gc_time", [0.3] * 6, steps=[float("nan")] * 6, lines=[at + 1 for at in EVERY_50]
    )
    (stall,) = found(stalled(EVERY_50), times)
    assert (stall["matches"], stall["shown"]) == ("garbage collection", True)


def test_saves_and_evaluations_of_their_own():
    evaluated = points("validation_loss", [2.1] * 3, steps=[175, 255, 335])
    stalls = found(paused([*EVERY_50, 76, 156, 236]), evaluated, argument("save_interval", 50))
    assert {one["matches"] for one in stalls} == {"save", "evaluation"}


def test_the_interval_of_the_log_hides_no_save():
    values, steps = noisy(60, noise=0.002), [1010 + 10 * at for at in range(60)]
    for place in (9, 19, 29, 39, 49):
        values[place] += 3.0  # thirty seconds in ten steps
    (stall,) = found(points("step_time", values, steps=steps), argument("save_interval", 100))
    assert (stall["matches"], stall["period"]) == ("save", 100)
    assert stall["excess"] == pytest.approx(30, abs=2)


def test_the_workers_of_the_loader_and_an_unknown_distance():
    (stall,) = found(stalled(range(5, 300, 16)), argument("num_workers", 8))
    assert (stall["matches"], stall["period"]) == ("workers", 16)
    (stall,) = found(stalled(range(5, 300, 17)), argument("num_workers", 8))
    assert (stall["matches"], stall["period"], stall["phase"]) == ("unknown", 17, 105)


def test_the_start_of_epochs():
    values = noisy(160)
    for place in (40, 80, 120):
        values[place] += 20
    (stall,) = found(points("step_time", values, steps=[*range(40)] * 4))
    assert stall["matches"] == "epoch"


def epochs_of_ten_seconds(waiting=10.0):
    values, waits = noisy(100, level=0.4), [0.003] * 100
    for place in range(0, 100, 20):
        values[place] += 10
        waits[place] += waiting
    steps = [10 * place for place in range(100)]
    epochs = points("epoch", [place // 20 for place in range(100)], steps=steps)
    return (
        points("step_time", values, steps=steps), points("data_time", waits, steps=steps), epochs
    )  # fmt: skip


def test_the_time_of_the_last_step_of_a_line_does_not_count_for_all_its_steps():
    (mean,) = found(*epochs_of_ten_seconds())
    assert mean["excess"] == pytest.approx(100, rel=0.01)
    single = event("train.single_step_times", Nature.MEASUREMENT)
    (stall,) = found(*epochs_of_ten_seconds(), single)
    assert stall["excess"] == pytest.approx(10, rel=0.01)
    assert stall["share"] == pytest.approx(40 / (40 + 98 * 10 * 0.4), abs=0.002)


def test_the_part_of_a_stall_that_went_into_waiting_for_data():
    (stall,) = found(*epochs_of_ten_seconds())
    assert stall["data_part"] == pytest.approx(1, abs=0.01)
    (stall,) = found(*epochs_of_ten_seconds(waiting=0.0))
    assert stall["data_part"] == pytest.approx(0, abs=0.01)
    (stall,) = found(epochs_of_ten_seconds()[0], epochs_of_ten_seconds()[2])
    assert stall["data_part"] is None


def test_a_timer_of_ten_minutes():
    values, moment, time = noisy(800, level=5.3), 300.0, 0.0
    for place, value in enumerate(values):
        time += value
        if time > moment:
            values[place] += 20
            time, moment = time + 20, moment + 600
    series = points("step_time", values, first=100, times=stamps(values))
    (stall,) = found(series)
    assert (stall["matches"], stall["period"]) == ("wall clock", None)
    assert stall["period_s"] == pytest.approx(600, abs=6)


def test_single_slow_steps_are_nothing():
    for seed in range(30):
        random_ = random.Random(seed)
        places = sorted(random_.sample(range(300), 6))
        assert not found(stalled(places, seed=seed), argument("save_interval", 50))


def test_random_stalls_beside_saves_hide_nothing():
    (stall,) = found(stalled([*EVERY_50, 33, 87, 190]), argument("save_interval", 50))
    assert (stall["matches"], stall["hits"]) == ("save", 6)
    assert stall["precision"] == pytest.approx(6 / 9, abs=0.01)


def test_stalls_that_become_more():
    random_ = random.Random(5)
    places = [at for at in range(300) if random_.random() < 0.4 * (at / 300) ** 2]
    (grown,) = found(stalled(places, seconds=2.0), name=IRREGULAR)
    assert grown["count"] == pytest.approx(len(places), abs=1)
    assert grown["late"] > 0.75
    assert grown["p"] < 0.001


def test_the_event_is_nobodys():
    case = build(reading(
        points("step_time", stalled(EVERY_50).values, first=100, rank=63, host="node-07"),
        argument("save_interval", 50),
    ))  # fmt: skip
    (stall,) = [one for one in case.events if one.name == STALL]
    assert (stall.rank, stall.host, stall.line) == (None, None, 2)
    assert stall.clock is Clock.NONE
