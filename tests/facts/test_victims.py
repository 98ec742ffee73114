"""Whose exceptions are consequences of another rank's failure."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading
from .test_exits import ended, exit_of

T = 1.7e9


def error(rank, said="ValueError", name="python.exception", **more):
    return event(name, Nature.ERROR, file=f"rank{rank}.log", line=more.pop("line", 50), rank=rank,
                 fields={"type": said, "message": f"of {rank}"}, **more)  # fmt: skip


def writer(rank):
    """A line by which the pid of a rank is known."""
    return event(
        "nccl.version", Nature.SETTING, file=f"rank{rank}.log", rank=rank, pid=26000 + rank
    )


def victims(*events):
    case = build(reading(*events))
    return sorted({one.rank for one in case.events if one.name.startswith(("python.", "dataloader."))
                   and one.nature is Nature.TEARDOWN})  # fmt: skip


@pytest.mark.parametrize("kind", ["python.exception", "dataloader.worker_died"])
@pytest.mark.parametrize(
    ("at", "found"),
    [(None, [2]), (T + 1.5, [2]), (T - 60, [])],
    ids=["without a stamp", "behind the signal", "before the signal"],
)
def test_a_worker_that_its_agent_ended(kind, at, found):
    stamp = {} if at is None else {"time": at}
    assert victims(
        writer(2), ended(26002, time=T), exit_of(7, 1, time=T), error(7),
        error(2, "RuntimeError", kind, **stamp),
    ) == found  # fmt: skip


def test_without_a_rank_that_failed_by_itself_a_signal_proves_nothing():
    assert victims(writer(2), ended(26002, time=T), exit_of(7, -6, "SIGABRT"), error(2)) == []


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (error(0, time=T), error(3, "OSError", time=T + 20), [3]),
        (error(0, time=T), error(3, "OSError", time=T + 1), []),
        (error(0, time=T), error(3, "OSError", time=T + 3600), []),
        (error(0, time=T), error(3, "ValueError", time=T + 20), []),
        (exit_of(0, -9, "SIGKILL", time=T), error(3, "OSError", time=T + 20), [3]),
    ],
    ids=["later", "at the same time", "much later", "the same text", "after a kill"],
)
def test_an_exception_clearly_behind_the_failure_of_another_rank(first, second, found):
    assert victims(first, second) == found


def test_an_exception_that_progress_followed_brought_nobody_down():
    steps = points(
        "loss", [2.0] * 10, times=[T + second for second in range(1, 11)], file="rank0.log"
    )
    assert victims(error(0, time=T), steps, error(3, "OSError", time=T + 20)) == []
