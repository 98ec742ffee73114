import pytest

from diagnose.facts.collectives import derive
from diagnose.model.event import Event, Nature


def wait(rank, op="ALLREDUCE", numel=5000, seq=88, **attributes):
    fields = {"seq": seq, "op": op, "numel_in": numel, "pg_rank": rank}
    fields |= attributes.pop("fields", {})
    return Event(
        name="c10d.watchdog_timeout", nature=Nature.EFFECT, file=f"rank{rank}.log", line=1,
        end_line=1, text="", fields=fields, rank=rank, host=f"node-{rank}", **attributes,
    )  # fmt: skip


def odd(*events):
    return [(event.rank, event.fields["differs"]) for event in derive(events)]


@pytest.mark.parametrize("guilty", [0, 2, 3])
def test_the_minority_is_odd_whatever_its_rank(guilty):
    events = [wait(rank) for rank in range(4) if rank != guilty]
    assert odd(*events, wait(guilty, "ALLGATHER", 1024)) == [(guilty, "operation")]
    assert odd(*events, wait(guilty, numel=4999)) == [(guilty, "size")]


def test_what_an_event_says():
    (event,) = derive([wait(0), wait(1, numel=7), wait(2)])
    assert event.nature is Nature.MEASUREMENT
    wanted = {
        "op": "ALLREDUCE", "seq": 88, "numel": 7, "usual_op": "ALLREDUCE", "usual_numel": 5000,
        "usual_ranks": 2, "calls": ["ALLREDUCE of 5000", "ALLREDUCE of 7"],
    }  # fmt: skip
    assert {name: event.fields[name] for name in wanted} == wanted


def test_a_tie_names_no_rank():
    (event,) = derive([wait(0), wait(1, "BROADCAST")])
    assert (event.rank, event.host) == (None, None)
    assert event.fields["differs"] == "operation"


@pytest.mark.parametrize(
    "events",
    [
        [],
        [wait(0)],
        [wait(0), wait(1), wait(2)],
        [wait(0), wait(1), wait(2, "BROADCAST", seq=87)],
        [wait(0, "ALLGATHER"), wait(1, "ALLGATHER"), wait(2, "ALLGATHER", 4999)],
        [wait(0, "ALLTOALL"), wait(1, "ALLTOALL"), wait(2, "ALLTOALL", 4999)],
        [wait(0), wait(1), wait(2, "SEND", 7)],
        [wait(0), wait(1), wait(2, numel=None)],
        [wait(0, communicator="5"), wait(1, communicator="5"), wait(2, "BROADCAST", communicator="6")],
        [wait(0), wait(1), wait(8, "BROADCAST", fields={"pg_rank": 0})],
        [wait(0), wait(1), wait(2, "BROADCAST", attempt=1)],
    ],
    ids=["nothing", "one", "all alike", "another number", "uneven gather", "all to all",
         "point to point", "cut off", "another group", "an unnamed smaller group",
         "another attempt"],
)  # fmt: skip
def test_what_is_no_mismatch(events):
    assert odd(*events) == []


def test_the_first_wait_of_a_rank_counts():
    assert odd(wait(0), wait(1), wait(2), wait(2, "BROADCAST")) == []
