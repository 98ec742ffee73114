"""Which rank is somewhere else than its peers, by the stacks dumped while a job hung."""

import pytest

from diagnose.facts.stacks import derive, name_pids
from diagnose.model.event import Event, Nature

REDUCE = "all_reduce"


def dump(rank, doing="collective", call="barrier", way=("main", "step"), **more):
    fields = {
        "tool": "py-spy", "command": None, "thread": "MainThread", "state": "idle",
        "doing": doing, "call": call, "site": f"{call} (a.py:7)", "code": "step (train.py:88)",
        "way": list(way), "frames": [f"{call} (a.py:7)"], "role": "rank", "threads": 1,
        "holder": None, "fault": None,
    }  # fmt: skip
    fields |= more.pop("fields", {})
    more.setdefault("file", f"pyspy_rank{rank}.txt")
    return Event(
        name="stack.dump", nature=Nature.MEASUREMENT, line=more.pop("line", 4), end_line=9,
        text="", fields=fields, rank=rank, **more,
    )  # fmt: skip


def loader(rank, **more):
    return dump(rank, "loader", "_try_get_data", **more)


def device(rank, **more):
    return dump(rank, "device", "cudaStreamSynchronize", **more)


def python(rank, call="step", **more):
    return dump(rank, "python", call, **more)


def found(*events):
    return [
        (event.rank, event["differs"]) for event in derive(events) if event.name != "stack.all_wait"
    ]


def test_three_in_a_collective_and_one_elsewhere():
    (event,) = derive([dump(0), dump(1), loader(2), dump(3)])
    assert (event.name, event.rank, event.file) == ("stack.minority", 2, "pyspy_rank2.txt")
    wanted = {
        "doing": "loader", "site": "_try_get_data (a.py:7)", "differs": "elsewhere",
        "usual": "collective", "usual_call": "barrier", "waiting": 3, "dumped": 4,
        "snapshots": 1, "moved": False, "workers": [],
    }  # fmt: skip
    assert {name: event[name] for name in wanted} == wanted


def nccl(rank, pid, host="node-07"):
    return Event(name="nccl.version", nature=Nature.SETTING, file=f"{pid}.txt", line=1, end_line=1,
                 text="", rank=rank, pid=pid, host=host)  # fmt: skip


@pytest.mark.parametrize(
    ("owners", "named"),
    [
        ([(0, 70), (1, 71), (2, 72), (3, 73)], [0, 1, 2, 3]),
        ([(0, 70), (1, 71), (2, 72)], [0, 1, 2, None]),
        ([(0, 70), (1, 71)], [None] * 4),
        ([(rank + 4 * host, 70 + rank) for rank in range(4) for host in range(2)], [None] * 4),
    ],
    ids=["all", "three of four", "two of four", "two hosts with the same pids"],
)
def test_dumps_that_name_a_process_are_of_the_rank_that_has_its_pid(owners, named):
    dumps = [dump(None, file=f"{place}.txt", pid=70 + place) for place in range(4)]
    name_pids([*dumps, *(nccl(rank, pid) for rank, pid in owners)])
    assert [one.rank for one in dumps] == named


@pytest.mark.parametrize("guilty", [0, 3])
@pytest.mark.parametrize("wait", [dump, device, lambda rank: dump(rank, "p2p", "recv")])
def test_the_minority_stands_out_whatever_its_rank_and_however_the_others_wait(guilty, wait):
    peers = [wait(rank) for rank in range(4) if rank != guilty]
    assert found(*peers, loader(guilty)) == [(guilty, "elsewhere")]


def test_ranks_that_wait_in_different_ways_wait():
    assert found(dump(0), device(1), device(2), loader(3)) == [(3, "elsewhere")]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [dump(0), dump(1), dump(2), dump(3)],
        [dump(0), dump(1), loader(2), loader(3)],
        [loader(0), loader(1), loader(2), loader(3)],
        [device(0), device(1), device(2), device(3)],
        [dump(0), dump(1), dump(2, "p2p", "recv"), dump(3, "p2p", "send")],
        [dump(0, "compute", "forward"), dump(1, "compute", "forward"), loader(2)],
        [dump(0), *(loader(rank) for rank in range(1, 4))],
        [dump(0), dump(1), loader(2, attempt=1)],
    ],
    ids=["nothing", "all alike", "a tie", "all in the loader", "all wait for their GPUs",
         "point to point", "the others compute", "one waits for all", "another attempt"],
)  # fmt: skip
def test_nobody_stands_out(events):
    assert [event for event in derive(events) if event.name == "stack.minority"] == []


def test_under_three_fifths_there_is_no_majority():
    waiting = [dump(rank) for rank in range(5)]
    others = [loader(rank) for rank in range(5, 9)]
    assert found(*waiting, *others) == []
    assert len(found(*waiting, dump(9), *others)) == 4


def test_a_different_collective_is_a_divergence():
    assert found(dump(0), dump(1), dump(2), dump(3, call=REDUCE)) == [(3, "call")]


def test_the_same_collective_at_another_place_of_the_program():
    events = [dump(0), dump(1), dump(2), dump(3, way=("main", "evaluate"))]
    assert found(*events) == [(3, "place")]


def test_the_line_within_a_function_makes_no_difference():
    other = dump(3, fields={"site": "barrier (a.py:9)"})
    assert found(dump(0), dump(1), dump(2), other) == []


def test_a_wait_for_the_device_where_the_others_are_in_a_collective():
    assert found(dump(0), dump(1), device(2), dump(3)) == [(2, "device")]


def test_a_rank_outside_all_collectives_comes_before_a_divergence():
    events = [dump(0), dump(1), dump(2), dump(3, call=REDUCE), loader(4)]
    assert found(*events) == [(4, "elsewhere")]


def test_without_native_frames_a_wait_is_one_line_of_the_program():
    assert found(python(0), python(1), loader(2), python(3)) == [(2, "elsewhere")]
    assert found(python(0), python(1, "f"), loader(2), python(3, "g")) == []
    assert found(python(0), python(1), python(2), python(3, "score")) == [(3, "elsewhere")]


def test_helpers_crashes_and_native_stacks_of_any_wait_do_not_count():
    for event in (
        dump(3, "lock", "wait", fields={"role": "helper"}),
        dump(3, "python", "f", fields={"fault": "Segmentation fault"}),
        dump(3, "lock", "futex_wait", fields={"tool": "kernel"}),
        dump(3, "unknown", "ep_poll", fields={"tool": "gdb"}),
    ):
        assert found(dump(0), dump(1), dump(2), event) == []
    stuck = dump(3, "storage", "nfs_wait", fields={"tool": "kernel"})
    assert found(dump(0), dump(1), dump(2), stuck) == [(3, "elsewhere")]


def test_ranks_in_an_abort_count():
    aborted = loader(3, fields={"tool": "faulthandler", "fault": "Aborted"})
    assert found(dump(0), dump(1), dump(2), aborted) == [(3, "elsewhere")]


def test_the_last_of_several_dumps_counts():
    peers = [dump(0), dump(1), dump(2)]
    (event,) = derive([*peers, dump(3, line=4), loader(3, line=40)])
    assert (event.line, event["snapshots"], event["moved"]) == (40, 2, True)
    (event,) = derive([*peers, loader(3, line=4), loader(3, line=40)])
    assert (event["snapshots"], event["moved"]) == (2, False)
    assert found(*peers, loader(3, line=4), dump(3, line=40)) == []
    other_tool = dump(3, "lock", "acquire", line=4, fields={"tool": "pystack"})
    (event,) = derive([*peers, other_tool, loader(3, line=40)])
    assert (event["snapshots"], event["moved"]) == (1, False)


def test_a_child_of_a_rank_is_not_the_rank():
    child = python(3, pid=701, line=40)
    assert found(dump(0), dump(1), dump(2), dump(3, pid=700), child) == []


def test_processes_without_a_rank_are_told_apart_by_their_number():
    more = {"host": "node-07", "file": "pyspy.txt"}
    events = [dump(None, pid=700 + number, **more) for number in range(3)]
    (event,) = derive([*events, loader(None, pid=703, **more)])
    assert (event.rank, event.pid, event.host) == (None, 703, "node-07")


def test_what_the_workers_of_the_loader_do():
    worker = dump(
        3, "storage", "read", pid=701, line=20,
        fields={"role": "helper", "frames": ["read (libc.so.6)", "fetch (fetch.py:52)"], "code": "get (data.py:5)"},
    )  # fmt: skip
    idle = dump(3, "loader", "get", pid=702, line=30, fields={"role": "helper"})
    (event,) = derive([dump(0), dump(1), dump(2), loader(3, pid=700), worker, idle])
    assert event["workers"] == ["read (libc.so.6) from get (data.py:5)"]
    assert event["workers_doing"] == ["storage"]


def test_few_dumps_prove_nothing_by_themselves():
    (event,) = derive([loader(3), dump(0)])
    assert (event.name, event.rank, event["usual"]) == ("stack.alone", 3, None)
    assert list(derive([dump(3)])) == []


def test_all_in_the_same_collective_names_nobody():
    (event,) = derive([dump(0), dump(1), dump(2)])
    assert (event.name, event.rank, event.host, event.pid) == ("stack.all_wait", None, None, None)
    assert (event["call"], event["dumped"], event["ranks"]) == ("barrier", 3, [0, 1, 2])


def test_each_step_waits_for_the_gpu_so_it_takes_two_dumps_to_call_it_stuck():
    first = [device(rank) for rank in range(3)]
    assert list(derive(first)) == []
    again = [device(rank, line=40) for rank in range(3)]
    assert [event.name for event in derive([*first, *again])] == ["stack.all_wait"]


def test_an_idle_server_waits_for_nobody():
    assert list(derive([dump(rank, "queue", "acquire_read") for rank in range(4)])) == []
