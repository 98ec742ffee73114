import pytest

from diagnose.facts.communicators import name_communicators
from diagnose.facts.nccl_calls import count_repeats, derive
from diagnose.model.event import Nature

from .build import event


def call(rank, number=100, op="AllReduce", count=1024, communicator="0xaa", **fields):
    fields = {
        "op": op,
        "op_count": number,
        "count": count,
        "datatype": 7,
        "reduction": 0,
        "root": 0,
    } | fields
    return event(
        "nccl.collective", Nature.MEASUREMENT, file=f"rank{rank}.log", rank=rank, host="node-07",
        communicator=communicator, fields=fields,
    )  # fmt: skip


def found(*events):
    return [(one.name, one.rank) for one in derive(events)]


def test_the_rank_with_fewest_calls_is_behind():
    (one,) = derive([call(0), call(1), call(2, 97), call(3)])
    assert (one.name, one.rank) == ("nccl.call_behind", 2)
    wanted = {"op_count": 97, "usual_count": 100, "behind": 3, "agree": 3}
    assert {name: one.fields[name] for name in wanted} == wanted


def test_only_the_last_call_of_a_rank_counts():
    assert found(call(0), call(1), call(2, 97), call(2), call(3)) == []


@pytest.mark.parametrize(
    "events",
    [
        [call(0), call(1, 97)],
        [call(0), call(1), call(2, 97), call(3, 97)],
        [call(0), call(1), call(2, 97, communicator="0xbb"), call(3)],
        [call(0, op="Send"), call(1, op="Recv"), call(2, 97, op="Send"), call(3, op="Recv")],
        [call(rank) for rank in range(4)],
        [call(0), call(1), call(2, 97), call(3), call(3, 101, op="Send")],
    ],
)
def test_who_is_not_behind(events):
    assert found(*events) == []


def test_the_minority_called_something_else():
    assert found(call(0), call(1), call(2, op="Broadcast"), call(3)) == [("nccl.odd_call", 2)]
    assert found(call(0), call(1), call(2), call(3, count=8)) == [("nccl.odd_call", 3)]


def test_a_tie_names_nobody():
    assert found(call(0), call(1), call(2, count=8), call(3, count=8)) == [("nccl.odd_call", None)]


def test_a_second_report_that_says_the_same_is_counted():
    reports = [
        event("nccl.ras_report", fields={"comm": "a1", "lowest": lowest, "highest": 9})
        for lowest in (7, 7, 8)
    ]
    count_repeats(reports)
    assert [one.fields["seen"] for one in reports] == [1, 2, 1]


def start(comm, line, communicator=None, **fields):
    return event(
        "nccl.comm_init", Nature.SETTING, line=line, host="node-07", pid=1,
        communicator=communicator, fields={"comm": comm, **fields},
    )  # fmt: skip


def test_pointers_become_communicators():
    events = [
        start("0x1", 1, "0xaa"),
        start("0x2", 2, parent="0x1", child=1, color=0, key=3),
        event("nccl.collective", line=3, host="node-07", pid=1, fields={"comm": "0x2"}),
        event("nccl.collective", line=4, host="node-07", pid=2, fields={"comm": "0x2"}),
        start("0x2", 5, "0xbb"),
        event("nccl.collective", line=6, host="node-07", pid=1, fields={"comm": "0x2"}),
    ]
    name_communicators(events)
    assert [one.communicator for one in events] == [
        "0xaa",
        "0xaa/1.0",
        "0xaa/1.0",
        None,
        "0xbb",
        "0xbb",
    ]


def unnamed(pid, number=100, op="AllReduce", comm="0x55d0", nranks=4):
    fields = {"op": op, "op_count": number, "count": 8, "datatype": 7, "reduction": 0, "root": 0,
              "comm": comm, "nranks": nranks}  # fmt: skip
    return event(
        "nccl.collective",
        Nature.MEASUREMENT,
        file="job.log",
        host="node-07",
        pid=pid,
        fields=fields,
    )


def test_without_the_start_another_operation_counts_and_names_nobody():
    (one,) = derive([unnamed(1), unnamed(2, op="AllGather", comm="0x77")])
    assert (one.name, one.rank, one.host) == ("nccl.odd_call", None, None)


def test_without_the_start_processes_of_several_communicators_are_not_compared():
    assert not list(derive([unnamed(1), unnamed(1, comm="0x66"), unnamed(2, op="AllGather")]))
    assert not list(derive([unnamed(1, nranks=2), unnamed(2, nranks=2), unnamed(3, op="AllGather", nranks=2)]))  # fmt: skip
    assert not list(derive([unnamed(1), unnamed(2, op="Send")]))


def unnamed_rank(rank, number=100, op="AllReduce", nranks=4):
    one = unnamed(10 + rank, number, op, nranks=nranks)
    one.rank = rank
    return one


def test_calls_of_most_of_the_job_are_of_one_communicator():
    calls = [unnamed_rank(rank) for rank in (0, 1, 3)]
    assert found(*calls, unnamed_rank(2, number=99)) == [("nccl.call_behind", 2)]
    assert found(*calls, unnamed_rank(2, op="AllGather")) == [("nccl.odd_call", 2)]


def test_where_a_second_communicator_of_the_size_has_room_nobody_is_named():
    calls = [unnamed_rank(rank) for rank in (0, 1, 7)]
    assert found(*calls, unnamed_rank(2, op="AllGather")) == [("nccl.odd_call", None)]


def test_ranks_that_are_not_in_the_input_may_turn_the_vote():
    calls = [call(0, op="AllGather", nranks=8), *(call(rank, nranks=8) for rank in (1, 2, 3))]
    (odd,) = [one for one in derive(calls) if one.name == "nccl.odd_call"]
    assert (odd.fields["decided"], odd.fields["absent"]) == (False, 4)
