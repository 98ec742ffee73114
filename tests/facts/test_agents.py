"""Which ranks torchrun's agents speak of."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, reading


def placement(ranks, line=1, agent=None, host=None, group=1, master="node-00", **more):
    fields = {
        "global_ranks": ranks, "local_ranks": list(range(len(ranks))), "group_rank": group,
        "master_addr": master, "global_world_sizes": [8] * len(ranks), "agent": agent,
    }  # fmt: skip
    return event("torchrun.placement", Nature.SETTING, line=line, host=host, fields=fields, **more)


def failed(local_rank, line=9, agent=None, **more):
    return event("torchrun.process_failed", Nature.EFFECT, line=line, local_rank=local_rank,
                 fields={"agent": agent, "exit_code": 1}, **more)  # fmt: skip


def test_a_worker_gets_its_global_rank_without_a_host():
    end = failed(1)
    build(reading(placement([4, 5, 6, 7]), end))
    assert end.rank == 5


def test_two_agents_of_one_file_are_told_apart_by_pid():
    ends = [failed(1, agent=22), failed(1, agent=11, line=10)]
    build(reading(placement([0, 1], agent=11), placement([2, 3], line=2, agent=22), *ends))
    assert [end.rank for end in ends] == [3, 1]


def test_two_agents_of_one_file_without_pid_name_nobody():
    end = failed(1)
    build(reading(placement([0, 1]), placement([2, 3], line=2), end))
    assert end.rank is None


@pytest.mark.parametrize(
    ("group", "master", "host"),
    [
        (0, "node-00.cluster", "node-00"),
        (1, "node-00", None),
        (0, "10.0.0.1", None),
        (0, "localhost", None),
    ],
)
def test_the_first_group_runs_on_the_master(group, master, host):
    end = failed(1)
    build(reading(placement([0, 1], group=group, master=master), end))
    assert end.host == host


def test_the_ranks_of_an_agent_that_are_silent_are_missing():
    spoken = [event(rank=rank, file="r.log") for rank in range(7)]
    job = build(reading(placement([0, 1, 2, 3]), *spoken)).job
    assert (job.report.world_size, job.report.ranks_missing) == (8, [7])


def test_what_stands_in_a_table_is_of_its_worker():
    entry = event(
        "torchrun.child_failed", Nature.EFFECT, line=5, rank=3, local_rank=3, host="node-07"
    )
    entry.end_line = 9
    inside, outside = event("python.error_line", line=8), event("python.error_line", line=10)
    build(reading(entry, inside, outside))
    assert (inside.rank, inside.host) == (3, "node-07")
    assert outside.rank is None


def test_the_error_file_that_a_table_names_is_of_its_worker():
    entry = event("torchrun.child_failed", Nature.EFFECT, line=5, rank=11, local_rank=3, host="node-07",
                  fields={"error_file": "/tmp/torchelastic_ab/none_cd/attempt_0/3/error.json"})  # fmt: skip
    own, other = (
        event("python.error_line", file=f"logs/torchelastic_ab/none_{run}/attempt_0/3/error.json")
        for run in ("cd", "ef")
    )
    build(reading(entry, own, other))
    assert (own.rank, own.host, other.rank) == (11, "node-07", None)


def table(rank, pid, signal="SIGKILL", host="node-07", **more):
    return event("torchrun.child_failed", Nature.EFFECT, rank=rank, pid=pid, host=host,
                 file=more.pop("file", "b.log"), fields={"signal": signal}, line=30, **more)  # fmt: skip


def killed(host=None):
    return event("kernel.oom_kill", Nature.ERROR, file="a.txt", pid=40091, host=host)


@pytest.mark.parametrize(
    ("tables", "host", "found"),
    [
        ([table(13, 40091)], None, (13, "node-07")),
        ([table(13, 40091, signal=None)], None, (None, None)),
        ([table(13, 40091), table(21, 40091, host="node-08", file="c.log")], None, (None, None)),
        ([table(13, 40092)], None, (None, None)),
        ([table(13, 40091)], "node-09", (None, "node-09")),
    ],
    ids=["one", "not killed", "the pid of two hosts", "another pid", "another host"],
)
def test_a_kernel_that_killed_a_pid_of_a_table_killed_its_worker(tables, host, found):
    kernel = killed(host)
    build(reading(kernel, *tables))
    assert (kernel.rank, kernel.host) == found


def test_a_line_of_an_agent_is_of_the_worker_that_its_table_has_under_that_pid():
    line = event("torchrun.process_failed", Nature.EFFECT, file="b.log", line=9, pid=40091)
    build(reading(line, table(13, 40091)))
    assert (line.rank, line.host) == (13, "node-07")
