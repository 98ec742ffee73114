"""What is named as the cause where a line of a host or a scheduler is the only trouble there is.

One row for each wording that kernels, Kubernetes, Slurm and providers are known to print.
"""

from typing import NamedTuple

import pytest

from diagnose import api
from diagnose.ingest.source import Source

KERNEL, RANK, SLURM, KUBE = "dmesg-node-07.txt", "rank3.log", "slurm-77121.out", "describe.txt"

OPEN = ("resources.process-died",)
"""Causes of which only the effect shows; they stay below 0.6."""


class Row(NamedTuple):
    """The lines of one file, and the cause that they show; None where they show none."""

    file: str
    cause: str | None
    lines: tuple[str, ...]


MEMORY = (
    Row(KERNEL, "resources.host-oom", ("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python3,pid=812345,uid=1001", "Out of memory: Killed process 812345 (python3) total-vm:244938268kB, anon-rss:112345678kB, file-rss:456780kB, shmem-rss:901112kB, UID:1001 pgtables:225856kB oom_score_adj:0",)),
    Row(KERNEL, "resources.host-oom", ("oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=python3,pid=812345,uid=1001",)),
    Row(KERNEL, "resources.host-oom", ("oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=0,cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python3,pid=812345,uid=1001",)),
    Row(KERNEL, "resources.host-oom", ("Out of memory (oom_kill_allocating_task): Killed process 812345 (python3) total-vm:244938268kB, anon-rss:112345678kB, file-rss:456780kB, shmem-rss:901112kB",)),
    Row(KERNEL, "resources.host-oom", ("Memory cgroup out of memory: Kill process 812345 (python) score 987 or sacrifice child", "Killed process 812345 (python) total-vm:244938268kB, anon-rss:112345678kB, file-rss:456780kB, shmem-rss:0kB",)),
    Row(KERNEL, "resources.host-oom", ("Task in /slurm/uid_1001/job_77121 killed as a result of limit of /slurm/uid_1001/job_77121", "Killed process 812345 (python) total-vm:244938268kB, anon-rss:112345678kB, file-rss:456780kB, shmem-rss:0kB",)),
    Row(KERNEL, "resources.host-oom", ("Killed process 812345 (python), UID 1001, total-vm:244938268kB, anon-rss:112345678kB, file-rss:456780kB, shmem-rss:0kB",)),
    Row(KERNEL, "resources.host-oom", ("Tasks in /kubepods.slice/kubepods-pod12.slice are going to be killed due to memory.oom.group set",)),
    Row(KERNEL, "resources.host-oom", ("oom_reaper: reaped process 812345 (pt_main_thread), now anon-rss:0kB, file-rss:0kB, shmem-rss:901112kB",)),
    Row(KERNEL, None, ("pt_data_worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",)),
    Row(KERNEL, None, ("python3: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null),cpuset=/,mems_allowed=0-1",)),
)  # fmt: skip
KUBERNETES = (
    Row(KUBE, "resources.host-oom", ("    State:          Waiting", "      Reason:       CrashLoopBackOff", "    Last State:     Terminated", "      Reason:       OOMKilled", "      Exit Code:    137", "      Started:      Mon, 14 Sep 2026 04:10:02 +0000", "      Finished:     Mon, 14 Sep 2026 04:48:45 +0000", "    Restart Count:  3", "    Limits:", "      memory:          900Gi",)),
    Row(KUBE, "resources.process-died", ("    Last State:     Terminated", "      Reason:       Error", "      Exit Code:    137",)),
    Row(KUBE, "resources.host-oom", ("Warning  SystemOOM  kubelet  System OOM encountered, victim process: python3, pid: 812345",)),
    Row(KUBE, "resources.host-oom", ("Warning  OOMKilling  kernel-monitor  Memory cgroup out of memory: Killed process 812345 (python3) total-vm:24kB, anon-rss:1kB, file-rss:4kB, shmem-rss:1kB",)),
    Row(KUBE, "resources.host-oom", ("Warning  Evicted  kubelet  The node was low on resource: memory. Threshold quantity: 100Mi, available: 61204Ki. Container trainer was using 812Gi, request is 0, has larger consumption of memory.",)),
    Row(KUBE, "dataflow.disk-full", ("Warning  Evicted  kubelet  The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 2Gi.",)),
    Row(KUBE, "dataflow.disk-full", ("Warning  Evicted  kubelet  The node was low on resource: inodes. Threshold quantity: 5%, available: 1.",)),
    Row(KUBE, "resources.limits", ("Warning  Evicted  kubelet  The node was low on resource: pids. Threshold quantity: 1000, available: 12.",)),
    Row(KUBE, "dataflow.disk-full", ("Pod ephemeral local storage usage exceeds the total limit of containers 50Gi.",)),
    Row(KUBE, "dataflow.disk-full", ('Usage of EmptyDir volume "scratch" exceeds the limit "64Gi".',)),
    Row(KUBE, "comms.shm-too-small", ('Usage of EmptyDir volume "dshm" exceeds the limit "64Gi".',)),
    Row(KUBE, "resources.preempted", ("Preempted by pod 1f0c2a on node node-07",)),
    Row(KUBE, "resources.preempted", ("  Normal  Preempted  2m  default-scheduler  Preempted by train/urgent-0 on node node-07",)),
    Row(KUBE, "resources.node-failure", ("  Normal  TaintManagerEviction  2m  taint-eviction-controller  Marking for deletion Pod train/worker-3",)),
    Row(KUBE, "resources.preempted", ("  Normal  NodeNotSchedulable  3m  kubelet  Node node-07 status is now: NodeNotSchedulable", "  Normal  TaintManagerEviction  2m  taint-eviction-controller  Marking for deletion Pod train/worker-3", "node/node-07 cordoned", "evicting pod train/worker-3",)),
    Row(KUBE, "resources.node-failure", ("  Warning  NodeNotReady  2m  node-controller  Node is not ready",)),
    Row(KUBE, "resources.node-failure", ("  Ready            Unknown   Mon, 14 Sep 2026 04:48:45 +0000   Mon, 14 Sep 2026 04:49:25 +0000   NodeStatusUnknown   Kubelet stopped posting node status.",)),
    Row(KUBE, "resources.node-failure", ("worker-3   1/1   Unknown   0   3h", "Reason:  NodeLost", "Message: Node node-07 which was running pod worker-3 is unresponsive",)),
    Row(KUBE, "resources.preempted", ("  - type: DisruptionTarget", "    reason: PreemptionByScheduler",)),
    Row(KUBE, "resources.node-failure", ("  - type: DisruptionTarget", "    reason: DeletionByTaintManager",)),
    Row(KUBE, "resources.node-failure", ("  - type: DisruptionTarget", "    reason: DeletionByPodGC",)),
    Row(KUBE, "resources.preempted", ("  - type: DisruptionTarget", "    reason: EvictionByEvictionAPI",)),
    Row(KUBE, "resources.preempted", ("  - type: DisruptionTarget", "    reason: TerminationByKubelet",)),
    Row(KUBE, "comms.rendezvous-failed", ("  Warning  FailedScheduling  2m  default-scheduler  0/12 nodes are available: 4 Insufficient nvidia.com/gpu, 8 node(s) had untolerated taint {a: b}.",)),
    Row(KUBE, None, ("  Warning  UnexpectedAdmissionError  2m  kubelet  Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected",)),
    Row(KUBE, "parameters.environment", ('  Warning  FailedMount  2m  kubelet  MountVolume.SetUp failed for volume "data" : mount failed: exit status 32',)),
    Row(KUBE, "parameters.environment", ('  Warning  Failed  2m  kubelet  Failed to pull image "registry.example/train:9": rpc error: code = NotFound', "  Warning  Failed  2m  kubelet  Error: ImagePullBackOff",)),
    Row(KUBE, "parameters.environment", ("worker-3   0/1     ImagePullBackOff   0   10m",)),
    Row(KUBE, "parameters.environment", ("  Warning  FailedCreatePodSandBox  2m  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network",)),
    Row(KUBE, "parameters.timeout-too-short", ('  Warning  Unhealthy  kubelet  Liveness probe failed: Get "http://10.0.4.7:8000/health": context deadline exceeded', "  Normal  Killing  kubelet  Container x failed liveness probe, will be restarted",)),
    Row(KUBE, "resources.host-oom", ("NAME       READY   STATUS      RESTARTS      AGE", "worker-3   0/1     OOMKilled   2 (5m ago)   10m",)),
    Row(KUBE, "resources.preempted", ("NAME       READY   STATUS    RESTARTS   AGE   IP          NODE      NOMINATED NODE   READINESS GATES", "worker-3   0/1     Evicted   0          10m   <none>   node-07   <none>   <none>",)),
    Row(KUBE, None, ("worker-3   0/1     ContainerStatusUnknown   1   10m",)),
    Row(KUBE, "resources.preempted", ("    Reason:  DeadlineExceeded", "    Message:  Pod was active on the node longer than the specified deadline",)),
)  # fmt: skip
SLURM = (
    Row(SLURM, "resources.host-oom", ("slurmstepd: error: Detected 1 oom_kill event in StepId=77121.0. Some of the step tasks have been OOM Killed.",)),
    Row(SLURM, "resources.host-oom", ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=77121.0 cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",)),
    Row(SLURM, "resources.host-oom", ("slurmstepd: error: Detected 1 oom-kill event(s) in step 77121.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",)),
    Row(SLURM, None, ("slurmstepd: error: Exceeded step memory limit at some point.",)),
    Row(SLURM, None, ("slurmstepd: StepId=77121.0 hit memory+swap limit at least once during execution. This may or may not result in some failure.",)),
    Row(SLURM, "resources.host-oom", ("slurmstepd: error: StepId=77121.0 exceeded memory limit (966367641600 > 943718400000), being killed",)),
    Row(SLURM, "resources.host-oom", ("slurmstepd: error: Exceeded job memory limit",)),
    Row(SLURM, "resources.host-oom", ("srun: error: node-07: task 3: Out Of Memory",)),
    Row(SLURM, "resources.process-died", ("srun: error: node-07: task 3: Killed",)),
    Row(SLURM, "resources.process-died", ("srun: error: node-07: task 3: Aborted (core dumped)",)),
    Row(SLURM, "resources.process-died", ("srun: error: node-07: task 3: Segmentation fault (core dumped)",)),
    Row(SLURM, "resources.process-died", ("srun: error: node-07: task 3: Bus error",)),
    Row(SLURM, "resources.process-died", ("srun: error: node-07: task 3: Exited with exit code 1",)),
    Row(SLURM, None, ("srun: First task exited 60s ago",)),
    Row(SLURM, None, ("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",)),
    Row(SLURM, "resources.preempted", ("slurmstepd: error: *** STEP 77121.0 ON node-07 CANCELLED AT 2026-09-14T04:48:45 DUE TO TIME LIMIT ***",)),
    Row(SLURM, "resources.node-failure", ("slurmstepd: error: *** JOB 77121 ON node-07 CANCELLED AT 2026-09-14T04:48:45 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",)),
    Row(SLURM, "resources.preempted", ("slurmstepd: error: *** STEP 77121.0 ON node-07 CANCELLED AT 2026-09-14T04:48:45 DUE to SIGNAL Terminated ***",)),
    Row(SLURM, None, ("slurmstepd: error: *** STEP 77121.0 ON node-07 FAILED (non-zero exit code or other failure mode) ***",)),
    Row(SLURM, "dataflow.storage-stall", ("slurmstepd: error: *** JOB 77121 STEPD TERMINATED ON node-07 AT 2026-09-14T04:48:45 DUE TO JOB NOT ENDING WITH SIGNALS ***",)),
    Row(SLURM, "dataflow.storage-stall", ("NodeName=node-07 Arch=x86_64 CoresPerSocket=48", "   State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1", "   Reason=Kill task failed [root@2026-09-14T04:48:45]",)),
    Row(SLURM, "resources.node-failure", ("slurmctld: error: Batch JobId=77121 missing from batch node node-07 (not found BatchStartTime after startup)",)),
    Row(SLURM, "resources.node-failure", ("slurmctld: Killing JobId=77121 on failed node node-07",)),
    Row(SLURM, "resources.node-failure", ("slurmctld: error: Nodes node-07 not responding",)),
    Row(SLURM, "parameters.launch-config", ("slurmstepd: error: Unable to create TMPDIR [/scratch/77121]: Permission denied",)),
    Row(SLURM, "parameters.launch-config", ("slurmstepd: error: couldn't chdir to `/home/a/run': No such file or directory: going to /tmp instead",)),
    Row(SLURM, "parameters.launch-config", ("slurmstepd: error: task_prolog failed with status 1",)),
    Row(SLURM, "parameters.launch-config", ("launch failed requeued held",)),
    Row(SLURM, "resources.node-failure", ("77121          pretrain        gpu        llm        512  BOOT_FAIL      1:0 ",)),
    Row(SLURM, None, ("77121          pretrain        gpu        llm        512  SUSPENDED      0:0 ",)),
    Row(SLURM, "resources.preempted", ("77121          pretrain        gpu        llm        512  DEADLINE      0:0 ",)),
    Row(SLURM, "resources.host-oom", ("JobID|State|ExitCode|NodeList", "77121|OUT_OF_MEMORY|0:125|node-[01-08]",)),
    Row(SLURM, "resources.node-failure", ("JobId=77121 JobName=pretrain", "   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)",)),
    Row(SLURM, "resources.node-failure", ("NodeName=node-07 Arch=x86_64 CoresPerSocket=48", "   State=DOWN*+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A", "   BootTime=2026-09-14T04:58:02 SlurmdStartTime=2026-09-14T04:59:12", "   Reason=Not responding [slurm@2026-09-14T04:48:45]",)),
    Row(SLURM, "resources.node-failure", ("REASON               USER      TIMESTAMP           NODELIST", "Not responding       slurm     2026-09-14T04:48:45 node-07",)),
    Row(SLURM, "resources.node-failure", ("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST", "gpu*         up   infinite      1  down* node-07", "gpu*         up   infinite      7  alloc node-[01-06,08]",)),
    Row(SLURM, None, ("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST", "gpu*         up   infinite      1  drain node-07",)),
)  # fmt: skip
LIMITS = (
    Row(RANK, "resources.limits", ("OSError: [Errno 12] Cannot allocate memory",)),
    Row(RANK, "resources.limits", ("BlockingIOError: [Errno 11] Resource temporarily unavailable",)),
    Row(RANK, "resources.limits", ("RuntimeError: can't start new thread",)),
    Row(KERNEL, "resources.limits", ("cgroup: fork rejected by pids controller in /kubepods/pod12",)),
    Row(RANK, "resources.host-oom", ("Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "MemoryError",)),
    Row(RANK, "resources.host-oom", ("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data type float64",)),
    Row(RANK, "resources.host-oom", ("terminate called after throwing an instance of 'std::bad_alloc'",)),
    Row(RANK, "resources.limits", ("node-07:812:901 [3] misc/ibvwrap.cc:156 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory",)),
    Row(RANK, "resources.limits", ("node-07:812:901 [3] misc/ibvwrap.cc:156 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory",)),
    Row(RANK, "resources.limits", ("node-07:812:901 [3] misc/ibvwrap.cc:156 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",)),
    Row(RANK, "resources.limits", ("libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.",)),
    Row(RANK, "resources.limits", ("RuntimeError: CUDA error: OS call failed or operation not supported on this OS",)),
    Row(RANK, "dataflow.disk-full", ("OSError: [Errno 28] No space left on device: '/ckpt/a'",)),
    Row(RANK, "comms.shm-too-small", ("OSError: [Errno 28] No space left on device: '/dev/shm/a'",)),
    Row(RANK, "dataflow.disk-full", ("OSError: [Errno 122] Disk quota exceeded",)),
    Row(RANK, "dataflow.storage-error", ("OSError: [Errno 107] Transport endpoint is not connected: '/mnt/data'",)),
    Row(RANK, "dataflow.storage-error", ("OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/mnt/data'",)),
    Row(RANK, "dataflow.storage-error", ("OSError: [Errno 121] Remote I/O error: '/mnt/data'",)),
    Row(RANK, "dataflow.storage-stall", ("OSError: [Errno 110] Connection timed out: '/mnt/data/a.bin'",)),
)  # fmt: skip
SHARED_MEMORY = (
    Row(KERNEL, "resources.limits", ("VFS: file-max limit 1048576 reached",)),
    Row(RANK, None, ("UserWarning: This DataLoader will create 64 worker processes in total. Our suggested max number of worker in current system is 8, which is smaller than what this DataLoader is going to create.",)),
    Row(RANK, "dataflow.disk-full", ('RuntimeError: torch_shm_manager at "/opt/venv/bin/torch_shm_manager": could not generate a random directory for manager socket',)),
    Row(RANK, "dataflow.rank-exception", ("Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",)),
)  # fmt: skip
MACHINE = (
    Row(KERNEL, None, ("pcieport 0000:5a:01.0: AER: Corrected error message received from 0000:5d:00.0", "nvidia 0000:5d:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", "nvidia 0000:5d:00.0:   device [10de:2330] error status/mask=00000001/0000a000", "nvidia 0000:5d:00.0:    [ 0] RxErr                  (First)",)),
    Row(KERNEL, "resources.pcie-degraded", ("pcieport 0000:5a:01.0: AER: Multiple Correctable error message received from 0000:5d:00.0", "nvidia 0000:5d:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)",) * 120),
    Row(KERNEL, "resources.pcie-degraded", ("nvidia 0000:5d:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",)),
    Row(KERNEL, "resources.pcie-degraded", ("nvidia 0000:5d:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Inaccessible, (Unregistered Agent ID)",)),
    Row(KERNEL, "resources.gpu-lost", ("nvidia 0000:5d:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)", "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",)),
    Row(KERNEL, "resources.pcie-degraded", ("mlx5_core 0000:1a:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)",)),
    Row(KERNEL, "resources.gpu-lost", ("pcieport 0000:5a:01.0: DPC: containment event, status:0x1f01 source:0x0000", "pcieport 0000:5a:01.0: DPC: unmasked uncorrectable error detected",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("pcieport 0000:5a:01.0: DPC: containment event, status:0x1f01 source:0x0000", "mlx5_core 0000:1a:00.0: mlx5_pci_err_detected Device state = 1 pci_status: 1. Enter", "mlx5_core 0000:1a:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",)),
    Row(KERNEL, "resources.gpu-lost", ("pcieport 0000:5a:01.0: pciehp: Slot(7): Card not present",)),
    Row(KERNEL, "resources.node-failure", ("{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4", "{1}[Hardware Error]: event severity: fatal", "{1}[Hardware Error]:  Error 0, type: fatal", "{1}[Hardware Error]:   section_type: memory error",)),
    Row(KERNEL, "resources.pcie-degraded", ("{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4", "{1}[Hardware Error]: event severity: fatal", "{1}[Hardware Error]:  Error 0, type: fatal", "{1}[Hardware Error]:   section_type: PCIe error", "{1}[Hardware Error]:   device_id: 0000:5d:00.0",)),
    Row(KERNEL, "resources.pcie-degraded", ("{1}[Hardware Error]: event severity: recoverable", "{1}[Hardware Error]:  Error 0, type: recoverable", "{1}[Hardware Error]:   section_type: PCIe error",)),
    Row(KERNEL, None, ("{1}[Hardware Error]: event severity: corrected", "{1}[Hardware Error]:   section_type: memory error",)),
    Row(KERNEL, None, ("mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: 8c00004000010091", "mce: [Hardware Error]: Machine check events logged",)),
    Row(KERNEL, "resources.node-failure", ("Kernel panic - not syncing: Fatal machine check",)),
    Row(KERNEL, None, ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1 offset:0x2 grain:32 syndrome:0x0)",)),
    Row(KERNEL, None, ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1 offset:0x2 grain:32 syndrome:0x0)",) * 200),
    Row(KERNEL, "resources.node-failure", ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)",)),
    Row(KERNEL, "resources.node-failure", ("watchdog: BUG: soft lockup - CPU#23 stuck for 26s! [python3:81234]", "watchdog: BUG: soft lockup - CPU#23 stuck for 52s! [python3:81234]",)),
    Row(KERNEL, "resources.gpu-fault", ("watchdog: BUG: soft lockup - CPU#23 stuck for 26s! [python3:81234]", "Call Trace:", " <TASK>", " _nv041234rm+0x12/0x30 [nvidia]", " os_acquire_rwlock_read+0x1f/0x30 [nvidia]", "watchdog: BUG: soft lockup - CPU#23 stuck for 52s! [python3:81234]",)),
    Row(KERNEL, "resources.node-failure", ("watchdog: Watchdog detected hard LOCKUP on cpu 23",)),
    Row(KERNEL, "resources.node-failure", ("rcu: INFO: rcu_sched self-detected stall on CPU", "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",)),
    Row(KERNEL, "dataflow.storage-stall", ("INFO: task pt_main_thread:81234 blocked for more than 122 seconds.", "Call Trace:", " <TASK>", " __schedule+0x34d/0x9e0", " nfs_wait_bit_killable+0x1f/0x60 [nfs]",)),
    Row(KERNEL, "resources.gpu-fault", ("INFO: task pt_main_thread:81234 blocked for more than 122 seconds.", "      Tainted: P           OE     6.1.0-21-amd64", "Call Trace:", " <TASK>", " __schedule+0x34d/0x9e0", " os_acquire_rwlock_write+0x1f/0x30 [nvidia]", " _nv037922rm+0x10/0x30 [nvidia]",)),
    Row(KERNEL, "resources.gpu-fault", ("INFO: task pt_main_thread:81234 blocked for more than 122 seconds.", "Call Trace:", " <TASK>", " __schedule+0x34d/0x9e0", " uvm_va_space_mm_enabled+0x1f/0x30 [nvidia_uvm]",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("INFO: task pt_main_thread:81234 blocked for more than 122 seconds.", "Call Trace:", " <TASK>", " __schedule+0x34d/0x9e0", " mlx5_cmd_exec+0x1f/0x30 [mlx5_core]", " ib_dereg_mr_user+0x1/0x2 [ib_core]",)),
    Row(KERNEL, "resources.cpu-contention", ("CPU12: Core temperature above threshold, cpu clock throttled (total events = 91)",) * 4),
    Row(KERNEL, "resources.cpu-contention", ("mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 91)",) * 4),
    Row(KERNEL, None, ("CPU12: Core temperature/speed normal",) * 4),
    Row(KERNEL, None, ("clocksource: timekeeping watchdog on CPU5: Marking clocksource 'tsc' as unstable because the skew is too large:",)),
    Row("sel-node-07.txt", "resources.gpu-throttled", ("   1 | 09/14/2026 | 04:48:45 | Power Supply PSU2 | Power Supply AC lost | Asserted",)),
    Row("sel-node-07.txt", "resources.gpu-throttled", ("   1 | 09/14/2026 | 04:48:45 | Fan FAN4 | Lower Critical going low  | Asserted",)),
    Row(KERNEL, "resources.node-failure", ("Kernel panic - not syncing: hung_task: blocked tasks",)),
    Row("messages-node-07", None, ("Sep 14 04:40:45 node-07 systemd[1]: Started Session 12.", "Sep 14 04:58:45 node-07 kernel: Linux version 6.1.0-21-amd64 (debian-kernel@lists.debian.org)", "Sep 14 04:58:45 node-07 kernel: Command line: BOOT_IMAGE=/vmlinuz",)),
    Row(KERNEL, "resources.process-died", ("python3[812]: segfault at 0 ip 00007f12a4 sp 00007ffd12 error 4 in libnccl.so.2[7f12a0+1000]",)),
    Row(KERNEL, "resources.process-died", ("traps: python3[812] general protection fault ip:7f12a4 sp:7ffd12 error:0 in libfoo.so[7f12a0+1000]",)),
    Row(KERNEL, "parameters.environment", ("traps: python3[812] trap invalid opcode ip:7f12a4 sp:7ffd12 error:0 in libfoo.so[7f12a0+1000]",)),
)  # fmt: skip
STORAGE = (
    Row(KERNEL, "dataflow.storage-stall", ("nfs: server 10.0.3.4 not responding, still trying",)),
    Row(KERNEL, "dataflow.storage-stall", ("nfs: server 10.0.3.4 not responding, timed out",)),
    Row(KERNEL, "dataflow.storage-error", ("NFS: nfs4_reclaim_open_state: Lock reclaim failed!",)),
    Row(KERNEL, "dataflow.storage-stall", ("LustreError: 11-0: fs0-OST0003-osc-ffff8: operation ost_write to node 10.0.1.7@o2ib failed: rc = -107",)),
    Row(KERNEL, "dataflow.storage-stall", ("Lustre: fs0-OST0003-osc-ffff8: Connection to fs0-OST0003 (at 10.0.1.7@o2ib) was lost; in progress operations using this service will wait for recovery to complete",)),
    Row(KERNEL, "dataflow.storage-error", ("LustreError: 167-0: fs0-OST0003-osc-ffff8: This client was evicted by fs0-OST0003; in progress operations using this service will fail.",)),
    Row(KERNEL, "dataflow.storage-stall", ("Lustre: 8123:0:(client.c:2289:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply: [sent 1789361000/real 1789361000]  req@ffff8 x1/t0(0) o4->fs0-OST0003-osc-ffff8@10.0.1.7@o2ib:6/4 lens 488/448 e 0 to 1 dl 1789361100 ref 2",)),
    Row("mmfs-node-07.log", "dataflow.storage-error", ("2026-09-14_04:48:45.123+0000: [E] The current file system manager failed and no new manager will be appointed. This may cause nodes mounting the file system to experience mount failures.",)),
    Row(KERNEL, "dataflow.storage-error", ("mmfs: [E] The current file system manager failed and no new manager will be appointed.",)),
    Row(KERNEL, "dataflow.storage-error", ("libceph: osd12 (1)10.0.0.9:6801 socket closed (con state OPEN)",)),
    Row(KERNEL, "dataflow.storage-stall", ("ceph: mds0 hung",)),
    Row(KERNEL, "dataflow.storage-stall", ("ceph: mds0 caps stale",)),
    Row(RANK, "dataflow.storage-error", ("ls: cannot access '/mnt/s3': Transport endpoint is not connected",)),
    Row(KERNEL, "dataflow.storage-stall", ("nvme nvme2: I/O 123 QID 4 timeout, aborting",)),
    Row(KERNEL, "dataflow.storage-stall", ("nvme nvme2: I/O 123 (Read) QID 4 timeout, aborting",)),
    Row(KERNEL, "dataflow.storage-stall", ("nvme nvme2: I/O tag 123 (007b) opcode 0x2 (Read) QID 4 timeout, aborting req_op:READ(0) size:131072",)),
    Row(KERNEL, "dataflow.storage-stall", ("nvme nvme2: I/O 123 QID 4 timeout, reset controller",)),
    Row(KERNEL, "dataflow.storage-stall", ("nvme nvme2: I/O 123 QID 4 timeout, disable controller",)),
    Row(KERNEL, "dataflow.storage-stall", ("nvme nvme2: I/O 123 QID 4 timeout, completion polled",)),
    Row(KERNEL, "dataflow.storage-stall", ("nvme nvme2: Disabling device after reset failure: -19",)),
    Row(KERNEL, "dataflow.storage-stall", ("nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",)),
    Row(KERNEL, "dataflow.storage-stall", ("block nvme2n1: no available path - failing I/O",)),
    Row(KERNEL, "dataflow.storage-error", ("blk_update_request: I/O error, dev sda, sector 81234 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 0",)),
    Row(KERNEL, "dataflow.storage-error", ("I/O error, dev nvme0n1, sector 81234 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",)),
    Row(KERNEL, "dataflow.storage-error", ("critical medium error, dev sda, sector 81234 op 0x0:(READ)",)),
    Row(KERNEL, "dataflow.storage-error", ("Buffer I/O error on dev sda1, logical block 123, async page read",)),
    Row(KERNEL, "dataflow.storage-error", ("EXT4-fs error (device nvme0n1p2): ext4_find_entry:1463: inode #2: comm python3: reading directory lblock 0",)),
    Row(KERNEL, "dataflow.storage-error", ("EXT4-fs (sda1): Remounting filesystem read-only",)),
    Row(KERNEL, "dataflow.storage-error", ('XFS (nvme0n1): metadata I/O error in "xfs_da_read_buf+0x9e/0xf0 [xfs]" at daddr 0x8 len 8 error 5',)),
    Row(KERNEL, "dataflow.storage-error", ("XFS (nvme0n1): log I/O error -5",)),
    Row(KERNEL, "dataflow.storage-error", ("md/raid1:md0: Disk failure on sda1, disabling device.",)),
    Row(KERNEL, "dataflow.storage-error", ("md/raid10:md127: Disk failure on nvme3n1, disabling device.",)),
    Row(KERNEL, "dataflow.storage-error", ("python3: attempt to access beyond end of device", "sda1: rw=0, want=812, limit=800",)),
    Row(RANK, "dataflow.storage-error", ("OSError: [Errno 30] Read-only file system: '/data/a'",)),
)  # fmt: skip
ADAPTERS = (
    Row(KERNEL, None, ("mlx5_core 0000:1a:00.0 ens1np0: Link down",)),
    Row(KERNEL, None, ("mlx5_core 0000:1a:00.0 mlx5_0: port 1 state change to down",)),
    Row(KERNEL, "comms.link-down", ("mlx5_core 0000:1a:00.0: Port module event: module 0, Cable unplugged",)),
    Row(KERNEL, "comms.link-down", ("mlx5_core 0000:1a:00.0: Port module event[error]: module 0, Cable error, High Temperature",)),
    Row(KERNEL, None, ("mlx5_core 0000:1a:00.0: Detected insufficient power on the PCIe slot (27W).", "mlx5_core 0000:1a:00.0: PCIe slot power capability was not advertised.",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("mlx5_core 0000:1a:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",)),
    Row(KERNEL, None, ("mlx5_core 0000:1a:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:", "mlx5_core 0000:1a:00.0: health recovery succeeded",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("mlx5_core 0000:1a:00.0: Driver is in error state. Unloading",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("mlx5_core 0000:1a:00.0: PCI slot is unavailable",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("mlx5_core 0000:1a:00.0: wait_func:1137:(pid 812): CREATE_MKEY(0x200) timeout. Will cause a leak of a command resource",)),
    Row(KERNEL, None, ("mlx5_core 0000:1a:00.0: mlx5_cmd_out_err:811:(pid 812): ACCESS_REG(0x805) op_mod(0x1) failed, status bad parameter(0x3), syndrome (0x15c356), err(-22)",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("mlx5_core 0000:1a:00.0 ens1np0: TX timeout detected",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("mlx5_core 0000:1a:00.0 ens1np0: TX timeout on queue: 5, SQ: 0x11ab, CQ: 0x1c, SQ Cons: 0x1 SQ Prod: 0x2, usecs since last trans: 18000000",)),
    Row(KERNEL, "comms.link-degraded", ("mlx5_core 0000:1a:00.0: temp_warn:165:(pid 0): High temperature on sensors with bit set 0 1",)),
    Row(KERNEL, None, ("infiniband mlx5_0: dump_cqe:272:(pid 812): dump error cqe", "00000000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",)),
    Row(KERNEL, "comms.gdr-unavailable", ("infiniband mlx5_0: reg_mr_callback:104:(pid 812): async reg mr failed. status -22",)),
    Row(KERNEL, "comms.p2p-blocked", ("DMAR: [DMA Write NO_PASID] Request device [1a:00.0] fault addr 0x7f000 [fault reason 0x05] PTE Write access is not set",)),
    Row(KERNEL, "comms.p2p-blocked", ("AMD-Vi: Event logged [IO_PAGE_FAULT device=1a:00.0 domain=0x001d address=0xfd000000 flags=0x0020]",)),
    Row(KERNEL, None, ("bnxt_en 0000:1a:00.0 ens1np0: NIC Link is Down",)),
    Row(KERNEL, None, ("ice 0000:1a:00.0 ens1f0: NIC Link is Down",)),
    Row(KERNEL, "comms.rdma-device-unusable", ("NETDEV WATCHDOG: ens1f0 (ice): transmit queue 5 timed out",)),
)  # fmt: skip
ENDS = (
    Row("metadata.json", "resources.preempted", ('{"action":"terminate","time":"2026-09-14T04:50:00Z"}',)),
    Row(KUBE, "resources.preempted", ("2026/09/14 04:48:45 INF Received ITN event kind=SPOT_ITN node=node-07", "2026-09-14T04:48:45Z WRN Spot ITN received. Instance will be interrupted at 2026-09-14T04:50:00Z",)),
    Row(KUBE, "resources.preempted", ("2026-09-14T04:48:45Z compute.instances.preempted node-07",)),
    Row(KERNEL, None, ("ACPI: Power Button [PWRF]",)),
    Row("messages-node-07", None, ("Sep 14 04:48:45 node-07 systemd-logind[812]: Power key pressed.", "Sep 14 04:48:45 node-07 systemd-logind[812]: Powering off...",)),
    Row(KUBE, "resources.preempted", ('{"Events":[{"EventId":"1","EventType":"Preempt","Resources":["node-07"],"EventStatus":"Scheduled"}]}',)),
    Row("messages-node-07", None, ("Sep 14 04:48:45 node-07 systemd-logind[812]: The system is going down for reboot NOW!",)),
    Row(KUBE, "resources.preempted", ("    Reason:   NodeShutdown", "    Message:  Pod was terminated in response to imminent node shutdown.",)),
)  # fmt: skip

ROWS = MEMORY + KUBERNETES + SLURM + SHARED_MEMORY + LIMITS + MACHINE + STORAGE + ADAPTERS + ENDS


def diagnosed(row: Row) -> api.Report:
    stamp = "[Mon Sep 14 04:48:45 2026] " if row.file == KERNEL else ""
    data = "".join(f"{stamp}{line}\n" for line in row.lines).encode()
    return api.run_sources([Source(row.file, None, len(data), data=data)], api.load_knowledge())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.lines[0][:70])
def test_the_line_alone_shows_its_cause(row):
    roots = [one for one in diagnosed(row).findings if one.role == "root"]
    if row.cause is None:
        assert roots == []
        return
    assert roots[0].cause == row.cause
    if row.cause in OPEN:
        assert roots[0].confidence <= 0.6
    if row.file == KERNEL and row.cause != "parameters.environment":
        assert roots[0].culprit.hosts == ["node-07"]
