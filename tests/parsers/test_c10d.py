import pytest
from communication import check_table, cut_anywhere, holds, names, one

from diagnose.model.event import Nature
from diagnose.parsers import c10d as module

NEW = "[rank3]:[E321 02:07:08.432379535 ProcessGroupNCCL.cpp:607] "
PG = "[PG ID 0 PG GUID 0(default_pg) Rank 3] "


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 1.8: no number of the collective
        ("[E ProcessGroupNCCL.cpp:566] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, TensorShape=[25, 4], Timeout(ms)=1800000) ran for 1800308 milliseconds before timing out.",
         {"op": "ALLREDUCE", "shape": "25, 4", "timeout": 1800.0, "lasted": 1800.308, "rank": 5, "pg_rank": 5}),
        # 1.13 and 2.0
        ("[E ProcessGroupNCCL.cpp:828] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15, OpType=BROADCAST, TensorShape=[1], Timeout(ms)=1800000) ran for 1800308 milliseconds before timing out.",
         {"seq": 15, "op": "BROADCAST", "shape": "1"}),
        # some builds
        ("[E ProcessGroupNCCL.cpp:474] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800308 milliseconds before timing out.",
         {"seq": 15, "timeout": 1800.0}),
        # 2.1 and later
        (NEW + "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=_ALLGATHER_BASE, NumelIn=1048576, NumelOut=8388608, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.",
         {"seq": 1580, "op": "_ALLGATHER_BASE", "numel_in": 1048576, "numel_out": 8388608, "lasted": 600.06, "rank": 3}),
        # what() and the watchdog's own exception repeat it
        ("  what():  [PG ID 0 PG GUID 0(default_pg) Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.",
         {"seq": 7, "rank": 3, "communicator": "0"}),
        # cut behind the operation
        (NEW + "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, Num", {"seq": 1580, "op": "ALLREDUCE", "lasted": "absent"}),
        ("RuntimeError: Work WorkNCCL(SeqNum=12, OpType=BROADCAST, NumelIn=4, NumelOut=4, Timeout(ms)=60000) timed out in call to wait().", {"seq": 12, "waited_in": "call to wait()"}),
    ],
)  # fmt: skip
def test_watchdog_of_each_generation(text, expected):
    event = one(module, text)
    assert (event.name, event.nature) == ("c10d.watchdog_timeout", Nature.EFFECT)
    assert holds(event, expected) == {}


def test_a_timeout_is_dated_back_by_its_length():
    text = (
        NEW
        + "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600000 milliseconds before timing out."
    )
    event = one(module, text)
    assert event.time is not None
    assert event.onset == event.time - 600


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NEW + "[PG 1 Rank 3] Timeout at NCCL work: 12, last enqueued NCCL work: 14, last completed NCCL work: 11.", {"seq": 12, "last_enqueued": 14, "last_completed": 11, "pending": 3, "communicator": "1"}),
        (NEW + "[PG 0 (default_pg) Rank 3] Exception (either an error or timeout) detected by watchdog at work: 12, last enqueued NCCL work: 12, last completed NCCL work: 11.", {"seq": 12, "pending": 1, "group": "default_pg"}),
        (NEW + PG + " failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1582, last completed work: 1579", {"seq": 1580, "pending": 3, "communicator": "0", "pg_rank": 3}),
        (NEW + PG + "Last enqueued NCCL work: 1200, last started NCCL work: 1200, last completed NCCL work: 1200.", {"pending": 0, "last_started": 1200}),
        (NEW + PG + "NCCL Work update periodically: last enqueued NCCL work: 5, last completed NCCL work: -1.", {"pending": 6, "last_completed": -1}),
    ],
)  # fmt: skip
def test_progress_counters(text, expected):
    event = one(module, text)
    assert event.name == "c10d.progress"
    assert holds(event, {"rank": 3, **expected}) == {}


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (NEW + PG + "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog", "c10d.heartbeat_timeout", {"lasted": 480.0, "nature": Nature.ERROR}),
        (NEW + "Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=2", "c10d.heartbeat_timeout", {}),
        (NEW + "Could not acquire GIL within 300 ms on exit, possible GIL induced hang", "c10d.gil_stuck", {"waited": 0.3}),
        (NEW + "[Rank 3] To avoid data inconsistency, we are taking the entire process down.", "c10d.teardown", {"nature": Nature.TEARDOWN}),
        (NEW + PG + PG + "Terminating the process after attempting to dump debug info, due to collective timeout or exception.", "c10d.teardown", {"rank": 3}),
        ("RuntimeError: NCCL communicator was aborted on rank 3.  Original reason for failure was: timeout", "c10d.comm_aborted", {"pg_rank": 3, "reason": "timeout"}),
        (NEW + PG + " remote error detected from rank: 5", "c10d.remote_error", {"by_rank": 5, "rank": 3}),
    ],
)  # fmt: skip
def test_other_lines(text, name, expected):
    event = one(module, text)
    assert event.name == name
    assert holds(event, expected) == {}


def test_where_the_stuck_collective_was_called():
    text = (
        PG
        + "Stack trace of the failed collective: \n#0 all_reduce from /opt/venv/torch/distributed/distributed_c10d.py:2501\n#1 step from /srv/train.py:88\n"
    )
    event = one(module, text)
    assert event.name == "c10d.collective_site"
    assert len(event.fields["frames"]) == 2
    assert (
        names(module, text.replace("collective: ", "collective not found, potentially because"))
        == []
    )


@pytest.mark.parametrize(
    "text",
    [
        "the NCCL watchdog caught nothing",
        "Watchdog caught collective operation timeout",
        "This may indicate a possible application crash on rank 0 or a network set up issue.",
        "last enqueued work: none",
        "",
    ],
)
def test_near_misses(text):
    assert names(module, text) == []


def test_cut_records():
    cut_anywhere(
        module,
        NEW
        + PG
        + " failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1582, last completed work: 1579",
    )


def test_a_timeout_broken_in_front_of_its_work_is_read_whole():
    text = (
        "[rank3]: [Rank 3] Watchdog caught collective operation timeout:\n"
        "WorkNCCL(SeqNum=15, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000)\n"
    )
    event = one(module, text, "c10d.watchdog_timeout")
    assert (event.rank, event.fields["seq"], event.fields["timeout"]) == (3, 15, 600.0)
