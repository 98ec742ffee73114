"""What the library answers where a message of PyTorch's process groups is the only trouble of eight ranks."""

import pytest

import diagnose
from diagnose.engine.load import load_rules

RANKS = range(8)
STAMP = "[rank{r}]:[E302 11:10:05.432379535 ProcessGroupNCCL.cpp:607] "
PG = "[PG ID 0 PG GUID 0(default_pg) Rank {r}] "
WORK = "WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000)"

TIMEOUT = STAMP + PG + "Watchdog caught collective operation timeout: " + WORK.format(seq=1580, op="ALLREDUCE") + " ran for 600060 milliseconds before timing out."  # fmt: skip
STUCK = STAMP + PG + "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives."  # fmt: skip
GIL = STAMP + PG + "Could not acquire GIL within 300 ms on exit, possible GIL induced hang"
SITE = STAMP + PG + "Stack trace of the failed collective: \n#0 all_reduce from /opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:2501\n#1 {f} from /srv/train.py:{l}"  # fmt: skip
PUBLISH = "[rank{r}]: torch.distributed.DistBackendError: [{r}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: {error}. This may indicate a possible application crash on rank 0 or a network set up issue."  # fmt: skip
EARLY = "[rank{r}]:[W302 11:00:05.432379535 ProcessGroupNCCL.cpp:1250] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources."  # fmt: skip
P2P = "[rank{r}]:[W302 10:50:05.432379535 ProcessGroupNCCL.cpp:3550] Warning: An unbatched P2P op (send/recv) was called on this ProcessGroup with size 8."  # fmt: skip
GLOO = "[rank{r}]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/"
XID = "[Mon Mar  2 11:10:00 2026] NVRM: Xid (PCI:0000:5d:00): 119, pid=4711, name=python, Timeout after 6s of waiting for RPC response from GPU5 GSP! Expected function 76 (GSP_RM_CONTROL).\n"  # fmt: skip


def steps(last="11:00:05"):
    first = "2026-03-02 10:5{}:00,000 INFO step {} loss 2.{}"
    return [first.format(n, n, 9 - n) for n in range(5)] + [
        f"2026-03-02 {last},000 INFO step 5 loss 2.4"
    ]


def on(ranks, text, **values):
    return {r: text.replace("{r}", str(r)).format(**values) if values else text.replace("{r}", str(r)) for r in ranks}  # fmt: skip


def logs(*lines, extra=None, late=()):
    """Eight ranks that trained to the same step, and then the lines of each."""
    files = {}
    for rank in RANKS:
        own = [some[rank] for some in lines if rank in some]
        end = ["2026-03-02 11:10:30,000 INFO heartbeat"] if rank in late else []
        files[f"rank{rank}.log"] = "\n".join([*steps(), *own, *end]) + "\n"
    return files | (extra or {})


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    def report(files):
        folder = tmp_path_factory.mktemp("job")
        for name, text in files.items():
            (folder / name).write_text(text)
        return diagnose.run([folder])

    return report


def roots(report):
    return [one for one in report.findings if one.role == "root"]


ALL_BUT_5 = [r for r in RANKS if r != 5]
OTHERS = [r for r in RANKS if r != 0]
COUNTS = STAMP + PG + " failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1582, last completed work: 1579"  # fmt: skip
IDLE = STAMP + PG + "Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: 1579, last completed NCCL work: 1579."  # fmt: skip
DESYNC = "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n\t     [5] finished collective #182, but didn't join collective #183 (count from 1)"  # fmt: skip
SNAPSHOT = "\t - Snapshot of ranks' latest states:\n\t   #315 started ranks:\n\t     [0, 1, 2, 3, 4, 6, 7] started ALLREDUCE\n\t     [5] started BROADCAST"  # fmt: skip

CAUSES = {
    "P3 one rank had nothing pending": (logs(on(ALL_BUT_5, TIMEOUT), on(ALL_BUT_5, COUNTS), on([5], IDLE)), "comms.rank-missing", [5]),
    "P6 a CUDA error inside": (logs(on([5], STAMP + PG + "Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered"), on(ALL_BUT_5, TIMEOUT)), "resources.gpu-illegal-access", [5]),
    "P6 before prefixes had ranks": (logs(on([5], "[E ProcessGroupNCCL.cpp:821] [Rank {r}] NCCL watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered")), "resources.gpu-illegal-access", [5]),
    "P10 the id of rank 0": (logs(on(OTHERS, PUBLISH.replace("{error}", "wait timeout after 600000ms, keys: /default_pg/0//cuda//0"))), "comms.rank-missing", [0]),
    "P15 on one rank": (logs(on([5], STUCK), on(ALL_BUT_5, TIMEOUT)), "comms.rank-stuck-on-device", [5]),
    "P16 without a stack": (logs(on([5], GIL), on(ALL_BUT_5, TIMEOUT)), "dataflow.slow-rank-work", [5]),
    "P16 with the loader on the stack": (logs(on([5], GIL), on([5], '  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 1132, in _try_get_data'), on(ALL_BUT_5, TIMEOUT)), "dataflow.loader-stuck", [5]),
    "P21 sites differ": (logs(on(RANKS, TIMEOUT), on(ALL_BUT_5, SITE, f="step", l=88), on([5], SITE, f="evaluate", l=140)), "comms.collective-mismatch", [5]),
    "P24 without a fault of the hardware": (logs(on([5], "[E ProcessGroupNCCL.cpp:400] [Rank {r}] Event query failed with exception: CUDA error: an illegal memory access was encountered")), "resources.gpu-illegal-access", [5]),
    "P24 with an Xid of the hardware": (logs(on([5], STAMP + "[Rank {r}] Event query failed with exception: CUDA error: unspecified launch failure"), extra={"node-07.dmesg": XID}), "resources.gpu-fault", None),
    "P25 one rank is silent": (logs(on(ALL_BUT_5, "2026-03-02 11:10:05,000 ERROR RuntimeError: ProcessGroupNCCL: Health check failure: Failed to initialize NCCL communicator on rank {r}"), late=[5]), "comms.rank-missing", [5]),
    "P27 the check for NaN": (logs(on([5], "TORCH_NCCL_NAN_CHECK=1\n[rank{r}]: RuntimeError: CUDA error: unspecified launch failure")), "parameters.precision-overflow", [5]),
    "P28 before the peers' timeouts": (logs(on([5], EARLY), on(ALL_BUT_5, TIMEOUT)), "dataflow.uneven-batches", [5]),
    "P29 a hang follows": (logs(on(RANKS, P2P), on([3, 4], TIMEOUT.replace("ALLREDUCE", "SEND"))), "comms.collective-mismatch", None),
    "P32 on one rank": (logs(on([5], "[rank{r}]: RuntimeError: Tensors must have identical type"), on(ALL_BUT_5, TIMEOUT)), "dataflow.rank-exception", [5]),
    "the desync report": (logs(on([0], TIMEOUT + "\n" + DESYNC), on(OTHERS, TIMEOUT)), "comms.rank-missing", [5]),
    "the desync report with two operations": (logs(on([0], TIMEOUT + "\n" + SNAPSHOT), on(OTHERS, TIMEOUT)), "comms.collective-mismatch", [5]),
    "fingerprints": (logs(on(ALL_BUT_5, "[rank{r}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {r} is running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=ALLREDUCE, TensorShape=[10], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)), but Rank 5 is running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=BROADCAST).Collectives differ in the following aspects: \t Op type: ALLREDUCEvs BROADCAST")), "comms.collective-mismatch", [5]),
    "the monitored barrier": (logs(on([0], "[rank{r}]: RuntimeError: [Rank 0]: Rank 5 failed to pass monitoredBarrier in 30000 ms")), "comms.rank-missing", [5]),
    "a peer of gloo that refuses": (logs(on(ALL_BUT_5, GLOO + "pair.cc:799] connect [10.0.0.9]:42311: Connection refused")), "comms.connection-refused", None),
    "the store cannot be reached": (logs(on(OTHERS, "[rank{r}]: torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (node-00, 29500).")), "comms.connection-refused", None),
    "the port is taken": (logs(on([0], "[rank{r}]: torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use")), "comms.port-in-use", None),
    "clients are missing": (logs(on([0], "[rank{r}]: torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 7/8 clients joined.")), "comms.rendezvous-failed", None),
    "a rendezvous that is closed": (logs(on([0], "torch.distributed.elastic.rendezvous.api.RendezvousClosedError")), "comms.rendezvous-failed", None),
    "gloo got more than it asked for": (logs(on([5], "[rank{r}]: RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:490] op.preamble.length <= op.nbytes. 40 vs 20")), "comms.collective-mismatch", None),
    "P9 with a last error of its own": (logs(on([5], "[rank{r}]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n[rank{r}]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n[rank{r}]: Last error:\n[rank{r}]: Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)")), "comms.shm-too-small", None),
}  # fmt: skip


@pytest.mark.parametrize(("files", "cause", "ranks"), CAUSES.values(), ids=CAUSES)
def test_the_cause_is_named(ask, files, cause, ranks):
    found = roots(ask(files))
    assert [one.cause for one in found] == [cause]
    if ranks is not None:
        assert found[0].culprit.ranks == ranks


CASCADES = {
    "P1": logs(on(RANKS, TIMEOUT)),
    "P2": logs(on(RANKS, "[rank{r}]: RuntimeError: Work " + WORK.format(seq=12, op="BROADCAST") + " timed out in blocking wait (TORCH_NCCL_BLOCKING_WAIT=1).")),
    "P3": logs(on(RANKS, COUNTS), on(RANKS, TIMEOUT)),
    "P5": logs(on(RANKS, STAMP + "[Rank {r}] To avoid data inconsistency, we are taking the entire process down.")),
    "P6": logs(on(RANKS, STAMP + PG + "Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5")),
    "P7": logs(on(RANKS, STAMP + PG + "Collective " + WORK.format(seq=9, op="ALLREDUCE") + " raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5")),
    "P8": logs(on(RANKS, "[rank{r}]: RuntimeError: NCCL communicator encountered error set by ProcessGroupNCCL: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5")),
    "P8 aborted": logs(on(RANKS, "[rank{r}]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank {r}. ")),
    "P10 the store is gone": logs(on(OTHERS, PUBLISH.replace("{error}", "Connection reset by peer"))),
    "P11": logs(on(RANKS, STAMP + PG + "Observed flight recorder dump signal from another rank via TCPStore.")),
    "P12": logs(on([5], STAMP + PG + "Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last enqueued NCCL work: 1582, last completed NCCL work: 1579.")),
    "P13": logs(on([5], STAMP + PG + "Broadcasting flight recorder dump signal to other processes via TCPStore.")),
    "P14": logs(on([5], STAMP + "Error opening file for writing NCCLPG debug info: /var/nccl_trace_rank_5")),
    "P15 on all ranks": logs(on(RANKS, STUCK)),
    "P17": logs(on(RANKS, STAMP + PG + PG + "Terminating the process after attempting to dump debug info, due to collective timeout or exception.")),
    "P18": logs(on(RANKS, STAMP + "PGNCCL Monitor Thread is disabled")),
    "P19": logs(on(OTHERS, STAMP + PG + 'Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe')),
    "P21 one site": logs(on(RANKS, TIMEOUT), on(RANKS, SITE, f="step", l=88)),
    "P22": logs(on(RANKS, STAMP + PG + "NCCL Work update periodically: last enqueued NCCL work: 5, last completed NCCL work: 5.")),
    "P23": logs(on(ALL_BUT_5, STAMP + PG + " remote error detected from rank: 5")),
    "P25 all ranks": logs(on(RANKS, "[rank{r}]: RuntimeError: ProcessGroupNCCL: Health check failure: Failed to initialize NCCL communicator on rank {r}")),
    "P26": logs(on(RANKS, STAMP + PG + " using GPU {r} as device used by this process is currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.")),
    "P28": logs(on(RANKS, EARLY)),
    "P29": logs(on(RANKS, P2P)),
    "P30": logs(on([5], "[E ProcessGroupNCCL.cpp:1003] [Rank {r}] Wrote aborted communicator id to store: NCCLABORTEDCOMM:0a1b"), on(ALL_BUT_5, "[E ProcessGroupNCCL.cpp:1010] [Rank {r}] found key in store: NCCLABORTEDCOMM:0a1b, from rank: 5. This means that rank has aborted its NCCL communicators previously and is not in a healthy state.. Aborting appropriate communicators")),
    "P31": logs(on(RANKS, STAMP + "TORCH_NCCL_BLOCKING_WAIT is enabled, NO watchdog thread is created.")),
    "a barrier that lost rank 0": logs(on(OTHERS, "[rank{r}]: RuntimeError: Rank {r} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.")),
    "a barrier before a checked collective": logs(on(RANKS, "[rank{r}]: RuntimeError: ProcessGroupWrapper: Monitored Barrier encountered error running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=BROADCAST). Error: ")),
    "gloo closed": logs(on(ALL_BUT_5, GLOO + "pair.cc:547] Connection closed by peer [10.0.0.9]:42311")),
    "gloo reset": logs(on(ALL_BUT_5, GLOO + "pair.cc:538] Read error [10.0.0.9]:922: Connection reset by peer")),
    "gloo late": logs(on(RANKS, GLOO + "unbound_buffer.cc:78] Timed out waiting 600000ms for recv operation to complete")),
    "the store lost": logs(on(OTHERS, "[rank{r}]:[W302 11:10:05.432379535 TCPStore.cpp:106] [c10d] recvValue failed on SocketImpl(fd=61, addr=[node-07]:41022, remote=[node-00]:29500): Connection reset by peer")),
    "an agent that was told to stop": logs(extra={"torchrun.log": "W0302 11:10:05.000000 26021 torch/distributed/elastic/agent/server/api.py:704] Received 15 death signal, shutting down workers\n"}),
    "workers that were ended": logs(extra={"torchrun.log": "W0302 11:10:05.000000 26021 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 26024 closing signal SIGTERM\n"}),
    "an abort": logs(extra={"torchrun.log": "E0302 11:10:05.000000 26021 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) local_rank: 5 (pid: 26029) of binary: /opt/venv/bin/python\n"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def open_causes():
    return {cause.id for cause in load_rules().causes.values() if cause.open}


@pytest.mark.parametrize("files", CASCADES.values(), ids=CASCADES)
def test_a_consequence_alone_is_no_cause(ask, open_causes, files):
    found = [(one.cause, one.confidence) for one in roots(ask(files))]
    assert all(cause in open_causes and sure < 0.6 for cause, sure in found) or all(
        sure <= 0.5 for _, sure in found
    ), found


RAISED = "2026-03-02 11:05:00,000 INFO loading\n[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/srv/train.py\", line 88, in main\n[rank5]: KeyError: 'labels'\n"


@pytest.mark.parametrize("files", CASCADES.values(), ids=CASCADES)
def test_a_consequence_is_no_root_beside_a_cause(ask, files):
    found = roots(ask(files | {"rank5.log": "\n".join(steps()) + "\n" + RAISED}))
    assert [(one.cause, one.culprit.ranks) for one in found] == [("dataflow.rank-exception", [5])]


AFTER = "".join(f"2026-03-02 11:2{n}:00,000 INFO step {n + 6} loss 2.3\n" for n in range(6))


@pytest.mark.parametrize("files", CASCADES.values(), ids=CASCADES)
def test_a_consequence_that_progress_follows_is_history(ask, files):
    later = {name: text + AFTER for name, text in files.items() if name.startswith("rank")}
    assert roots(ask(files | later)) == []


UNSTAMPED = {"fingerprints", "the desync report"}
"""Messages without a stamp in the log of one rank about another: nothing tells which came first."""
DATED = {name: case for name, case in CAUSES.items() if name not in UNSTAMPED}


@pytest.mark.parametrize(("files", "cause", "ranks"), DATED.values(), ids=DATED)
def test_a_cause_that_progress_follows_is_history(ask, files, cause, ranks):
    later = {name: text + AFTER for name, text in files.items() if name.startswith("rank")}
    assert cause not in [one.cause for one in roots(ask(files | later))]
