"""Who failed first, and who was still alive."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, fact, reading


def exit_of(rank, code=None, signal=None, **more):
    return event("torchrun.child_failed", Nature.EFFECT, line=more.pop("line", 100 + rank), rank=rank,
                 local_rank=more.pop("local_rank", rank), pid=more.pop("pid", 26000 + rank),
                 file="agent.log", fields={"exit_code": code, "signal": signal}, **more)  # fmt: skip


def abort(rank, **more):
    return exit_of(rank, -6, "SIGABRT", **more)


def ended(pid, line=50, **more):
    return event("torchrun.sigterm", Nature.TEARDOWN, line=line, pid=pid, file="agent.log",
                 fields={"signal": "SIGTERM", **more.pop("fields", {})}, **more)  # fmt: skip


def timeouts(*ranks):
    return [event(rank=rank, line=rank, file="ranks.log") for rank in ranks]


def first(*events):
    return [one.rank for one in build(reading(*events)).named("launcher.first_exit")]


def alive(*events):
    return [one.rank for one in build(reading(*events)).named("torchrun.worker_alive")]


@pytest.mark.parametrize(
    ("exits", "found"),
    [
        ([exit_of(2, 1), abort(0), abort(1)], [2]),
        ([exit_of(2, -11, "SIGSEGV"), exit_of(0, -15, "SIGTERM")], [2]),
        ([exit_of(2, -9, "SIGKILL"), exit_of(0, 143, "SIGTERM"), exit_of(1, 130, "SIGINT")], [2]),
        ([exit_of(2, 1, time=1e9), exit_of(1, 1, time=1e9 + 60)], [2]),
        ([exit_of(2, 1, time=1e9), exit_of(1, 1, time=1e9 + 1)], [1, 2]),
        ([exit_of(2, -11, "SIGSEGV", time=1e9 + 1), exit_of(0, 1, time=1e9)], [2]),
        ([exit_of(2, -9, "SIGKILL", time=1e9 + 60), exit_of(0, 1, time=1e9)], [0]),
        ([abort(0), abort(1)], []),
        ([exit_of(rank, 1) for rank in range(4)], []),
        ([exit_of(2, 127)], []),
    ],
    ids=[
        "code",
        "fault",
        "killed",
        "earlier",
        "tied",
        "fault tied",
        "killed later",
        "aborts",
        "all",
        "shell",
    ],
)
def test_who_ended_by_itself_was_first(exits, found):
    assert sorted(first(*exits)) == found


def test_a_rank_that_timed_out_only_waited():
    assert first(*timeouts(1), exit_of(1, 1), exit_of(2, 1)) == [2]


def test_a_kill_that_the_agent_forced_is_a_consequence():
    forced = event("torchrun.unkillable", Nature.EFFECT, line=60, pid=26002, file="agent.log")
    assert first(exit_of(2, -9, "SIGKILL"), abort(0), forced) == []


def test_the_worker_that_was_ended_while_the_others_timed_out():
    assert alive(*timeouts(0, 2), exit_of(0, 1), exit_of(2, 1), ended(26001)) == [1]


def test_two_that_were_ended_are_named_in_the_order_of_their_signals():
    exits = [abort(rank) for rank in (0, 1, 3, 4, 6, 7)]
    signals = [ended(26002), ended(26005, line=51)]
    case = build(reading(*timeouts(0, 1, 3, 4, 6, 7), *exits, *signals))
    assert [(one.rank, one.pid) for one in case.named("torchrun.worker_alive")] == [
        (2, 26002),
        (5, 26005),
    ]


@pytest.mark.parametrize(
    "events",
    [
        [*timeouts(0, 2), exit_of(0, 1), exit_of(2, -11, "SIGSEGV"), ended(26001)],
        [*timeouts(0, 2), exit_of(0, 1), exit_of(2, 1), ended(26001),
         event("python.error_line", line=9, rank=2, file="ranks.log")],
        [*timeouts(0, 1, 2), exit_of(0, 1), exit_of(2, 1), ended(26001)],
        [*timeouts(0), abort(0), ended(26001), ended(26002, line=51)],
        [abort(0), abort(2), ended(26001)],
    ],
    ids=["a fault", "an error of its own", "it timed out too", "most were ended", "nobody waited"],
)  # fmt: skip
def test_workers_that_were_ended_and_are_innocent(events):
    assert alive(*events) == []


def test_an_error_that_tells_of_waiting_is_no_error_of_its_own():
    told = event("python.error_line", line=0, rank=0, file="ranks.log")
    assert alive(told, *timeouts(0, 2), exit_of(0, 1), exit_of(2, 1), ended(26001)) == [1]


def test_a_worker_that_left_before_makes_numbers_uncertain():
    node = event("torchrun.placement", Nature.SETTING, file="agent.log",
                 fields={"local_ranks": [0, 1, 2, 3], "global_ranks": [0, 1, 2, 3]})  # fmt: skip
    assert alive(node, *timeouts(0, 1), exit_of(0, 1), exit_of(1, 1), ended(26003)) == []


def test_agents_of_one_file_are_scenes_of_their_own():
    lines = [
        event("torchrun.process_failed", Nature.EFFECT, line=40 + rank, pid=26000 + rank, rank=rank,
              local_rank=rank % 4, file="agent.log",
              fields={"agent": 10 + rank // 4, "signal": "SIGABRT", "exit_code": -6})
        for rank in (0, 1, 2, 3, 4, 5, 7)
    ]  # fmt: skip
    signal = ended(26006, fields={"agent": 11})
    assert alive(*timeouts(0, 1, 2, 3, 4, 5, 7), *lines, signal) == [6]


def early(*events):
    return [one.rank for one in build(reading(*events)).named("job.early_exit")]


def left(rank, time):
    return event(
        "c10d.not_destroyed", Nature.TEARDOWN, line=5, rank=rank, file="ranks.log", time=time
    )


@pytest.mark.parametrize(
    ("time", "found"), [(1e9, [3]), (1e9 + 595, []), (1e9 + 700, []), (None, [])]
)
def test_a_process_that_left_well_before_its_peers_gave_up(time, found):
    late = [
        event(rank=rank, line=10 + rank, file="ranks.log", time=1e9 + 600) for rank in (0, 1, 2)
    ]
    gone = left(3, time or 1e9)
    if time is None:
        gone.time = None
    assert early(gone, *late) == found


def test_a_process_that_timed_out_itself_did_not_leave():
    late = [event(rank=rank, line=10 + rank, file="ranks.log", time=1e9 + 600) for rank in (0, 3)]
    assert early(left(3, 1e9), *late) == []


def test_ends_without_a_timeout_are_plain_ends():
    assert early(left(3, 1e9), left(2, 1e9)) == []


def task(*numbers, line, code=1, signal=None):
    return event("launcher.exit", Nature.EFFECT, line=line, file="slurm.out", host="node-07",
                 fields={"launcher": "srun", "tasks": list(numbers), "exit_code": code, "signal": signal})  # fmt: skip


WORLD = fact("arg.world_size", 4, event="job.argument", fields={"name": "world_size"})


def test_of_srun_the_task_that_is_printed_first():
    assert first(WORLD, task(3, line=5), task(1, line=6), task(0, 2, line=7)) == [3]


def test_under_torchrun_a_task_is_a_node():
    agent = event("torchrun.restart", Nature.EFFECT, line=1, file="agent.log")
    assert first(WORLD, agent, task(3, line=5)) == []


def test_a_number_within_the_count_of_nodes_may_be_a_node():
    others = [event("nccl.warn", host=f"node-0{n}", line=n + 1, file="a.log") for n in range(4)]
    assert first(WORLD, *others, task(3, line=9)) == []


def test_without_a_world_size_a_task_is_no_rank():
    assert first(task(3, line=5)) == []


def test_a_worker_that_did_not_end_when_told_is_marked():
    stuck = event("torchrun.unkillable", Nature.EFFECT, line=60, pid=26001, file="agent.log")
    case = build(reading(*timeouts(0, 2), exit_of(0, 1), exit_of(2, 1), ended(26001), stuck))
    (alive_,) = case.named("torchrun.worker_alive")
    assert alive_["forced"] is True


def test_a_pid_that_a_rank_prints_itself_needs_no_counting():
    lines = [event("nccl.warn", rank=5, pid=26001, host="node-07", line=1, file="ranks.log")]
    exits = [abort(rank, local_rank=None) for rank in (4, 6, 7)]
    assert alive(*lines, *timeouts(4, 6, 7), *exits, ended(26001)) == [5]


def test_a_timeout_without_a_stamp_says_nothing_of_the_order():
    gone = event("c10d.not_destroyed", Nature.TEARDOWN, rank=3, line=1, file="r3.log", time=1e9)
    said = event(rank=0, line=2, file="r0.log", time=1e9 + 600)
    again = event(rank=0, line=3, file="r0.log")
    assert early(gone, said, again) == [3]
    assert early(gone, again) == []


@pytest.mark.parametrize(
    ("waiting", "left", "found"),
    [([5], range(4), [5]), ([5], [0, 1], []), ([4, 5, 6, 7], range(4), [])],
    ids=["one of five", "one of three", "half"],
)
def test_who_waits_alone_after_all_others_have_left(waiting, left, found):
    gone = [
        event("c10d.not_destroyed", Nature.TEARDOWN, rank=r, line=1, file=f"r{r}.log", time=1e9)
        for r in left
    ]
    late = [event(rank=r, line=1, file=f"r{r}.log", time=1e9 + 600) for r in waiting]
    case = build(reading(*gone, *late))
    assert [one.rank for one in case.named("job.left_alone")] == found
