import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.facts.case import build
from diagnose.facts.goodput import goodput
from diagnose.facts.goodput.account import PARTS
from diagnose.model.event import Clock, Nature, Points
from diagnose.model.reading import SourceSummary

from .build import event, points, reading

START = 1_770_000_000.0
STEP = 6.0


def source(name="a.log", first=None, last=None, **more):
    return SourceSummary(name=name, clock=Clock.LOCAL, first_time=first, last_time=last, **more)


def steps(first, count, begin, *, took=STEP, line=1, every=1, **more):
    """A step counter that prints a line every so many steps, ``begin`` is the first stamp."""
    return points(
        "loss", [2.5] * count,
        steps=[first + every * number for number in range(count)],
        times=[begin + took * every * number for number in range(count)],
        lines=[line + number for number in range(count)], **more,
    )  # fmt: skip


def account(*records, sources=()):
    named = {one.name for one in sources}
    files = dict.fromkeys(one.file for one in records if isinstance(one, Points))
    plain = [source(file) for file in files if file not in named]
    found = goodput(build(reading(*records, sources=[*sources, *plain])))
    if found is not None:
        assert sum(getattr(found, part) for part in PARTS) == pytest.approx(found.wall, abs=0.01)
        assert 0 <= found.goodput <= found.ettr <= 1
    return found


def test_steps_without_a_break_are_all_training():
    found = account(steps(1, 100, START))
    assert (found.wall, found.productive, found.goodput) == (99 * STEP, 99 * STEP, 1.0)
    assert (found.step_time, found.lost_steps) == (STEP, 0)


def test_what_stands_before_the_first_step_is_the_start():
    found = account(steps(1, 100, START + 300), sources=[source(first=START)])
    assert found.warm_up == 300 - STEP
    assert found.productive == 100 * STEP


def test_the_first_line_sums_up_as_many_steps_as_the_others():
    found = account(steps(10, 30, START + 300, every=10), sources=[source(first=START)])
    assert found.warm_up == 300 - 10 * STEP


@pytest.mark.parametrize(
    "records",
    [
        [],
        [steps(1, 19, START)],
        [points("loss", [2.5] * 100)],
        [
            points(
                "loss", [2.5] * 100, steps=[math.nan] * 100, times=[START + n for n in range(100)]
            )
        ],
        [steps(1, 100, START, took=0.0)],
    ],
)
def test_without_stamps_or_steps_there_is_none(records):
    assert account(*records, sources=[source(first=START, last=START + 600)]) is None


def at(name, line, time, nature=Nature.PROGRESS, **fields):
    return event(name, nature, line=line, time=time, fields=fields)


def broken(pause, line=50, **more):
    """A hundred steps with a pause behind the line."""
    before = [START + STEP * number for number in range(line)]
    after = [before[-1] + pause + STEP * (number + 1) for number in range(100 - line)]
    return points("loss", [2.5] * 100, times=[*before, *after], **more)


def test_a_pause_without_a_reason_is_a_stall():
    found = account(broken(120.0, line=60))
    assert (found.stall, found.productive) == (120, 99 * STEP)


def test_slow_first_steps_are_warm_up():
    assert account(broken(120.0, line=2)).warm_up == 120


def test_a_save_that_training_waited_for():
    lines = [*range(1, 61), *range(63, 103)]
    found = account(
        broken(120.0, line=60, lines=lines),
        at("ckpt.save_start", 61, START + 59 * STEP, step=60),
        at("ckpt.save_end", 62, START + 59 * STEP + 120, step=60),
    )
    assert (found.save, found.stall, found.productive) == (120, 0, 99 * STEP)


def test_a_save_that_each_rank_reports_counts_once():
    lines = [*range(1, 61), *range(80, 120)]
    ends = [
        event(
            "ckpt.save_end", Nature.PROGRESS, line=61, file=f"rank{rank}.log", rank=rank,
            time=START + 59 * STEP + 120, fields={"step": 60, "lasted": 110.0 + rank},
        )
        for rank in range(8)
    ]  # fmt: skip
    found = account(broken(120.0, line=60, lines=lines, file="rank0.log", rank=0), *ends)
    assert found.save == 117


def test_an_evaluation():
    lines = [*range(1, 61), *range(63, 103)]
    losses = points("validation_loss", [2.6], steps=[60], lines=[61])
    found = account(broken(120.0, line=60, lines=lines), losses)
    assert (found.evaluation, found.stall) == (120, 0)


def test_an_evaluation_of_which_only_the_begin_is_printed():
    lines = [*range(1, 61), *range(63, 103)]
    found = account(
        broken(120.0, line=60, lines=lines), at("train.eval_start", 61, START + 59 * STEP)
    )
    assert (found.evaluation, found.stall) == (120, 0)


def test_a_hang_lasts_until_the_log_ends():
    found = account(steps(1, 100, START), sources=[source(last=START + 99 * STEP + 600)])
    assert found.stall == 600


def test_what_follows_a_planned_end_is_no_hang():
    end = at("train.exit", 101, START + 99 * STEP + 2, reason="done")
    found = account(steps(1, 100, START), end, sources=[source(last=START + 99 * STEP + 60)])
    assert (found.stall, found.unknown) == (0, 60)


def test_a_restart_throws_away_the_steps_behind_the_checkpoint():
    found = account(
        points(
            "loss", [2.5] * 200, steps=[*range(1, 101), *range(81, 181)],
            times=[*(START + STEP * n for n in range(100)),
                   *(START + STEP * 99 + 900 + STEP * (n + 1) for n in range(100))],
            lines=[*range(1, 101), *range(110, 210)],
        ),
        at("c10d.watchdog_timeout", 101, START + STEP * 99 + 600, Nature.ERROR),
        at("torchrun.restart", 102, START + STEP * 99 + 601, Nature.EFFECT),
        at("ckpt.load_end", 105, START + STEP * 99 + 800, step=80),
    )  # fmt: skip
    assert (found.lost_steps, found.lost_work) == (20, 20 * STEP)
    assert (found.stall, found.restart) == (601, 299)
    assert found.productive == (79 + 100) * STEP
    assert found.ettr == pytest.approx((79 + 20 + 100) * STEP / found.wall, abs=1e-4)


def test_attempts_in_files_of_their_own():
    found = account(
        steps(1, 100, START, file="attempt_0/rank0.log", rank=0),
        steps(91, 50, START + 1000, file="attempt_1/rank0.log", rank=0, attempt=1),
        sources=[
            source("attempt_0/rank0.log", START, START + 99 * STEP, rank=0),
            source("attempt_1/rank0.log", START + 900, START + 1000 + 49 * STEP, rank=0, attempt=1),
        ],
    )
    assert (found.lost_steps, found.lost_work) == (10, 10 * STEP)
    assert found.restart == 1000 - 99 * STEP - STEP


def test_ranks_count_once():
    ranks = [
        steps(1, 100, START + 0.1 * rank, file=f"rank{rank}.log", rank=rank, host=f"node-{rank:02}")
        for rank in range(8)
    ]
    assert account(*ranks).wall == pytest.approx(99 * STEP, abs=1)


def test_ranks_that_write_into_one_file_count_once():
    several = points(
        "loss", [2.5] * 400, steps=[1 + number // 4 for number in range(400)],
        times=[START + STEP * (number // 4) for number in range(400)],
    )  # fmt: skip
    found = account(several)
    assert (found.productive, found.lost_work, found.wall) == (99 * STEP, 0, 99 * STEP)


def test_the_first_steps_behind_a_restart_warm_up_as_well():
    slow = [START + 1000 + (STEP if n == 0 else STEP * n + 60) for n in range(60)]
    found = account(
        steps(1, 100, START, file="a.log"),
        points("loss", [2.5] * 60, first=101, times=slow, file="b.log", attempt=1),
        sources=[source("a.log", START), source("b.log", START + 1000, attempt=1)],
    )
    assert (found.warm_up, found.stall) == (54, 0)


def test_attempts_that_cannot_be_compared_give_no_account():
    daytime = SourceSummary(name="b.log", clock=Clock.UPTIME, attempt=1)
    second = points("loss", [2.5] * 60, first=101, times=range(60), file="b.log", attempt=1)
    assert account(steps(1, 100, START, file="a.log"), second, sources=[daytime]) is None


def test_a_step_counter_that_goes_back_without_a_word():
    again = points(
        "loss", [2.5] * 150, steps=[*range(1, 101), *range(51, 101)],
        times=[*(START + STEP * n for n in range(100)), *(START + 1000 + STEP * n for n in range(50))],
    )  # fmt: skip
    found = account(again)
    assert (found.lost_steps, found.lost_work) == (50, 50 * STEP)


def test_an_attempt_whose_clock_is_behind_counts_from_the_end_of_the_one_before():
    found = account(
        steps(1, 100, START, file="a.log", host="node-01"),
        steps(101, 100, START + 60, file="b.log", host="node-02", attempt=1),
        sources=[source("a.log"), source("b.log", attempt=1)],
    )
    assert (found.wall, found.productive, found.goodput) == (2 * 99 * STEP, 2 * 99 * STEP, 1.0)


def test_logs_of_several_runs_give_no_account():
    yesterday = steps(1001, 100, START - 86_400, file="old.log")
    assert account(steps(1, 100, START, file="new.log"), yesterday) is None
    mixed = at("job.several", 1, START, Nature.MEASUREMENT)
    assert account(steps(1, 100, START), mixed) is None


@given(lag=st.floats(-3000, 3000), resumed=st.integers(0, 150), hang=st.floats(0, 3000))
def test_two_attempts_are_never_more_than_the_whole(lag, resumed, hang):
    account(
        steps(1, 100, START, file="a.log"),
        steps(resumed + 1, 60, START + 99 * STEP + lag, file="b.log", attempt=1),
        sources=[
            source("a.log", START, START + 99 * STEP + hang),
            source("b.log", attempt=1, last=START + 159 * STEP + lag + hang),
        ],
    )


def test_stamps_without_a_day_go_on_behind_midnight():
    midnight = 63_072_000.0
    times = [midnight + (86_100 + STEP * number) % 86_400 for number in range(100)]
    found = account(
        points("loss", [2.5] * 100, times=times),
        sources=[SourceSummary(name="a.log", clock=Clock.DAYTIME)],
    )
    assert (found.wall, found.goodput) == (99 * STEP, 1.0)


def test_lines_without_a_stamp_between_others():
    times = [START + STEP * number for number in range(100)]
    times[0] = times[30] = times[31] = math.nan
    found = account(points("loss", [2.5] * 100, times=times))
    assert (found.wall, found.goodput) == (98 * STEP, 1.0)


def test_an_attempt_without_stamps_gives_no_account():
    second = points("loss", [2.5] * 60, first=101, file="b.log", attempt=1)
    late = source("b.log", attempt=1)
    assert account(steps(1, 100, START, file="a.log"), second, sources=[late]) is None


def test_of_several_writers_one_with_stamps_speaks_for_the_job():
    silent = points("loss", [2.5] * 200, file="rank0.log", rank=0)
    found = account(silent, steps(1, 100, START, file="rank1.log", rank=1))
    assert found.wall == 99 * STEP


def test_records_of_tools_do_not_stretch_the_run():
    kernel = event("gpu.xid", file="dmesg.log", host="node-01", time=START - 86_400)
    assert account(steps(1, 100, START), kernel).wall == 99 * STEP


@given(
    waits=st.lists(st.floats(0.01, 500), min_size=25, max_size=60),
    rises=st.lists(st.integers(-30, 10), min_size=25, max_size=60),
    hang=st.floats(0, 5000),
)
def test_the_parts_are_the_whole_whatever_the_log_says(waits, rises, hang):
    count = min(len(waits), len(rises))
    numbers, times = [100], [START]
    for wait, rise in zip(waits[:count], rises[:count], strict=True):
        numbers.append(max(0, numbers[-1] + rise))
        times.append(times[-1] + wait)
    account(
        points("loss", [2.5] * len(numbers), steps=numbers, times=times),
        sources=[source(last=times[-1] + hang)],
    )
