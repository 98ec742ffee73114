"""What makes an error history."""

import math

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading

NOON = 1_772_366_400.0


def peers_after(count, first=34, line=10):
    """Steps that a peer prints below an error of rank 11 in one file."""
    return points(
        "loss", [3.0] * count, first=first, rank=3, lines=range(line, line + count)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "ends_in_error", "cleared"),
    [(1, False, False), (1, True, False), (2, False, True), (2, True, False), (9, True, True)],
)
@pytest.mark.parametrize(
    "guilty", [{"rank": 11}, {"name": "kernel.oom_kill"}, {"name": "kernel.xid", "host": "node-07"}]
)
def test_peers_clear_a_rank_only_well_past_its_error(guilty, steps, ends_in_error, cleared):
    failed = event(**{"name": "python.error_line", "line": 3, **guilty})
    torn = [event("c10d.nccl_error", line=90, rank=3)] if ends_in_error else []
    case = build(reading(failed, peers_after(steps), *torn))
    assert (case.progress_after(failed) is True) == cleared


def test_ranks_that_print_the_same_step_are_one_step():
    failed = event("python.error_line", line=3, rank=11)
    peers = [
        points("loss", [3.0], first=34, rank=rank, lines=[10 + rank]) for rank in (1, 2, 3, 4, 5, 6)
    ]
    assert build(reading(failed, *peers)).progress_after(failed) is not True


@pytest.mark.parametrize(
    ("order", "cleared"),
    [("step by step", True), ("rank behind rank", True), ("one step", False)],
)
def test_ranks_that_do_not_say_who_they_are_are_counted_by_their_steps(order, cleared):
    failed = event("python.error_line", line=3, rank=11)
    steps = range(34, 35 if order == "one step" else 44)
    printed = [step for step in steps for _ in range(8)]
    if order == "rank behind rank":
        printed = [step for _ in range(8) for step in steps]
    lines = range(10, 10 + len(printed))
    everybody = points("loss", [3.0] * len(printed), steps=printed, lines=lines)
    assert (build(reading(failed, everybody)).progress_after(failed) is True) == cleared


@pytest.mark.parametrize(("apart", "cleared"), [(50, True), (1, False)])
def test_steps_that_are_not_printed_count_too(apart, cleared):
    failed = event("python.error_line", line=3, rank=11)
    torn = event("c10d.nccl_error", line=90, rank=3)
    peers = points("loss", [3.0] * 2, steps=[1150, 1150 + apart], rank=3, lines=[10, 11])
    assert (build(reading(failed, peers, torn)).progress_after(failed) is True) == cleared


@pytest.mark.parametrize(
    ("file", "cleared"), [("a.log", True), ("b.log", False)], ids=["by its line", "not by stamps"]
)
def test_stamps_of_a_step_that_are_hours_apart_tell_nothing(file, cleared):
    failed = event("python.error_line", file=file, line=3, rank=11, host="node-02", time=NOON)
    times = [NOON + zone + step for step in range(6) for zone in (5 * 3600, 0, -7 * 3600)]
    everybody = points(
        "loss", [3.0] * 18, steps=[step for step in range(34, 40) for _ in range(3)],
        times=times, lines=range(10, 28), file="a.log",
    )  # fmt: skip
    dated = event("train.start", Nature.SETTING, file="a.log", time=NOON - 90)
    case = build(reading(failed, everybody, dated))
    assert (case.progress_after(failed) is True) == cleared


def test_one_step_of_its_own_clears_a_rank():
    failed = event("python.error_line", line=3, rank=3)
    assert build(reading(failed, peers_after(1))).progress_after(failed) is True


def test_one_step_of_a_later_attempt_clears_a_rank():
    failed = event("python.error_line", line=3, rank=11)
    restart = event("torchrun.restart", Nature.EFFECT, line=5)
    assert build(reading(failed, restart, peers_after(1))).progress_after(failed) is True


@pytest.mark.parametrize("metric", ["loss", "epoch"])
def test_records_without_a_step_are_progress(metric):
    failed = event("python.error_line", line=5)
    unnumbered = [math.nan] * 3
    before = points(metric, [1.2] * 3, steps=unnumbered, lines=[1, 2, 3])
    after = points(metric, [1.3] * 3, steps=unnumbered, lines=[2, 3, 9])
    assert build(reading(failed, before)).progress_after(failed) is False
    assert build(reading(failed, after)).progress_after(failed) is True


def test_a_utilisation_is_no_progress():
    failed = event("python.error_line", line=5)
    use = points("gpu_util", [90.0], steps=[math.nan], lines=[9])
    assert build(reading(failed, use)).progress_after(failed) is None


@pytest.mark.parametrize(
    ("reason", "cleared"),
    [("done", True), ("iteration", True), ("signal", None), ("ended", None)],
)
@pytest.mark.parametrize("rank", [None, 3])
def test_an_end_in_success_clears(reason, cleared, rank):
    failed = event("python.error_line", line=3, rank=rank)
    end = event("train.exit", Nature.PROGRESS, line=9, fields={"reason": reason})
    assert build(reading(failed, end)).progress_after(failed) is cleared


def test_an_error_behind_the_end_stays():
    failed = event("python.error_line", line=12)
    end = event("train.exit", Nature.PROGRESS, line=9, fields={"reason": "done"})
    assert build(reading(failed, end)).progress_after(failed) is None


def done(rank, **more):
    return event("train.exit", Nature.PROGRESS, file=f"rank{rank}.log", line=60, rank=rank,
                 fields={"reason": "done"}, **more)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "steps_of_the_peer", "cleared"),
    [
        ("c10d.store_closed", 10, True),
        ("nccl.socket_closed", 10, True),
        ("c10d.store_closed", 9, False),
        ("c10d.watchdog_timeout", 10, False),
    ],
)
def test_a_connection_that_closes_behind_the_end_of_training_is_no_failure(
    name, steps_of_the_peer, cleared
):
    lost = event(name, Nature.EFFECT, file="rank1.log", line=80, rank=1)
    steps = [points("loss", [3.0] * 10, file="rank0.log", rank=0),
             points("loss", [3.0] * steps_of_the_peer, file="rank1.log", rank=1)]  # fmt: skip
    case = build(reading(done(0), lost, *steps))
    assert (case.progress_after(lost) is True) == cleared


@pytest.mark.parametrize(("at", "cleared"), [(NOON, True), (NOON + 500, False)])
def test_a_record_without_a_stamp_is_no_later_than_the_next_of_its_writer(at, cleared):
    failed = event("python.error_line", Nature.EFFECT, file="agent.log", line=3, host="node-07")
    behind = event("torchrun.restart", Nature.EFFECT, file="agent.log", line=9, host="node-07",
                   time=at)  # fmt: skip
    steps = points(
        "loss", [3.0] * 10, times=[NOON + 10 * step for step in range(1, 11)], file="b.log"
    )
    dated = event("nccl.version", Nature.SETTING, file="b.log", time=NOON)
    case = build(reading(failed, behind, dated, steps))
    assert (case.progress_after(failed, "job") is True) == cleared


@pytest.mark.parametrize(("ahead", "cleared"), [(8 * 3600 - 20, False), (8 * 3600 - 900, True)])
def test_steps_in_another_zone_do_not_follow_the_end_of_their_process(ahead, cleared):
    killed = event("torchrun.child_failed", Nature.EFFECT, file="agent.log", rank=9, time=NOON)
    dated = event("nccl.version", Nature.SETTING, file="rank9.log", rank=9, time=NOON + ahead - 99)
    steps = points("loss", [3.0] * 10, times=[NOON + ahead + step - 9 for step in range(10)],
                   file="rank9.log", rank=9)  # fmt: skip
    case = build(reading(killed, dated, steps))
    assert (case.progress_after(killed) is True) == cleared
