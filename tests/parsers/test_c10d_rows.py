"""Every message of PyTorch's process groups that means trouble, as each version prints it.

Rows are numbered as the messages follow each other in a failing job; the prefixes are those of c10/util/Logging.cpp
(1.8 to 2.12), of glog builds, and of torch.distributed.elastic's Python logger.
"""

from types import SimpleNamespace

import pytest
from communication import holds, read

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.model.event import Clock, Nature
from diagnose.parsers import (
    c10d,
    c10d_barrier,
    c10d_desync,
    c10d_dump,
    c10d_error,
    c10d_store,
    cuda_error,
    launcher,
    torchrun,
)

ALL = SimpleNamespace(
    PARSERS=tuple(
        parser
        for module in (c10d, c10d_barrier, c10d_desync, c10d_dump, c10d_error, c10d_store,
                       cuda_error, torchrun, launcher)
        for parser in module.PARSERS
    )
)  # fmt: skip

BARE = "[E ProcessGroupNCCL.cpp:828] [Rank 3] "
RANKED = "[rank3]:[E ProcessGroupNCCL.cpp:523] [Rank 3] "
STAMPED = "[rank3]:[E321 02:07:08.932379535 ProcessGroupNCCL.cpp:607] "
PG_2_3 = "[rank3]:[E ProcessGroupNCCL.cpp:1316] [PG 0 Rank 3] "
PG_2_4 = STAMPED + "[PG 0 (default_pg) Rank 3] "
PG_2_5 = STAMPED + "[PG ID 0 PG GUID 0(default_pg) Rank 3] "
GLOG = "E0321 02:07:08.932379 12345 ProcessGroupNCCL.cpp:607] [Rank 3] "
GLOG_YEAR = "E20260321 02:07:08.932379 12345 ProcessGroupNCCL.cpp:607] [PG ID 0 PG GUID 0(default_pg) Rank 3] "
SRUN = "3: " + PG_2_5
MPI = "[1,3]<stderr>:" + BARE
TORCHRUN = "[default3]:" + RANKED
PREFIXES = {
    "1.8": BARE, "2.2": RANKED, "2.3": PG_2_3, "2.4": PG_2_4, "2.5": PG_2_5, "glog": GLOG,
    "glog with year": GLOG_YEAR, "srun -l": SRUN, "mpirun": MPI, "torchrun --tee": TORCHRUN,
}  # fmt: skip


def find(text, name):
    found = [event for event in read(ALL, text) if event.name == name]
    assert found, [event.name for event in read(ALL, text)]
    return found[0]


@pytest.mark.parametrize(
    ("prefix", "time", "clock"),
    [
        ("[rank3]:[E321 02:07:08.932379535 ProcessGroupNCCL.cpp:607] ", "03-21 02:07:08", Clock.YEARLESS),
        ("[rank3]:[E1121 02:07:08.022210857 ProcessGroupNCCL.cpp:607] ", "11-21 02:07:08", Clock.YEARLESS),
        ("[rank3]:[F101 02:07:08.9 ProcessGroupNCCL.cpp:607] ", "01-01 02:07:08", Clock.YEARLESS),
        ("[W228 02:07:08.932379535 socket.cpp:752] ", "02-28 02:07:08", Clock.YEARLESS),
    ],
)  # fmt: skip
def test_the_digits_behind_the_second_of_a_c10_stamp_are_no_fraction(prefix, time, clock):
    line = peel(prefix + "text", "a.log", 1, NOBODY)
    alone = peel(f"1972-{time} x", "a.log", 1, NOBODY)
    assert (line.text, line.clock) == ("text", clock)
    assert line.time == alone.time


@pytest.mark.parametrize(
    ("prefix", "fraction", "pid"),
    [
        ("E0321 02:07:08.932379 12345 ProcessGroupNCCL.cpp:607] ", 0.932379, None),
        ("W0816 01:45:41.684000 26021 site-packages/torch/distributed/elastic/multiprocessing/api.py:897] ", 0.684, 26021),
        ("W0816 01:45:41.684000 139912345678912 torch/distributed/elastic/multiprocessing/api.py:851] ", 0.684, None),
        ("[2024-01-30 11:22:33,123] torch.distributed.elastic.multiprocessing.api: [WARNING] ", 0.123, None),
    ],
)  # fmt: skip
def test_other_stamps_have_true_fractions_and_a_thread_is_no_process(prefix, fraction, pid):
    line = peel(prefix + "text", "a.log", 1, NOBODY)
    assert (line.time % 1, line.pid) == (pytest.approx(fraction, abs=1e-6), pid)


WAITED = "Watchdog caught collective operation timeout: "
WORK = "WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000)"
OLD_WORK = "WorkNCCL(OpType=ALLREDUCE, TensorShape=[8], Timeout(ms)=600000)"
DUMP = "and will start to dump the debug info. Last enqueued NCCL work: 1582, last completed NCCL work: 1579."
BEST = "and we will try our best to dump the debug info. Last enqueued NCCL work: 1582, last completed NCCL work: 1579.This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks"

ROWS = [
    # P1, P2
    (WAITED + WORK + " ran for 600060 milliseconds before timing out.", "c10d.watchdog_timeout", {"seq": 1580, "op": "ALLREDUCE", "numel_in": 8, "timeout": 600.0, "lasted": 600.06}),
    (WAITED + OLD_WORK + " ran for 600060 milliseconds before timing out.", "c10d.watchdog_timeout", {"seq": "absent", "shape": "8", "lasted": 600.06}),
    (WAITED + "WorkNCCL(SeqNum=15, OpType=BROADCAST, TensorShape=[1, 2], Timeout(ms)=600000) ran for 600060 milliseconds before timing out.", "c10d.watchdog_timeout", {"seq": 15, "shape": "1, 2"}),
    (WAITED + "WorkNCCL(SeqNum=15, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.", "c10d.watchdog_timeout", {"seq": 15, "timeout": 600.0}),
    ("Caught collective operation timeout: " + OLD_WORK + " ran for 600060 milliseconds before timing out.", "c10d.watchdog_timeout", {"lasted": 600.06}),
    ("Work " + WORK + " timed out in blocking wait (TORCH_NCCL_BLOCKING_WAIT=1).", "c10d.watchdog_timeout", {"waited_in": "blocking wait", "seq": 1580}),
    ("Work " + WORK + " timed out in blocking wait.", "c10d.watchdog_timeout", {"waited_in": "blocking wait"}),
    ("Work " + WORK + " timed out in call to wait().", "c10d.watchdog_timeout", {"waited_in": "call to wait()"}),
    # P3, P4
    ("Exception (either an error or timeout) detected by watchdog at work: 1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579.", "c10d.progress", {"seq": 1580, "pending": 3}),
    (" failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1582, last completed work: 1579", "c10d.progress", {"seq": 1580, "last_enqueued": 1582, "last_completed": 1579, "pending": 3}),
    ("Timeout at NCCL work: 1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579.", "c10d.progress", {"seq": 1580, "pending": 3}),
    # P5
    ("Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.", "c10d.teardown", {"nature": Nature.TEARDOWN}),
    ("To avoid data inconsistency, we are taking the entire process down.", "c10d.teardown", {"nature": Nature.TEARDOWN}),
    # P6
    ("NCCL watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered", "c10d.watchdog_terminated", {"error": "CUDA error: an illegal memory access was encountered"}),
    ("Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5", "c10d.nccl_error", {"kind": "ncclRemoteError", "nccl_version": "2.20.5"}),
    ("Process group watchdog thread terminated with exception: [Rank 3] " + WAITED + WORK + " ran for 600060 milliseconds before timing out.", "c10d.watchdog_timeout", {"seq": 1580}),
    # P7
    ("Collective " + WORK + " raised the following async exception: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5", "c10d.nccl_error", {"kind": "ncclSystemError"}),
    ("found async exception when checking for NCCL errors: NCCL error: internal error, NCCL version 2.18.1", "c10d.nccl_error", {"kind": "ncclInternalError"}),
    # P8
    ("NCCL communicator encountered error set by ProcessGroupNCCL: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5", "c10d.nccl_error", {"kind": "ncclRemoteError"}),
    ("NCCL communicator was aborted on rank 3. ", "c10d.comm_aborted", {"announced": False}),
    ("NCCL communicator was aborted on rank 3.  Original reason for failure was: NCCL error: unhandled cuda error, NCCL version 2.14.3", "c10d.comm_aborted", {"reason": "NCCL error: unhandled cuda error, NCCL version 2.14.3"}),
    # P11, P12, P13
    ("Received a global dump signal from rank 5, " + DUMP, "c10d.dump_signal_observed", {"by_rank": 5}),
    ("Received a dump signal due to a collective timeout from  rank 5 " + BEST, "c10d.dump_signal_observed", {"by_rank": 5}),
    ("Received a dump signal due to a collective timeout from  rank 5 " + BEST, "c10d.progress", {"pending": 3}),
    ("Observed flight recorder dump signal from another rank via TCPStore.", "c10d.dump_signal_observed", {"by_rank": "absent"}),
    ("Received a dump signal due to a collective timeout from this local rank " + BEST, "c10d.dump_signal_sent", {"by_rank": 3}),
    ("Received a dump signal from this local rank " + DUMP, "c10d.dump_signal_sent", {"by_rank": 3}),
    ("Broadcasting flight recorder dump signal to other processes via TCPStore.", "c10d.dump_signal_sent", {"by_rank": 3}),
    ("First PG on this rank to signal dumping.", "c10d.dump_signal_sent", {"by_rank": 3}),
    # P14
    ("ProcessGroupNCCL dumping nccl trace to /tmp/nccl_trace_rank_3", "c10d.dump_written", {"path": "/tmp/nccl_trace_rank_3"}),
    ("Finished writing NCCLPG debug info to /tmp/nccl_trace_rank_3", "c10d.dump_written", {"path": "/tmp/nccl_trace_rank_3"}),
    ("Error opening file for writing NCCLPG debug info: /tmp/nccl_trace_rank_3", "c10d.dump_failed", {"path": "/tmp/nccl_trace_rank_3"}),
    # P15, P16, P17
    ("Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=2", "c10d.heartbeat_timeout", {"nature": Nature.ERROR}),
    ("ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread holding the GIL inside a CUDA api", "c10d.heartbeat_timeout", {"lasted": 480.0}),
    ("Could not acquire GIL within 300 ms on exit, possible GIL induced hang", "c10d.gil_stuck", {"waited": 0.3}),
    ("Terminating the process after attempting to dump debug info, due to collective timeout or exception.", "c10d.teardown", {}),
    ("Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang.", "c10d.teardown", {}),
    # P18
    ("ProcessGroupNCCL monitor thread is disabled, but would have terminated the process after attempting to dump debug info, due to collective timeout or exception.", "c10d.monitor_off", {"nature": Nature.SETTING}),
    ("PGNCCL Monitor Thread is disabled, but would have killed this job:", "c10d.monitor_off", {}),
    # P19
    ('Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Connection reset by peer', "c10d.store_closed", {"error": "Connection reset by peer"}),
    ('Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?', "c10d.store_closed", {}),
    # P22
    ("NCCL Work update periodically: last enqueued NCCL work: 5, last completed NCCL work: 5.", "c10d.progress", {"pending": 0}),
    # P23
    (" remote error detected from rank: 5", "c10d.remote_error", {"by_rank": 5, "nature": Nature.EFFECT}),
    # P24
    ("Event query failed with exception: CUDA error: an illegal memory access was encountered", "cuda.error", {"code": 700}),
    # P25
    ("ProcessGroupNCCL: Health check failure: Failed to initialize NCCL communicator on rank 3", "c10d.init_failed", {"pg_rank": 3}),
    # P26
    ("Rank 3 using GPU 2 to perform barrier as devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.", "c10d.device_unknown", {"device": 2}),
    (" using GPU 2 as device used by this process is currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.", "c10d.device_unknown", {"device": 2}),
    ("Guessing device ID based on global rank. This can cause a hang if rank to GPU mapping is heterogeneous.", "c10d.device_unknown", {"nature": Nature.SETTING}),
    # P28, P29
    ("WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group", "c10d.not_destroyed", {"nature": Nature.TEARDOWN}),
    ("Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources.", "c10d.not_destroyed", {}),
    ("Warning: An unbatched P2P op (send/recv) was called on this ProcessGroup with size 8.", "c10d.unbatched_p2p", {}),
    # P30
    ("Received NCCL errors for communicators in the cache: NCCL error: unhandled system error", "c10d.nccl_error", {"kind": "ncclSystemError"}),
    ("Wrote aborted communicator id to store: NCCLABORTEDCOMM:0a1b", "c10d.comm_aborted", {"announced": True}),
    ("found key in store: NCCLABORTEDCOMM:0a1b, from rank: 5. This means that rank has aborted its NCCL communicators previously and is not in a healthy state.. Aborting appropriate communicators", "c10d.remote_error", {"by_rank": 5}),
    # P31
    ("TORCH_NCCL_BLOCKING_WAIT is enabled, NO watchdog thread is created.", "c10d.monitor_off", {}),
    ("TORCH_NCCL_BLOCKING_WAIT and TORCH_NCCL_ASYNC_ERROR_HANDLING should not both be enabled. Only TORCH_NCCL_BLOCKING_WAIT is being used in this process.", "c10d.monitor_off", {}),
    # P32
    *((text, "c10d.usage_error", {"error": text, "nature": Nature.ERROR}) for text in (
        "Attempt to perform collective on tensor not on device passed to init_process_group",
        "Tensors must be CUDA and dense",
        "Detected non-contiguous tensor",
        "output tensor size must be equal to world_size times input tensor size",
        "Split sizes doesn't match total dim 0 size",
        "Tensors must have identical type",
    )),
    # Companions of the desync report
    ("Failed to retrieve TORCH_NCCL_DESYNC_DEBUG report. Please file an issue. Error: Broken pipe", "c10d.desync_report_failed", {"error": "Broken pipe"}),
    ("Store is down while updating #12 with key NCCL_3_trace_start", "c10d.store_closed", {}),
    ("Store is down while getting key NCCL_3_trace_start", "c10d.store_closed", {}),
]  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize(("text", "name", "expected"), ROWS)
def test_each_message_behind_each_prefix(prefix, text, name, expected):
    event = find(prefix + text, name)
    assert holds(event, expected) == {}
    if name.startswith("c10d.") and name != "c10d.store_closed":
        assert event.rank == 3
    if "02:07:08" in prefix:
        assert event.time is not None and event.time % 60 >= 8


@pytest.mark.parametrize(
    ("prefix", "rank", "pg_rank", "communicator", "group"),
    [
        # [Rank N] counts within the group that logged first in the process: [rankN]: overrules it.
        ("[rank9]:[E321 02:07:08.9 ProcessGroupNCCL.cpp:607] [Rank 1] ", 9, 1, None, "absent"),
        ("[E ProcessGroupNCCL.cpp:828] [Rank 1] ", 1, 1, None, "absent"),
        ("[rank9]:[E ProcessGroupNCCL.cpp:1316] [PG 1 Rank 1] ", 9, 1, "1", None),
        ("[rank9]:[E321 02:07:08.9 ProcessGroupNCCL.cpp:607] [PG 3 (mesh_tp) Rank 1] ", 9, 1, "3", "mesh_tp"),
        ("[rank9]:[E321 02:07:08.9 ProcessGroupNCCL.cpp:607] [PG ID 2 PG GUID 9 Rank 1] ", 9, 1, "9", None),
        ("[rank9]:[E321 02:07:08.9 ProcessGroupNCCL.cpp:607] [PG ID 2 PG GUID 9(TENSOR_MODEL_PARALLEL_GROUP) Rank 1] ", 9, 1, "9", "TENSOR_MODEL_PARALLEL_GROUP"),
        ("[E321 02:07:08.9 ProcessGroupNCCL.cpp:607] [PG ID 2 PG GUID a1b2c3(mesh_dp) Rank 1] ", None, 1, "a1b2c3", "mesh_dp"),
        ("[E321 02:07:08.9 ProcessGroupNCCL.cpp:607] [PG ID 0 PG GUID 0(default_pg) Rank 1] ", 1, 1, "0", "default_pg"),
    ],
)  # fmt: skip
def test_the_rank_in_brackets_counts_within_its_group(prefix, rank, pg_rank, communicator, group):
    event = find(prefix + WAITED + WORK + " ran for 600060 milliseconds before timing out.", "c10d.watchdog_timeout")  # fmt: skip
    assert (event.rank, event.communicator) == (rank, communicator)
    assert holds(event, {"pg_rank": pg_rank, "group": group}) == {}


def test_the_fatal_line_repeats_its_prefix():
    prefix = "[PG ID 0 PG GUID 0(default_pg) Rank 6] "
    text = "[rank6]:[F429 02:07:08.932379535 ProcessGroupNCCL.cpp:1557] " + 2 * prefix + "Terminating the process after attempting to dump debug info, due to collective timeout or exception."  # fmt: skip
    assert holds(find(text, "c10d.teardown"), {"rank": 6, "pg_rank": 6}) == {}


HINT = ". This may indicate a possible application crash on rank 0 or a network set up issue."


@pytest.mark.parametrize("spelling", ["retrieving", "retreiving"])
@pytest.mark.parametrize(
    ("key", "error", "expected"),
    [
        ("0", "Socket Timeout", {"reason": "timeout", "pair": None}),
        ("0", "wait timeout after 600000ms, keys: /default_pg/0//cuda//0", {"reason": "timeout", "lasted": 600.0}),
        ("0", "Connection reset by peer", {"reason": "reset"}),
        ("0:1", "Socket Timeout", {"pair": [0, 1]}),
        ("2:7", "wait timeout after 600000ms, keys: /default_pg/0//cuda//2:7", {"pair": [2, 7], "lasted": 600.0}),
    ],
)  # fmt: skip
def test_the_id_that_was_never_published(spelling, key, error, expected):
    text = f"torch.distributed.DistBackendError: [7] is setting up NCCL communicator and {spelling} ncclUniqueId from [0] via c10d key-value store by key '{key}', but store->get('{key}') got error: {error}"
    for behind in ("", HINT):
        event = find(text + behind, "c10d.store_timeout")
        assert holds(event, {"pg_rank": 7, "target_rank": 0, "key": key, "error": error, **expected}) == {}  # fmt: skip


SITE = "#0 all_reduce from /opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:2501\n#1 wrapper from /opt/venv/lib/python3.11/site-packages/torch/distributed/c10d_logger.py:81\n#2 clip from /srv/train.py:88\n#3 main from /srv/train.py:120"


def test_the_call_site_is_the_innermost_frame_of_the_program():
    event = find(PG_2_5 + "Stack trace of the failed collective: \n" + SITE, "c10d.collective_site")
    assert holds(event, {"site": "clip /srv/train.py:88", "rank": 3, "communicator": "0"}) == {}
    assert len(event["frames"]) == 4


def test_a_missing_call_site_is_no_event():
    text = (
        PG_2_5
        + "Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value."
    )
    assert read(ALL, text) == []


RESULTS = [
    ("unhandled cuda error", "ncclUnhandledCudaError: Call to CUDA function failed."),
    ("unhandled system error", "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. It can be also caused by unexpected exit of a remote peer."),
    ("unhandled system error", "ncclSystemError: System call (socket, malloc, munmap, etc) failed."),
    ("internal error", "ncclInternalError: Internal check failed."),
    ("internal error", "ncclInternalError: Internal check failed. This is either a bug in NCCL or due to memory corruption"),
    ("invalid argument", "ncclInvalidArgument: Invalid value for an argument."),
    ("invalid usage", "ncclInvalidUsage: This usually reflects invalid usage of NCCL library."),
    ("remote process exited or there was a network error", "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."),
]  # fmt: skip
ADVICE = ["", " (run with NCCL_DEBUG=INFO for details)", " (run with NCCL_DEBUG=WARN for details)", " - please report this issue to the NCCL developers"]  # fmt: skip


@pytest.mark.parametrize("advice", ADVICE)
@pytest.mark.parametrize(("message", "explanation"), RESULTS)
@pytest.mark.parametrize(
    ("head", "explained"),
    [
        ("RuntimeError: NCCL error in: /opt/torch/lib/c10d/ProcessGroupNCCL.cpp:784, {}, NCCL version 2.7.8", False),
        ("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, {}, NCCL version 2.21.5", True),
    ],
)  # fmt: skip
def test_results_of_nccl(head, explained, message, explanation, advice):
    text = head.format(message + advice)
    if explained:
        text += f"\n{explanation}\nLast error:\nsocketStartConnect: Connect to 10.0.0.9<45231> failed : Software caused connection abort"
    event = find(text, "c10d.nccl_error")
    assert event["kind"] == explanation.partition(":")[0]
    assert (event["last_error"] is not None) is explained


AGENT = {
    "2.0": "WARNING:torch.distributed.elastic.multiprocessing.api:",
    "2.1": "[2024-01-30 11:22:33,123] torch.distributed.elastic.multiprocessing.api: [WARNING] ",
    "2.4": "W0321 02:07:20.684000 139912345678912 torch/distributed/elastic/multiprocessing/api.py:851] ",
    "2.5": "W0321 02:07:20.684000 26021 site-packages/torch/distributed/elastic/multiprocessing/api.py:897] ",
    "pdsh": "node-07: WARNING:torch.distributed.elastic.multiprocessing.api:",
    "srun -l": "1: W0321 02:07:20.684000 26021 site-packages/torch/distributed/elastic/multiprocessing/api.py:897] ",
}  # fmt: skip
AGENT_ROWS = [
    ("Sending process 26024 closing signal SIGTERM", "torchrun.sigterm", {"pid": 26024, "signal": "SIGTERM", "nature": Nature.TEARDOWN}),
    ("failed (exitcode: -6) local_rank: 5 (pid: 26029) of binary: /opt/venv/bin/python", "torchrun.process_failed", {"exit_code": -6, "signal": "SIGABRT", "local_rank": 5, "pid": 26029}),
    ("failed (exitcode: 1) local_rank: 0 (pid: 26024) of fn: main (start_method: spawn)", "torchrun.process_failed", {"exit_code": 1, "signal": None, "local_rank": 0}),
    ("Unable to shutdown process 26024 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL", "torchrun.unkillable", {"pid": 26024, "signal": "SIGTERM"}),
    ("Unable to shutdown process 26024 via 15, forcefully exitting via 9", "torchrun.unkillable", {"signal": "SIGTERM"}),
    ("Received 15 death signal, shutting down workers", "torchrun.agent_signal", {"signal": "SIGTERM"}),
    ("Received Signals.SIGTERM death signal, shutting down workers", "torchrun.agent_signal", {"signal": "SIGTERM"}),
    ("[default] Worker group FAILED. 2/3 attempts left; will restart worker group", "torchrun.restart", {"attempts_left": 2}),
    ("[default] Detected 1 new nodes from group_rank=0; will restart worker group", "torchrun.restart", {"new_nodes": 1}),
    ("Local worker group finished (WorkerState.FAILED). Waiting 300 seconds for other agents to finish", "torchrun.group_finished", {"state": "FAILED"}),
    ("The node 'node-07_26021_0' has failed to send a keep-alive heartbeat to the rendezvous 'job-12' due to an error of type RendezvousConnectionError.", "rendezvous.heartbeat_failed", {"reason": "RendezvousConnectionError"}),
]  # fmt: skip


@pytest.mark.parametrize("prefix", AGENT.values(), ids=AGENT)
@pytest.mark.parametrize(("text", "name", "expected"), AGENT_ROWS)
def test_what_the_agent_says_in_each_version(prefix, text, name, expected):
    event = find(prefix + text, name)
    assert holds(event, expected) == {}
    assert event.rank is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "timeout"),
        ("torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.", "connection"),
        ("torch.distributed.elastic.rendezvous.api.RendezvousClosedError", "closed"),
    ],
)  # fmt: skip
def test_rendezvous_errors(text, reason):
    assert find(text, "rendezvous.failed")["reason"] == reason


GLOO = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/"
STORE = "[rank3]:[W321 02:10:08.432379535 TCPStore.cpp:106] [c10d] "
STORE_ROWS = [
    (GLOO + "pair.cc:547] Connection closed by peer [10.0.0.3]:42311", "gloo.connection_closed", {"peer": "10.0.0.3", "nature": Nature.EFFECT}),
    (GLOO + "pair.cc:538] Read error [10.0.0.3]:922: Connection reset by peer", "gloo.connection_closed", {"peer": "10.0.0.3", "port": 922}),
    (GLOO + "pair.cc:300] Application timeout caused pair closure", "gloo.connection_closed", {"nature": Nature.EFFECT}),
    (GLOO + "unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete", "gloo.timeout", {"lasted": 5.0, "direction": "recv"}),
    (GLOO + "unbound_buffer.cc:133] Timed out waiting 5000ms for send operation to complete", "gloo.timeout", {"direction": "send"}),
    (GLOO + "pair.cc:99] Connect timeout [10.0.0.3]", "gloo.connect_failed", {"peer": "10.0.0.3"}),
    ("RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error", "gloo.connect_failed", {}),
    ("RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:490] op.preamble.length <= op.nbytes. 40 vs 20", "gloo.size_mismatch", {"received": 40, "expected": 20}),
    (STORE + "The client socket has failed to connect to [node-00]:29500 (errno: 110 - Connection timed out).", "c10d.connect_failed", {"errno": 110, "reason": "timeout"}),
    (STORE + "The client socket has failed to connect to [node-00]:29500 (errno: 111 - Connection refused).", "c10d.connect_failed", {"errno": 111, "reason": "refused"}),
    (STORE + "The client socket has failed to connect to [node-00]:29500 (errno: 113 - No route to host).", "c10d.connect_failed", {"errno": 113, "reason": "no-route"}),
    ("TimeoutError: The client socket has timed out after 600s while trying to connect to (node-00, 29500).", "c10d.connect_failed", {"lasted": 600.0, "retrying": False}),
    ("torch.distributed.DistNetworkError: The client socket has timed out after 4000ms while trying to connect to (node-00, 29500).", "c10d.connect_failed", {"lasted": 4.0}),
    (STORE + "The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).", "c10d.port_in_use", {"port": 29500}),
    ("torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29597, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use", "c10d.port_in_use", {"port": 29597}),
    (STORE + "The server socket has failed to bind to [::]:80 (errno: 13 - Permission denied).", "c10d.listen_failed", {"port": 80, "errno": 13}),
    (STORE + "The IPv6 network addresses of (node-00, 29500) cannot be retrieved (gai error: -2 - Name or service not known).", "c10d.dns_failed", {"family": "IPv6", "peer": "node-00"}),
    (STORE + "TCP client failed to connect/validate to host node-00:29500 - retrying (try=0, timeout=600000ms, delay=28140ms): Connection reset by peer", "c10d.connect_failed", {"retrying": True, "peer": "node-00"}),
    (STORE + "TCP client failed to connect/validate to host node-00:29500 - timed out (try=12, timeout=600000ms): Connection reset by peer", "c10d.connect_failed", {"retrying": False}),
    ("waitForInput: socket SocketImpl(fd=3, addr=[node-07]:1, remote=[node-00]:29500) timed out after 2000ms", "c10d.store_timeout", {"lasted": 2.0}),
    ("torch.distributed.DistStoreError: wait timeout after 2000ms, keys: /nokey", "c10d.store_timeout", {"key": "/nokey"}),
    ("RuntimeError: Socket Timeout", "c10d.store_timeout", {}),
    ("torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 7/8 clients joined.", "c10d.clients_missing", {"joined": 7, "expected": 8, "missing": 1}),
    (STORE + "Starting store with 512 workers but somaxconn is 128. This might cause instability during bootstrap", "c10d.store_backlog", {"workers": 512, "somaxconn": 128}),
    (STORE + "recvValue failed on SocketImpl(fd=61, addr=[node-07]:41022, remote=[node-00]:29500): Connection reset by peer", "c10d.store_closed", {"peer": "node-00", "port": 29500}),
    (STORE + "recvVector failed on SocketImpl(fd=61, addr=[node-07]:41022, remote=[node-00]:29500): failed to recv, got 0 bytes", "c10d.store_closed", {"peer": "node-00"}),
    (STORE + "sendBytes failed on SocketImpl(fd=61, addr=[node-07]:41022, remote=[node-00]:29500): Broken pipe", "c10d.store_closed", {"call": "sendBytes"}),
    ("torch.distributed.DistNetworkError: Broken pipe", "c10d.store_closed", {"error": "Broken pipe"}),
    ("torch.distributed.DistStoreError: Stop_waiting response is expected", "c10d.store_closed", {}),
    (STORE + "Miscellaneous client without VALIDATE query is detected", "c10d.stray_client", {}),
    ("[rank0]: RuntimeError: [Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 30000 ms", "c10d.monitored_barrier", {"missing": [3, 5]}),
    ("RuntimeError: Rank 0 timed out in monitoredBarrier after 30000 ms.\nSuccessfully processed ranks: 1, 2", "c10d.monitored_barrier_failed", {"arrived": [1, 2]}),
    ("RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.", "c10d.monitored_barrier_failed", {"pg_rank": 3}),
    ("RuntimeError: ProcessGroupWrapper: Monitored Barrier encountered error running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=BROADCAST). Error: ", "c10d.monitored_barrier_failed", {"op": "BROADCAST", "seq": 6}),
    ("RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=6OpType=BARRIER), but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=5, OpType=ALLREDUCE, TensorShape=[10], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)).Collectives differ in the following aspects: \t Sequence number: 6vs 5", "c10d.mismatch", {"op": "BARRIER", "seq": 6, "other_op": "ALLREDUCE", "other_seq": 5, "other_rank": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "expected"), STORE_ROWS)
def test_store_gloo_and_wrapper(text, name, expected):
    assert holds(find(text, name), expected) == {}


def test_one_lost_connection_is_one_event():
    text = (
        PG_2_5
        + 'Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Failed to recv, got 0 bytes. Connection was likely closed.'
    )
    assert [event.name for event in read(ALL, text)] == ["c10d.store_closed"]
