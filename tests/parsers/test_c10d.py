import pytest
from communication import check_table, cut_anywhere, holds, names, one, read

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


def test_dump_signal_names_the_first_observer_and_carries_the_counters():
    text = "[rank2]:[E321 02:07:10.001234567 ProcessGroupNCCL.cpp:1670] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective timeout from  rank 3 and we will try our best to dump the debug info. Last enqueued NCCL work: 1579, last completed NCCL work: 1579."
    observed, progress = sorted(read(module, text), key=lambda event: event.name)
    assert (observed.name, observed.rank, observed.fields["by_rank"]) == (
        "c10d.dump_signal_observed",
        2,
        3,
    )
    assert (progress.name, progress.fields["pending"]) == ("c10d.progress", 0)


@pytest.mark.parametrize(
    ("text", "rank", "pg_rank", "communicator"),
    [
        ("[PG ID 0 PG GUID 0(default_pg) Rank 137] Broadcasting flight recorder dump signal to other processes via TCPStore.", 137, 137, "0"),
        ("[PG ID 2 PG GUID 9(TENSOR_MODEL_PARALLEL_GROUP) Rank 1] First PG on this rank to signal dumping.", None, 1, "9"),
        ("[rank9]:[E321 02:07:08.1 ProcessGroupNCCL.cpp:1682] [PG ID 2 PG GUID 9 Rank 1] First PG on this rank to signal dumping.", 9, 1, "9"),
        ("[Rank 4] Received a dump signal from this local rank and will start to dump the debug info.", 4, 4, None),
    ],
)  # fmt: skip
def test_a_rank_in_a_group_is_global_only_in_the_default_group(text, rank, pg_rank, communicator):
    event = one(module, text)
    assert (event.rank, event.fields["pg_rank"], event.communicator) == (
        rank,
        pg_rank,
        communicator,
    )
    assert event.fields["by_rank"] == pg_rank


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (NEW + PG + "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog", "c10d.heartbeat_timeout", {"lasted": 480.0, "nature": Nature.ERROR}),
        (NEW + "Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=2", "c10d.heartbeat_timeout", {}),
        (NEW + "Could not acquire GIL within 300 ms on exit, possible GIL induced hang", "c10d.gil_stuck", {"waited": 0.3}),
        (NEW + "[Rank 3] To avoid data inconsistency, we are taking the entire process down.", "c10d.teardown", {"nature": Nature.TEARDOWN}),
        (NEW + PG + PG + "Terminating the process after attempting to dump debug info, due to collective timeout or exception.", "c10d.teardown", {"rank": 3}),
        ("[Rank 2]: Rank 5 failed to pass monitoredBarrier in 30000 ms", "c10d.monitored_barrier", {"missing": [5], "lasted": 30.0, "rank": 2}),
        ("RuntimeError: NCCL communicator was aborted on rank 3.  Original reason for failure was: timeout", "c10d.comm_aborted", {"pg_rank": 3, "reason": "timeout"}),
        (NEW + PG + " remote error detected from rank: 5", "c10d.remote_error", {"by_rank": 5, "rank": 3}),
    ],
)  # fmt: skip
def test_other_lines(text, name, expected):
    event = one(module, text)
    assert event.name == name
    assert holds(event, expected) == {}


ERROR = """[rank3]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
[rank3]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
[rank3]: Last error:
[rank3]: Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)
[rank3]: and then something else"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ERROR, {"kind": "ncclSystemError", "nccl_version": "2.21.5", "last_error": "Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)", "rank": 3, "end_line": 4}),
        (ERROR.replace("\n", "\r\n"), {"kind": "ncclSystemError", "end_line": 4}),
        ("RuntimeError: NCCL error in: /opt/torch/lib/c10d/ProcessGroupNCCL.cpp:784, unhandled cuda error, NCCL version 2.7.8", {"kind": "ncclUnhandledCudaError", "message": "unhandled cuda error", "last_error": None}),
        (NEW + PG + "Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error: NET/IB: Got completion\n", {"kind": "ncclRemoteError", "last_error": "NET/IB: Got completion"}),
    ],
)  # fmt: skip
def test_nccl_errors_are_one_event_with_the_last_warning(text, expected):
    event = one(module, text, "c10d.nccl_error")
    assert event.nature is Nature.EFFECT
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    ("text", "kind", "last"),
    [
        (
            "ncclSystemError: System call (socket, malloc, munmap, etc) failed.",
            "ncclSystemError",
            None,
        ),
        (
            "ncclRemoteError: A call failed\nLast error:\nNET/IB : boom\nnext",
            "ncclRemoteError",
            "NET/IB : boom",
        ),
        ("Last error:\nCuda failure 'out of memory'", None, "Cuda failure 'out of memory'"),
    ],
)
def test_errors_pasted_without_their_first_line(text, kind, last):
    event = one(module, text, "c10d.nccl_error")
    assert (event.fields["kind"], event.fields["last_error"]) == (kind, last)


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
    cut_anywhere(module, ERROR)
    cut_anywhere(
        module,
        NEW
        + PG
        + " failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1582, last completed work: 1579",
    )
