import pytest
from communication import check_table, cut_anywhere, holds, names, one

from diagnose.model.event import Nature
from diagnose.parsers import c10d_barrier as module

LATE = "[rank0]:[E321 02:07:08.432379535 ProcessGroupGloo.cpp:145] Rank 0 timed out in monitoredBarrier after 30000 ms.\n"


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("[Rank 2]: Rank 5 failed to pass monitoredBarrier in 30000 ms", [5]),
        ("[Rank 2]: Ranks 3, 5 failed to pass monitoredBarrier in 30000 ms", [3, 5]),
    ],
)
def test_rank_0_names_the_missing(text, missing):
    event = one(module, text)
    assert (event.name, event.nature, event.rank) == ("c10d.monitored_barrier", Nature.ERROR, 2)
    assert holds(event, {"missing": missing, "lasted": 30.0}) == {}


@pytest.mark.parametrize(
    ("behind", "arrived"),
    [
        ("No ranks successfully processed in monitoredBarrier.", []),
        ("Successfully processed ranks: 1, 2", [1, 2]),
        ("something else", None),
        ("", None),
    ],
)
def test_who_had_arrived_when_rank_0_ran_out_of_time(behind, arrived):
    event = one(module, LATE + behind)
    assert (event.name, event.nature) == ("c10d.monitored_barrier_failed", Nature.EFFECT)
    assert holds(event, {"arrived": arrived, "lasted": 30.0, "rank": 0}) == {}


def test_a_rank_that_lost_rank_0_names_nobody():
    text = "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
    event = one(module, text)
    assert (
        holds(event, {"name": "c10d.monitored_barrier_failed", "rank": 3, "missing": "absent"})
        == {}
    )


def test_the_barrier_before_a_checked_collective():
    text = "RuntimeError: ProcessGroupWrapper: Monitored Barrier encountered error running collective: CollectiveFingerPrint(SequenceNumber=6OpType=BARRIER). Error: "
    assert holds(one(module, text), {"seq": 6, "op": "BARRIER"}) == {}


@pytest.mark.parametrize(
    "text", ["monitoredBarrier timed out", "Successfully processed ranks: 1, 2", ""]
)
def test_near_misses(text):
    assert names(module, text) == []


def test_cut_records():
    cut_anywhere(module, LATE + "Successfully processed ranks: 1, 2")
