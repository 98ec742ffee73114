"""One series of the seconds of a step from what ranks and attempts print."""

import math

import pytest

from diagnose.facts.attempts import Attempts
from diagnose.facts.pace.joining import pace_of

from ..build import points
from .series import noisy, stamps


def pace(*series, starts=None):
    return pace_of(series, Attempts(starts=starts or {}))


def test_ranks_that_print_the_same_steps_are_joined():
    ranks = [points("step_time", [6.0 + 0.1 * rank] * 40, first=100, rank=rank, file=f"{rank}.log")
             for rank in range(3)]  # fmt: skip
    assert pace(*ranks).seconds == pytest.approx([6.1] * 40)
    slower = points("step_time", [60.0] * 40, first=100, rank=3, file="3.log")
    assert pace(*ranks, slower).seconds == pytest.approx([6.1] * 40), "that is another run"


def test_the_first_steps_are_left_out_where_the_log_holds_the_start():
    seconds = [90.0, 30.0, *noisy(60)]
    assert pace(points("step_time", seconds, first=1)).steps[0] == 6
    assert pace(points("step_time", noisy(60), first=700)).steps[0] == 700
    assert pace(points("step_time", seconds, first=700)).steps[0] == 702


def test_few_lines_are_no_series():
    assert pace(points("step_time", [6.0] * 20, first=100)) is None
    assert pace(points("loss", [6.0] * 60, first=100)) is None


def test_throughput_becomes_time():
    found = pace(points("tokens_per_s", [1000.0] * 30 + [500.0] * 30, first=100))
    assert not found.timed
    assert found.seconds[-1] / found.seconds[0] == pytest.approx(2)
    times = stamps([2.0] * 30 + [4.0] * 30)
    timed = pace(points("tokens_per_s", [1000.0] * 31 + [500.0] * 29, first=100, times=times))
    assert timed.timed
    assert timed.seconds[0] == pytest.approx(3.0, rel=0.5)


def test_stamps_tell_the_time_where_nothing_else_does():
    series = points("loss", [2.0] * 40, first=100, times=stamps([5.0] * 40, {20: 60.0}))
    found = pace(series)
    assert found.metric == "time"
    assert (found.seconds[10], found.seconds[20]) == (5.0, 65.0)


def test_a_pause_between_stamps_is_no_part_of_a_step():
    seconds = [6.0] * 40
    found = pace(points("step_time", seconds, first=100, times=stamps(seconds, {20: 60.0})))
    assert found.seconds[20] == 6.0
    assert found.gaps[20] == pytest.approx(60.0)
    assert found.gaps[21] == pytest.approx(0.0)
    assert found.wall_time == pytest.approx(300.0)


def test_lines_that_were_delivered_in_lots_have_no_pauses():
    times = [10.0 * (at // 10) * 6 for at in range(40)]
    found = pace(points("step_time", [6.0] * 40, first=100, times=times))
    assert set(found.gaps) == {0.0}


def test_a_line_stands_for_the_steps_of_its_interval():
    seconds = [6.0] * 40
    steps = [1000 + 10 * at for at in range(40)]
    times = stamps([60.0] * 40, {20: 45.0})
    found = pace(points("step_time", seconds, steps=steps, times=times))
    assert found.spans[5] == 10
    assert found.gaps[20] == pytest.approx(45.0)


def test_a_batch_that_grows_makes_no_step_slower():
    batch = [256.0] * 30 + [512.0] * 30
    seconds = [3.1 if one == 256 else 6.2 for one in batch]
    found = pace(points("step_time", seconds, first=100), points("global_batch", batch, first=100))
    assert found.seconds == pytest.approx([6.2] * 60)
    tokens = [one * 10 / second for one, second in zip(batch, seconds, strict=True)]
    found = pace(points("step_time", seconds, first=100), points("tokens_per_s", tokens, first=100))
    assert found.seconds == pytest.approx([6.2] * 60)


def test_steps_done_again_count_once():
    steps = [*range(100, 150), *range(130, 180)]
    found = pace(points("step_time", noisy(100), steps=steps), starts={"a.log": [51]})
    assert found.steps == sorted(set(found.steps))
    assert found.attempts[0] == 0
    assert found.attempts[-1] == 1
    assert found.lines[found.steps.index(140)] > 50


def test_a_counter_within_the_epoch_counts_on():
    found = pace(points("step_time", noisy(90), steps=[*range(30)] * 3))
    assert found.steps[-1] == 89
    assert found.epochs == [30, 60]


def test_whole_seconds_are_joined():
    seconds = [21 / 10, 22 / 10] * 30
    steps = [1000 + 10 * at for at in range(60)]
    found = pace(points("step_time", seconds, steps=steps))
    assert len(found) == 30, "so many at least remain"
    found = pace(points("step_time", seconds * 4, steps=[1000 + 10 * at for at in range(240)]))
    assert found.spans[0] == 50
    assert found.seconds[1] == pytest.approx(2.15, abs=0.03)


def test_a_long_log_is_read_as_one_with_a_longer_interval():
    found = pace(points("step_time", [6.0] * 100_000, first=100))
    assert len(found) <= 20_000
    assert found.spans[5] == 5


def test_values_that_are_no_number_are_left_out():
    found = pace(points("step_time", [6.0, math.nan, 0.0, *[6.0] * 40], first=100))
    assert set(found.seconds) == {6.0}
