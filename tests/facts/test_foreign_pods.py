"""Which pods that Kubernetes ended are none of the job's."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, init, reading


def evicted(pod, host=None):
    fields = {"resource": "memory", "pod": pod}
    return event("k8s.evicted", file="events.txt", host=host, fields=fields)


def ranks(*hosts):
    return [
        init(i, len(hosts), line=i + 1, host=host, pid=100 + i, file=f"rank{i}.log")
        for i, host in enumerate(hosts)
    ]


def timed_out(rank):
    return event("c10d.watchdog_timeout", file=f"rank{rank}.log", line=9, rank=rank)


def failed(rank):
    return event(
        "python.exception", file=f"rank{rank}.log", line=9, rank=rank,
        fields={"type": "KeyError", "message": "'text'"},
    )  # fmt: skip


def nature(found, *others):
    build(reading(found, *others))
    return found.nature


def test_where_every_host_told_of_its_own_end_no_pod_of_the_job_was_evicted():
    job = ranks("node-01", "node-02")
    assert nature(evicted("other-5d7f"), *job, failed(0), timed_out(1)) is Nature.UNRELATED


def test_a_host_that_told_nothing_may_be_the_pod_s():
    job = ranks("node-01", "node-02")
    assert nature(evicted("worker-1"), *job, timed_out(0)) is Nature.ERROR


def test_a_worker_that_was_killed_may_be_the_pod_s():
    job = ranks("node-01", "node-02")
    killed = event(
        "torchrun.child_failed", Nature.EFFECT, file="agent.log", rank=1,
        fields={"signal": "SIGKILL", "exit_code": -9},
    )  # fmt: skip
    assert nature(evicted("worker-1"), *job, timed_out(0), failed(1), killed) is Nature.ERROR


@pytest.mark.parametrize(
    ("pod", "found"),
    [
        ("train-worker-1", Nature.ERROR),
        ("train-launcher-x7", Nature.ERROR),
        ("other-5d7f", Nature.UNRELATED),
    ],
)
def test_a_name_like_that_of_the_pods_in_which_the_ranks_run(pod, found):
    job = ranks("train-worker-0", "train-worker-1")
    placed = [
        event(
            "k8s.placed", Nature.SETTING, file="pods.txt", line=i + 1, host=f"node-{i}",
            fields={"pod": f"train-worker-{i}"},
        )
        for i in range(2)
    ]  # fmt: skip
    assert nature(evicted(pod), *job, *placed) is found


def test_the_node_of_another_job():
    job = ranks("node-01", "node-02")
    assert nature(evicted("other-5d7f", "node-77"), *job, timed_out(0)) is Nature.UNRELATED
    assert nature(evicted("worker-1", "node-02"), *job, timed_out(0)) is Nature.ERROR
