"""Jobs of 64 ranks of which only one host's kernel log, or the scheduler's file, holds the cause.

The ranks that died printed nothing, and all others report a timeout ten minutes later.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

import pytest
from joblog import book, c10d, launch, machine
from joblog.job import Job
from scenarios.waits import late

from diagnose import api
from diagnose.ingest.source import Source

JOB = Job(world=64, start=datetime(2026, 5, 4, 9, 0, 0), torch="2.6", nccl="2.24.3")
HOST, RANK = "node-05", 35
LAST_STEP = 9200
END = 60 + 100 * 2
"""Seconds from the start of the job to its last step."""


@dataclass(frozen=True)
class Fault:
    """What happened to a host.

    Args:
        cause: Expected.
        files: The only ones that hold it, as texts by name.
        whole: All ranks of the host end, not only one.
    """

    cause: str
    files: Callable[[], dict[str, str]]
    whole: bool = False


def kernel(*texts: str, after: float = 1.0, before: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the kernel logs of all hosts; that of ``HOST`` holds the texts as well."""
    logs = {}
    for host in JOB.hosts:
        logs[f"dmesg-{host}.txt"] = machine.boot(JOB, host) + machine.kernel(
            JOB, host, 40, "nvidia-modeset: Unloading"
        )
    logs[f"dmesg-{HOST}.txt"] += "".join(
        machine.kernel(JOB, HOST, END + after + at * 0.2, text) for at, text in enumerate(texts)
    )
    return logs


def moment(seconds: float) -> str:
    """Return a moment after the last step as Kubernetes and Slurm write it."""
    return f"{JOB.clock(None, END + seconds).replace(tzinfo=UTC):%Y-%m-%dT%H:%M:%SZ}"


def out_of_memory() -> dict[str, str]:
    logs = kernel()
    logs[f"dmesg-{HOST}.txt"] += machine.out_of_memory(JOB, RANK, END + 1, 612345, 77121)
    return logs


def fell_off_the_bus() -> dict[str, str]:
    logs = kernel()
    logs[f"dmesg-{HOST}.txt"] += machine.gpu_lost(JOB, RANK, END + 1)
    return logs


def node_failed() -> dict[str, str]:
    stamp = moment(300)[:-1]
    return kernel() | {
        "slurmctld.log": f"[{stamp}.012] error: Nodes {HOST} not responding\n"
        f"[{stamp}.512] error: Nodes {HOST} not responding, setting DOWN\n"
        f"[{stamp}.513] Killing JobId=77121 on failed node {HOST}\n",
        "slurm-77121.out": f"srun: error: Node failure on {HOST}\n"
        + launch.cancelled(
            JOB,
            JOB.hosts[0],
            END + 640,
            77121,
            "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS",
        ),
    }


def pod_ended(message: str) -> Callable[[], dict[str, str]]:
    """Return the files of a pod that the kubelet ended, as ``kubectl describe pod`` prints it."""
    return lambda: (
        kernel()
        | {
            "kubectl-describe-trainer-4.txt": f"""\
Name:             trainer-4
Namespace:        train
Priority:         0
Service Account:  default
Node:             {HOST}/10.14.0.5
Start Time:       Mon, 04 May 2026 08:58:11 +0000
Labels:           app=pretrain
Status:           Failed
Reason:           Evicted
Message:          {message}
IP:               10.14.0.5
Containers:
  trainer:
    Image:          registry.example/train:1
    State:          Terminated
      Reason:       Error
      Exit Code:    137
      Started:      Mon, 04 May 2026 08:58:20 +0000
      Finished:     Mon, 04 May 2026 09:04:24 +0000
    Ready:          False
    Restart Count:  0
Events:
  Type     Reason               Age   From     Message
  ----     ------               ----  ----     -------
  Warning  Evicted              13m   kubelet  {message}
  Normal   Killing              13m   kubelet  Stopping container trainer
"""
        }
    )


LOW_MEMORY = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 61204Ki. "
    "Container trainer was using 812Gi, request is 0, has larger consumption of memory."
)
NO_ROOM = "Pod ephemeral local storage usage exceeds the total limit of containers 50Gi. "
NVME = (
    "nvme nvme2: I/O 771 QID 9 timeout, aborting",
    "nvme nvme2: I/O 771 QID 9 timeout, reset controller",
    "INFO: task pt_main_thread:612345 blocked for more than 122 seconds.",
    "      Tainted: P           OE     6.1.0-21-amd64 #1 Debian 6.1.90-1",
    '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    "task:pt_main_thread  state:D stack:0     pid:612345 ppid:612001 flags:0x00004002",
    "Call Trace:",
    " <TASK>",
    " __schedule+0x34d/0x9e0",
    " schedule+0x5a/0xd0",
    " io_schedule+0x42/0x70",
    " folio_wait_bit_common+0x13d/0x350",
    " </TASK>",
)
MACHINE_CHECK = (
    "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be00000000800400",
    "mce: [Hardware Error]: RIP !INEXACT! 10:<ffffffff8104a2b1> {mwait_idle+0x81/0x1c0}",
    "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1f0 offset:0x80 grain:32)",
    "Kernel panic - not syncing: Fatal machine check",
)
ECC = (
    "NVRM: Xid (PCI:{pci}): 48, pid=612345, name=pt_main_thread, DBE (double bit error) detected",
    "NVRM: Xid (PCI:{pci}): 94, pid=612345, name=pt_main_thread, Contained: SM (0x1). RST: No, D-RST: No",
)
PCIE = (
    "pcieport 0000:5a:01.0: AER: Uncorrected (Fatal) error received: 0000:{pci}",
    "nvidia {pci}.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
    "nvidia {pci}.0:   device [10de:2330] error status/mask=00000020/00000000",
    "nvidia {pci}.0:    [ 5] SDES                   (First)",
)


GPU_DRIVER = (
    "INFO: task pt_main_thread:612345 blocked for more than 122 seconds.",
    "Call Trace:",
    " <TASK>",
    " __schedule+0x34d/0x9e0",
    " os_acquire_rwlock_write+0x35/0x40 [nvidia]",
    " _nv037922rm+0x10/0x30 [nvidia]",
    " </TASK>",
)


def syslog(*texts: str, after: float) -> Callable[[], dict[str, str]]:
    """Return the syslog of ``HOST`` beside the kernel logs of the others."""

    def files() -> dict[str, str]:
        logs = kernel()
        del logs[f"dmesg-{HOST}.txt"]
        stamp = JOB.clock(HOST, END + after)
        early = f"{JOB.clock(HOST, 30):%b %d %H:%M:%S} {HOST} systemd[1]: Started Session 12.\n"
        late_lines = "".join(f"{stamp:%b %d %H:%M:%S} {HOST} {text}\n" for text in texts)
        return logs | {f"{HOST}-messages.txt": early + late_lines}

    return files


def node_record() -> dict[str, str]:
    boot = moment(280)[:-1]
    return kernel() | {
        "scontrol-show-nodes.txt": "".join(
            f"NodeName={host} Arch=x86_64 CoresPerSocket=48\n"
            f"   State={'DOWN+DRAIN' if host == HOST else 'ALLOCATED'} ThreadsPerCore=2 TmpDisk=0\n"
            f"   BootTime={boot if host == HOST else '2026-03-01T10:00:00'} SlurmdStartTime={boot}\n"
            + (f"   Reason=Node unexpectedly rebooted [slurm@{boot}]\n" if host == HOST else "")
            + "\n"
            for host in JOB.hosts
        )
    }


def nodes_table() -> dict[str, str]:
    rows = "".join(
        f"{host}   {'NotReady' if host == HOST else 'Ready'}   <none>   90d   v1.29.4\n"
        for host in JOB.hosts
    )
    return kernel() | {"kubectl-get-nodes.txt": "NAME   STATUS   ROLES   AGE   VERSION\n" + rows}


def lines(texts: tuple[str, ...]) -> Callable[[], dict[str, str]]:
    return lambda: kernel(*(text.replace("{pci}", JOB.pci(RANK)) for text in texts))


FAULTS = {
    "kernel out of memory": Fault("resources.host-oom", out_of_memory),
    "Xid 79": Fault("resources.gpu-lost", fell_off_the_bus),
    "Xid 48": Fault("resources.gpu-ecc", lines(ECC)),
    "machine check": Fault("resources.node-failure", lines(MACHINE_CHECK), whole=True),
    "node failure by Slurm": Fault("resources.node-failure", node_failed, whole=True),
    "pod evicted": Fault("resources.host-oom", pod_ended(LOW_MEMORY), whole=True),
    "disk full": Fault("dataflow.disk-full", pod_ended(NO_ROOM), whole=True),
    "NVMe timeout": Fault("dataflow.storage-stall", lines(NVME)),
    "fatal PCIe error": Fault("resources.pcie-degraded", lines(PCIE)),
    "stuck in the GPU's driver": Fault("resources.gpu-fault", lines(GPU_DRIVER)),
    "a boot in syslog": Fault(
        "resources.node-failure",
        syslog("kernel: Linux version 6.1.0-21-amd64 (builder@build) #1 SMP", after=400),
        whole=True,
    ),
    "taken back by the provider": Fault(
        "resources.preempted",
        syslog("systemd-logind[812]: Power key pressed.", "systemd-logind[812]: Powering off...", after=1),
        whole=True,
    ),
    "rebooted, as Slurm shows it": Fault("resources.node-failure", node_record, whole=True),
    "not ready, as Kubernetes shows it": Fault("resources.node-failure", nodes_table, whole=True),
    "adapter down": Fault("comms.link-down", lines(("mlx5_core 0000:1a:00.0 ens1np0: Link down",))),
}  # fmt: skip


@cache
def ranks(whole: bool) -> book.Files:
    """Return the logs of the ranks: those that died stop at the last step."""
    told = book.Book(JOB)
    told.begin(edges=False)
    end = told.steps(LAST_STEP - 100, LAST_STEP, every=20)
    assert end == END
    call = c10d.Call(seq=92101)
    gone = JOB.ranks_on(HOST) if whole else [RANK]
    for rank in JOB.everyone.ranks:
        if rank not in gone:
            at = end + 2 + call.timeout + late(rank)
            told.rank(rank, at, c10d.timeout(JOB, rank, at, call, enqueued=call.seq + 2))
    return book.by_rank(told)


def diagnosed(files: dict[str, str], whole: bool) -> api.Report:
    data = ranks(whole) | {name: text.encode() for name, text in files.items()}
    sources = [Source(name, None, len(one), data=one) for name, one in data.items()]
    return api.run_sources(sources, api.load_knowledge())


def roots(report: api.Report) -> list:
    return [finding for finding in report.findings if finding.role == "root"]


@pytest.mark.parametrize("name", FAULTS)
def test_the_one_file_that_holds_the_cause_decides(name):
    fault = FAULTS[name]
    report = diagnosed(fault.files(), fault.whole)
    assert report.verdict == "root-cause"
    [first] = roots(report)
    assert (first.cause, first.culprit.hosts) == (fault.cause, [HOST])


@pytest.mark.parametrize("name", FAULTS)
def test_without_that_file_no_innocent_host_is_named(name):
    fault = FAULTS[name]
    report = diagnosed(kernel(), fault.whole)
    gone = list(JOB.ranks_on(HOST)) if fault.whole else [RANK]
    for root in roots(report):
        assert root.confidence < 0.6
        assert set(root.culprit.hosts) <= {HOST}
        assert set(root.culprit.ranks) <= set(gone)


def test_the_scheduler_speaks_of_nodes_of_other_jobs_too():
    table = (
        "REASON               USER      TIMESTAMP           NODELIST\n"
        "Not responding       slurm     2026-05-03T04:48:45 node-99\n"
    )
    report = diagnosed(kernel() | {"sinfo.txt": table}, whole=True)
    assert all(root.culprit.hosts != ["node-99"] for root in roots(report))


def test_who_cancels_a_job_that_hangs_is_not_the_cause_of_the_hang():
    files = lines(NVME)() | {
        "slurm-77121.out": launch.cancelled(JOB, JOB.hosts[0], END + 700, 77121, "")
    }
    first = roots(diagnosed(files, whole=False))[0]
    assert (first.cause, first.culprit.hosts) == ("dataflow.storage-stall", [HOST])


def test_a_cancel_without_an_earlier_fault_leaves_the_hang_open():
    files = {"slurm-77121.out": launch.cancelled(JOB, JOB.hosts[0], END + 700, 77121, "")}
    report = diagnosed(kernel() | files, whole=False)
    assert all(root.confidence < 0.6 for root in roots(report))
    assert all(set(root.culprit.hosts) <= {HOST} for root in roots(report))


EARLY = {
    "NVMe timeout": NVME,
    "fatal PCIe error": PCIE,
    "Xid 48": ECC,
    "stuck in the GPU's driver": GPU_DRIVER,
    "machine check": MACHINE_CHECK[:3],
}


@pytest.mark.parametrize("name", EARLY)
def test_what_is_followed_by_steps_is_history(name):
    told = book.Book(JOB)
    told.begin(edges=False)
    told.steps(LAST_STEP - 100, LAST_STEP, every=20)
    texts = (text.replace("{pci}", JOB.pci(RANK)) for text in EARLY[name])
    files = {key: text.encode() for key, text in kernel(*texts, after=-150).items()}
    data = book.by_rank(told) | files
    sources = [Source(key, None, len(one), data=one) for key, one in data.items()]
    report = api.run_sources(sources, api.load_knowledge())
    assert report.verdict == "healthy"
    assert report.findings
    assert {finding.role for finding in report.findings} == {"context"}
