"""What makes an error history."""

import math

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def peers_after(count, first=34, line=10):
    """Steps that a peer prints below an error of rank 11 in one file."""
    return points(
        "loss", [3.0] * count, first=first, rank=3, lines=range(line, line + count)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "ends_in_error", "cleared"),
    [(1, False, False), (1, True, False), (2, False, True), (2, True, False), (9, True, True)],
)
@pytest.mark.parametrize("guilty", [{"rank": 11}, {"name": "kernel.oom_kill"}])
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
