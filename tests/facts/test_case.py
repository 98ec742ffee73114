import pytest

from diagnose.facts.case import build
from diagnose.model.event import Clock, Nature
from diagnose.model.reading import SourceSummary

from .build import event, fact, init, points, reading

NOON = 1_772_366_400.0  # 2026-03-01 12:00:00


def inits(skew, count=3):
    """The same communicators come up on two hosts, the second with a clock ahead by ``skew``."""
    return [
        init(
            host,
            2,
            line=1 + 2 * number + host,
            file=f"node-0{host + 1}.log",
            host=f"node-0{host + 1}",
            pid=100,
            communicator=f"0x{number}",
            time=NOON + 10 * number + host * skew + 0.01 * number,
        )
        for number in range(count)
        for host in (0, 1)
    ]


def pair(first, second, **more):
    """Two events of different hosts and files, seconds after noon."""
    return (
        event(line=90, time=NOON + first, host="node-01", file="node-01.log", **more),
        event(line=90, time=NOON + second, host="node-02", file="node-02.log", **more),
    )


def test_names_events_and_facts():
    variable = fact(
        "env", "1", event="nccl.env", host="node-01", rank=2, fields={"name": "NCCL_NET"}
    )
    case = build(reading(event(), event(line=2), fact("torch.version", "2.6.0"), variable))
    assert case.names() == {"c10d.watchdog_timeout", "torch.version", "nccl.env"}
    assert [one.line for one in case.named("c10d.watchdog_timeout")] == [1, 2]
    assert case.named("nothing") == []
    (found,) = case.facts_named("env.NCCL_NET")
    assert (found.value, found.host, found.rank, found.event) == ("1", "node-01", 2, variable)
    assert case.states("torch.version")
    assert not case.states("env.NCCL_IB_HCA")


def test_skew_between_hosts_is_repaired():
    a, b = pair(100, 110)  # on a common clock, node-02 printed 20 s before node-01
    case = build(reading(*inits(skew=30), a, b))
    assert case.ordered(a, b) is False
    assert case.seconds_between(a, b) == pytest.approx(-20, abs=0.1)


def test_within_the_clock_error_is_concurrent():
    a, b = pair(100, 130.5)
    case = build(reading(*inits(skew=30), a, b))
    assert case.order(a, b) == "concurrent"
    assert case.ordered(a, b) is None


def test_the_same_steps_of_two_hosts_also_tell_the_skew():
    loss = [
        points(
            "loss", [3.0] * 10, file=f"node-0{1 + host}.log", host=f"node-0{1 + host}",
            times=[NOON + step + 30 * host for step in range(10)],
        )
        for host in (0, 1)
    ]  # fmt: skip
    a, b = pair(100, 110)
    assert build(reading(*loss, a, b)).ordered(a, b) is False


@pytest.mark.parametrize(("second", "order"), [(101, "concurrent"), (103, "before"), (90, "after")])
def test_hosts_without_a_common_moment(second, order):
    a, b = pair(100, second)
    assert build(reading(a, b)).order(a, b) == order


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        ({"time": NOON}, {"time": NOON + 0.1}, "before"),
        ({"time": NOON + 5}, {"time": NOON}, "after"),
        ({"time": NOON}, {"time": NOON}, "before"),
        ({}, {}, "before"),
        ({"rank": 0}, {"rank": 1}, "unknown"),
        ({"rank": 0}, {"rank": 0}, "before"),
        ({"rank": 0, "time": NOON}, {"rank": 1, "time": NOON}, "concurrent"),
        ({"rank": 0, "fields": {"step": 9}}, {"rank": 1, "fields": {"step": 8}}, "after"),
        ({"file": "b.log"}, {}, "unknown"),
    ],
)
def test_order(a, b, order):
    one, other = event(line=1, **a), event(line=2, **b)
    assert build(reading(one, other)).order(one, other) == order


def test_onset_dates_a_timeout_back():
    timeout = event(line=1, time=NOON + 600, fields={"lasted": 600.0}, host="node-01")
    fault = event("kernel.xid", line=2, time=NOON + 60, host="node-01")
    case = build(reading(timeout, fault))
    assert case.ordered(fault, timeout) is True
    assert case.ordered(fault, timeout, onset=True) is False


def test_attempts_of_one_file_are_in_order_without_stamps():
    first, second = event(line=1, rank=0), event(line=30, rank=1)
    case = build(reading(first, event("torchrun.restart", Nature.EFFECT, line=10), second))
    assert (first.attempt, second.attempt) == (0, 1)
    assert case.ordered(first, second) is True


def test_attempts_reach_other_files_by_their_stamps():
    records = [
        event("torchrun.restart", Nature.EFFECT, file="agent.log", line=10, time=NOON),
        event(file="agent.log", line=20, time=NOON + 20),
    ]
    early = event(file="rank3.log", line=5, time=NOON - 5)
    late = event(file="rank3.log", line=50, time=NOON + 60)
    undated = event(file="dmesg", line=1)
    case = build(reading(*records, early, late, undated))
    assert [one.attempt for one in (early, late, undated)] == [0, 1, 0]
    assert case.job.report.attempts == 2


def test_start_and_last_progress():
    loss = points("loss", [3.0, 2.9], first=1579, times=[NOON, NOON + 6])
    sources = [
        SourceSummary(name="a.log", clock=Clock.LOCAL, first_time=NOON - 60, last_time=NOON + 90)
    ]
    report = build(reading(loss, sources=sources)).job.report
    assert report.start == "2026-03-01T11:59:00"
    assert report.last_progress == {"step": 1580, "time": "2026-03-01T12:00:06"}


def test_last_progress_is_that_of_the_rank_furthest_behind():
    ahead = points("step_time", [1.0] * 5, file="r0.log", rank=0)
    behind = points("step_time", [1.0] * 4, file="r1.log", rank=1)
    report = build(reading(ahead, behind)).job.report
    assert report.last_progress == {"step": 4, "time": None}


@pytest.mark.parametrize(
    ("line", "time", "expected"),
    [(5, None, True), (50, None, False), (50, NOON - 1, True), (5, NOON + 100, False)],
)
def test_progress_after_an_event_of_the_same_file(line, time, expected):
    stamps = None if time is None else [NOON + i for i in range(10)]
    loss = points("loss", [3.0] * 10, times=stamps)
    failed = event(line=line, **({"time": time} if time else {}))
    assert build(reading(loss, failed)).progress_after(failed, "job") is expected


def test_progress_of_the_rank_itself_counts_before_that_of_the_job():
    mine = points("step_time", [1.0] * 3, rank=3, file="r3.log", times=[NOON, NOON + 1, NOON + 2])
    others = points(
        "step_time", [1.0] * 90, rank=0, file="r0.log", times=[NOON + i for i in range(90)]
    )
    failed = event(rank=3, file="r3.log", line=40, time=NOON + 30)
    sources = [SourceSummary(name=f"r{rank}.log", rank=rank, clock=Clock.LOCAL) for rank in (0, 3)]
    case = build(reading(mine, others, failed, sources=sources))
    assert case.progress_after(failed) is False
    assert case.progress_after(failed, "job") is True


def test_progress_is_unknown_without_any_or_without_an_order():
    failed = event(file="b.log")
    assert build(reading(failed)).progress_after(failed) is None
    assert build(reading(failed, points("loss", [3.0]))).progress_after(failed) is None


def test_steps_of_a_later_attempt_are_progress_and_those_of_an_earlier_are_not():
    loss = points("loss", [3.0] * 4, steps=[1, 2, 3, 4], lines=[1, 2, 30, 31])
    restart = event("torchrun.restart", Nature.EFFECT, line=10)
    first, second = event(line=8), event(line=40)
    case = build(reading(loss, restart, first, second))
    assert case.progress_after(first) is True
    assert case.progress_after(second) is False


@pytest.mark.parametrize(
    "name", ["nccl.comm_init", "ckpt.save_end", "kernel.link_up", "train.exit"]
)
def test_coming_up_saving_and_leaving_is_not_progress(name):
    failed = event()
    later = event(name, Nature.PROGRESS, line=9)
    assert build(reading(failed, later)).progress_after(failed) is None


def test_a_collective_is_progress():
    failed = event(rank=1)
    later = event("nccl.collective", Nature.PROGRESS, line=9, rank=1)
    assert build(reading(failed, later)).progress_after(failed) is True


def test_logs_that_end_before_an_event_do_not_reach_it():
    sources = [
        SourceSummary(name="rank0.log", rank=0, clock=Clock.LOCAL, last_time=NOON + 700),
        SourceSummary(name="rank1.log", rank=1, clock=Clock.LOCAL, last_time=NOON - 300),
        SourceSummary(name="rank2.log", rank=2),
    ]
    timeout = event(file="rank0.log", rank=0, time=NOON + 600, fields={"lasted": 600.0})
    case = build(reading(timeout, sources=sources))
    assert [case.reaches(timeout, rank=rank) for rank in (0, 1, 2)] == [True, False, None]
    assert case.job.log_end(rank=1) == NOON - 300
    assert case.job.log_end(rank=2) is None
    assert case.job.log_end(host="node-01") is None


def test_two_thousand_ranks():
    lines = [
        init(rank, 2000, line=1 + 4 * (rank % 8) + copy, file=f"node-{rank // 8}.log", pid=rank,
             host=f"node-{rank // 8}", gpu=f"0000:{rank % 8}b:00.0", time=NOON + copy)
        for rank in range(2000)
        for copy in range(5)
    ]  # fmt: skip
    case = build(reading(*lines))
    assert case.job.report.world_size == 2000
    assert case.job.report.ranks_missing == []
    assert case.job.host_of(1999) == "node-249"
