"""Which reports of machines belong to the job: when it ran and where."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Clock, Nature

from .build import event, init, reading

DAY = 1_789_344_000.0
HOUR = 3600.0


def xid(line=1, *, at=0.0, host="node-07", gpu="0000:5d:00.0", file="dmesg.log", **more):
    more.setdefault("clock", Clock.LOCAL)
    fields = {"code": 79, "role": "root", "lasts": True}
    return event(
        "kernel.xid", file=file, line=line, time=DAY + at, host=host, gpu=gpu, fields=fields, **more
    )


def job(*, at=0.0, hosts=("node-07", "node-07"), gpus=("0000:1b:00.0", "0000:5d:00.0")):
    """Init lines of two ranks, and where they run."""
    return [
        init(i, 2, line=i + 1, host=host, pid=100 + i, gpu=gpu, time=DAY + at, file="job.log")
        for i, (host, gpu) in enumerate(zip(hosts, gpus, strict=True))
    ]


def loaded(line, at):
    return event(
        "kernel.nvidia_module_loaded", Nature.SETTING, file="dmesg.log", line=line,
        time=DAY + at, host="node-07", fields={"version": "550.54.15", "value": "550.54.15"},
    )  # fmt: skip


def related(*events):
    build(reading(*events))
    return next(one for one in events if one.name == "kernel.xid")


@pytest.mark.parametrize(
    ("start", "least", "most"),
    [(HOUR, HOUR - 10, HOUR), (0.0, 0, 0), (-HOUR, 0, 0)],
    ids=["an hour before the job", "as it begins", "while it runs"],
)
def test_how_long_before_the_job(start, least, most):
    found = related(xid(), *job(at=start))
    assert least <= found.fields["before_job"] <= most
    assert found.fields["role"] == "root"


def test_an_excerpt_without_the_start_of_the_job_says_nothing_of_it():
    late = event("c10d.watchdog_timeout", file="job.log", time=DAY + HOUR, rank=0)
    assert related(xid(), late).fields["before_job"] == 0


def test_seconds_since_boot_are_not_compared_with_dates():
    found = related(xid(clock=Clock.UPTIME), *job(at=HOUR))
    assert found.fields["before_job"] == 0


@pytest.mark.parametrize(
    ("reloaded", "role"), [(HOUR / 2, "past"), (-HOUR, "root"), (2 * HOUR, "root")]
)
def test_a_driver_loaded_between_fault_and_job_has_reset_the_gpu(reloaded, role):
    assert related(xid(line=2), loaded(3, reloaded), *job(at=HOUR)).fields["role"] == role


def test_a_fault_while_the_job_ran_stays_though_the_node_was_rebooted_after():
    assert related(xid(line=2), loaded(3, HOUR), *job(at=-HOUR)).fields["role"] == "root"


def test_the_same_number_of_the_same_gpu_again_days_later_is_another_incident():
    early = [xid(1), xid(2, at=1.0), xid(3, gpu="0000:9a:00.0")]
    late = [xid(4, at=24 * HOUR), xid(5, at=24 * HOUR + 1), xid(6, at=48 * HOUR)]
    build(reading(*early, *late))
    assert [one.fields["again"] for one in (*early, *late)] == [0, 0, 0, 1, 1, 2]


def test_the_serial_number_behind_a_gpu_s_name_is_that_gpu_s():
    name = "kernel.gpu_identity"
    named = event(name, file="dmesg.log", host="node-07", gpu="0000:5d:00.0", fields={"uuid": "G"})
    board = event(name, file="dmesg.log", line=2, host="node-07", fields={"serial": "1650"})
    own, other = xid(3), xid(4, gpu="0000:9a:00.0")
    build(reading(named, board, own, other))
    assert (own.fields["serial"], other.fields["serial"]) == ("1650", None)


@pytest.mark.parametrize(
    ("host", "role"),
    [("node-07", "root"), ("node-99", "elsewhere"), ("storage-3", "root"), (None, "root")],
    ids=["of the job", "another node", "a name of another kind", "unknown"],
)
def test_a_host_that_the_job_does_not_use(host, role):
    assert related(xid(host=host), *job(at=-HOUR)).fields["role"] == role


def test_where_a_rank_is_not_placed_any_host_may_be_its_own():
    known, _ = job(at=-HOUR)
    assert related(xid(host="node-99"), known).fields["role"] == "root"


@pytest.mark.parametrize(
    ("gpu", "role"),
    [("0000:5d:00.0", "root"), ("0000:9a:00.0", "elsewhere"), ("3", "root"), (None, "root")],
)
def test_a_gpu_of_another_job_on_a_shared_host(gpu, role):
    found = related(xid(gpu=gpu), *job(at=-HOUR))
    assert found.fields["role"] == role
    assert (found.nature is Nature.UNRELATED) == (role == "elsewhere")


def test_a_job_on_a_whole_node_shares_it_with_none_so_its_addresses_are_others():
    whole = [
        init(i, 8, line=i + 1, host="node-07", pid=i + 1, gpu=f"0000:0{i}:00.0", file="job.log")
        for i in range(8)
    ]
    assert related(xid(gpu="0000:9a:00.0"), *whole).fields["role"] == "root"


def test_rows_of_one_cluster_differ_in_a_letter():
    ranks = job(at=-HOUR, hosts=("gpu-a07", "gpu-a08"))
    assert related(xid(host="gpu-b99"), *ranks).fields["role"] == "elsewhere"


def killed(line=1, *, host="node-07", pid=812, group=None, at=0.0):
    return event(
        "kernel.oom_kill", file="messages", line=line, time=DAY + at, clock=Clock.LOCAL, host=host,
        pid=pid, fields={"process": "python3", "task_memcg": group},
    )  # fmt: skip


@pytest.mark.parametrize(("host", "counts"), [("node-07", True), ("node-99", False)])
def test_a_process_killed_on_a_host_of_another_job_is_no_evidence(host, counts):
    kill = killed(host=host)
    build(reading(kill, *job(at=-HOUR)))
    assert (kill.nature is Nature.ERROR) == counts


def test_another_slurm_job_s_control_group_on_the_same_host():
    other = [killed(1, group="/slurm/job_88001/step_0/user/task_0"), killed(2)]
    own = killed(3, pid=900, group="/slurm/job_77121/step_0/user/task_0")
    end = event(
        "slurm.cancelled", Nature.EFFECT, file="job.log", line=9, time=DAY + 60,
        fields={"job": "77121"},
    )  # fmt: skip
    build(reading(*other, own, *job(at=-HOUR), end))
    natures = [one.nature for one in (*other, own)]
    assert natures == [Nature.UNRELATED, Nature.UNRELATED, Nature.ERROR]


def test_without_the_number_of_the_own_job_no_control_group_is_another_s():
    kill = killed(group="/slurm/job_88001/step_0/user/task_0")
    build(reading(kill, *job(at=-HOUR)))
    assert kill.nature is Nature.ERROR


def failed(at, *, nature=Nature.ERROR, line=9):
    return event(
        "python.exception", nature, file="job.log", line=line, time=DAY + at, rank=0,
        fields={"type": "KeyError", "message": "'text'"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("end", "role"),
    [(-HOUR / 2, "after_job"), (-60.0, "root"), (HOUR / 2, "root")],
    ids=["half an hour after the end", "a minute after it", "before it"],
)
def test_a_fault_after_the_last_line_of_a_job_that_had_failed(end, role):
    found = related(xid(), *job(at=-HOUR), failed(end))
    assert found.fields["role"] == role
    assert (found.nature is Nature.ERROR) == (role == "root")


def test_a_job_whose_log_only_stops_may_hang_and_is_not_over():
    assert related(xid(), *job(at=-HOUR)).fields["role"] == "root"
