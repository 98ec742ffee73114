"""What only followed a timeout or a cancel: exits by signal, and memory asked for behind it."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Clock, Nature

from .build import event, reading

DAY = 1_789_344_000.0
TIMED_OUT = 600.0


def at(seconds):
    return {"time": DAY + seconds, "clock": Clock.LOCAL}


def timeout(rank=0, line=5):
    return event(
        "c10d.watchdog_timeout", file=f"rank{rank}.log", line=line, rank=rank, **at(TIMED_OUT),
        fields={"op": "ALLREDUCE", "lasted": 600.0},
    )  # fmt: skip


def ended(rank=0, *, seconds=TIMED_OUT + 2, line=1, name="torchrun.child_failed", **fields):
    return event(
        name, Nature.EFFECT, file="agent.log", line=line, rank=rank, fields=fields, **at(seconds)
    )


def natures(*events):
    build(reading(*events))
    return [one.nature for one in events]


@pytest.mark.parametrize(
    ("fields", "explained"),
    [
        ({"signal": "SIGABRT", "exit_code": -6}, True),
        ({"signal": None, "exit_code": 1}, True),
        ({"signal": "SIGKILL", "exit_code": -9}, False),
        ({"signal": "SIGSEGV", "exit_code": -11}, False),
    ],
)
def test_an_exit_behind_the_timeout_of_its_own_rank(fields, explained):
    end = ended(**fields)
    natures(timeout(), end)
    assert (end.nature is Nature.TEARDOWN) == explained


@pytest.mark.parametrize(("rank", "seconds"), [(1, TIMED_OUT + 2), (0, 10.0)])
def test_an_abort_of_another_rank_or_before_the_timeout_is_open(rank, seconds):
    end = ended(rank, seconds=seconds, signal="SIGABRT", exit_code=-6)
    natures(timeout(), end)
    assert end.nature is Nature.EFFECT


@pytest.mark.parametrize(("other", "told"), [(True, Nature.TEARDOWN), (False, Nature.EFFECT)])
def test_a_launcher_passes_on_the_ends_of_its_ranks(other, told):
    step = ended(None, name="launcher.exit", line=9, launcher="srun", exit_code=1, signal=None)
    own = ended(signal="SIGABRT", exit_code=-6)
    seconds = TIMED_OUT + 2 if other else 5.0
    second = ended(1, seconds=seconds, line=2, signal="SIGABRT", exit_code=-6)
    natures(timeout(), timeout(1), own, second, step)
    assert step.nature is told


@pytest.mark.parametrize(
    ("reason", "nature"), [("user", Nature.TEARDOWN), ("task-failure", Nature.EFFECT)]
)
def test_a_cancel_ends_the_tasks_with_sigterm(reason, nature):
    cancel = event(
        "slurm.cancelled", Nature.EFFECT, file="slurm.out",
        fields={"reason": reason, "job": "7", "at": "2026-09-14T00:10:00"},
    )  # fmt: skip
    task = event(
        "launcher.exit", Nature.EFFECT, file="slurm.out", line=3, host="node-07",
        fields={"launcher": "srun", "signal": "SIGTERM", "exit_code": None},
    )  # fmt: skip
    assert natures(cancel, task)[1] is nature


def out_of_memory(line, rank=0):
    return event("torch.oom", file=f"rank{rank}.log", line=line, rank=rank, fields={"tried": 2})


@pytest.mark.parametrize(
    ("line", "rank", "nature"),
    [(9, 0, Nature.UNRELATED), (2, 0, Nature.ERROR), (9, 1, Nature.ERROR)],
    ids=["behind its timeout", "before it", "of a rank without one"],
)
def test_memory_that_runs_out_behind_the_timeout_of_the_same_rank(line, rank, nature):
    assert natures(timeout(), out_of_memory(line, rank))[1] is nature
