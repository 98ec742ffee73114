"""Which rank the kernel's out-of-memory killer ended."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, init, reading


def job(ranks=(8, 9, 10, 11)):
    return [
        init(rank, 16, line=i + 1, host="node-07", pid=100 + rank, file=f"rank{rank}.log")
        for i, rank in enumerate(ranks)
    ]


def kill(line=1, *, task=None, pid=812345, process="pt_main_thread"):
    return event(
        "kernel.oom_kill", file="dmesg.log", line=line, host="node-07", pid=pid,
        local_rank=task, fields={"process": process},
    )  # fmt: skip


def exited(rank, signal="SIGKILL", name="launcher.exit"):
    return event(
        name, Nature.EFFECT, file="srun.log", line=rank, rank=rank, host="node-07",
        fields={"launcher": "srun", "signal": signal, "exit_code": None},
    )  # fmt: skip


def ranks(kills, *others):
    build(reading(*kills, *others))
    return [one.rank for one in kills]


def test_the_number_of_a_slurm_task_counts_the_ranks_of_its_node():
    assert ranks([kill(1, task=3), kill(2)], *job()) == [11, 11]


def test_tasks_of_torchrun_are_nodes():
    agent = event("torchrun.sigterm", Nature.TEARDOWN, file="agent.log", host="node-07")
    assert ranks([kill(task=3)], *job(), agent) == [None]


def test_ranks_that_are_dealt_out_over_the_nodes_are_not_counted():
    assert ranks([kill(task=3)], *job((1, 3, 5, 7))) == [None]


@pytest.mark.parametrize(
    ("kills", "exits", "found"),
    [
        ([kill()], [exited(9)], 9),
        ([kill()], [exited(9), exited(10)], None),
        ([kill()], [exited(9, signal="SIGABRT")], None),
        ([kill(), kill(2, pid=900)], [exited(9)], None),
        ([kill(process="node_exporter")], [exited(9)], None),
    ],
    ids=["the one", "one of two", "an abort", "two processes", "a daemon"],
)
def test_the_one_rank_of_the_host_that_its_launcher_saw_killed(kills, exits, found):
    assert ranks(kills, *job(), *exits)[0] == found
