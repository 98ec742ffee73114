"""Slurm and Kubernetes: why the scheduler ended a step, task, container or pod.

::

    slurmstepd: error: *** STEP 77121.0 ON node-07 CANCELLED AT 2026-09-14T04:48:45 DUE TO TIME LIMIT ***
    slurmstepd: error: Detected 1 oom_kill event in StepId=77121.0. Some of the step tasks have been OOM Killed.

    77121      pretrain   gpu   llm   512   OUT_OF_ME+   0:125

``slurm.job_state`` is a line of ``sacct``, ``squeue`` or ``scontrol`` with its ``state`` in full.
``slurm.cancelled`` has ``reason``: time-limit, preemption, node-failure, requeue, task-failure, user
(a signal or ``scancel``, often of somebody who saw it fail), else other; the facts add ``stalled``,
how long the job had stood still. Ends of single tasks are ``launcher.exit``. Containers exit with 128 + signal.

*Empty*: the scheduler ended nothing. *Cut off*: a line cut short is not recognised.
"""

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import short_host, signal_of_exit
from diagnose.parsers.kubernetes_events import name_object

_SLURM = "Slurm 20.02 to 26.11"

_REASONS = (
    ("TIME LIMIT", "time-limit"),
    ("PREEMPTION", "preemption"),
    ("NODE FAILURE", "node-failure"),
    ("REQUEUE", "requeue"),
    ("TASK FAILURE", "task-failure"),
    ("SIGNAL", "user"),
)
_STATES = (
    "COMPLETED", "RUNNING", "PENDING", "FAILED", "CANCELLED", "TIMEOUT", "DEADLINE", "PREEMPTED",
    "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "REQUEUED",
)  # fmt: skip
_FINE_STATES = ("COMPLETED", "RUNNING", "PENDING")
_STATE = "COMPLETED|RUNNING|PENDING|FAILED|CANCELLED|TIMEOUT|DEADLINE|PREEMPTED|OUT_OF_MEM?O?R?Y?|NODE_FAIL|BOOT_FAIL|REQUEUED"
"""In full or as wide as a column of sacct, ten characters with the plus sign."""


def _complete(event: Event, line: Line) -> Event:
    fields = event.fields
    if event.host is not None and ("[" in event.host or "," in event.host):
        fields["hosts"], event.host = event.host, None
    if event.name == "slurm.cancelled":
        why = str(fields.pop("why", "") or "")
        reason = next((name for words, name in _REASONS if words in why.upper()), None)
        fields["reason"] = reason or ("other" if why else "user")
        followed = fields["reason"] in ("task-failure", "user")
        event.nature = Nature.EFFECT if followed else Nature.ERROR
        job, _, step = str(fields.pop("id")).partition(".")
        fields["job"], fields["step"] = job, step or ("batch" if fields["kind"] == "JOB" else None)
    elif event.name == "slurm.job_state":
        # sacct cuts names at the width of their column and marks that with a plus sign
        known = next(name for name in _STATES if name.startswith(str(fields["state"])))
        fields["state"] = known
        if known in _FINE_STATES:
            event.nature = Nature.MEASUREMENT
        elif known in ("CANCELLED", "FAILED"):
            event.nature = Nature.EFFECT
    elif event.name == "k8s.container_terminated":
        code = fields.get("exit_code")
        fields["signal"] = signal_of_exit(code) if isinstance(code, int) else None
    if event.name.startswith("k8s."):
        name_object(event, line)
    return event


def _slurm(
    event: str, regex: str, nature: Nature, source: str, sample: str, **constants: str
) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=nature,
        source=f"{_SLURM}, {source}",
        sample=sample,
        types={"host": short_host, "code": int, "events": int},
        constants=constants,
    )


SLURM = LineParser(
    name="slurm",
    title="Slurm: cancelled steps, node failures, out of memory",
    patterns=(
        _slurm("slurm.cancelled", r"\*\*\* (?P<kind>JOB|STEP) (?P<id>[\d.+]+) ON (?P<host>\S+) CANCELLED AT (?P<at>\S+)(?: DUE (?:TO|to) (?P<why>[^*]{1,120}))? \*\*\*",
               Nature.ERROR, "src/slurmd/slurmstepd/req.c",
               "slurmstepd: error: *** STEP 77121.0 ON node-07 CANCELLED AT 2026-09-14T04:48:45 DUE TO TIME LIMIT ***"),
        _slurm("slurm.job_state", rf"^\s*(?P<job>\d+(?:_\d+)?)(?:\.(?P<step>[\w+]+))?[ |](?:.{{0,200}}[ |])?(?P<state>{_STATE})(?: by (?P<by>\d+))?(?:[+ |]|$)",
               Nature.ERROR, "src/sacct and src/squeue",
               "77121          pretrain        gpu        llm        512 OUT_OF_ME+    0:125 "),
        _slurm("slurm.job_state", rf"\b(?:Job)?State=(?P<state>{_STATE})\b(?: Reason=(?P<message>\S+))?",
               Nature.ERROR, "src/api/job_info.c, as scontrol show job prints it",
               "   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)"),
        _slurm("slurm.unkillable", r"STEPD TERMINATED ON (?P<host>\S+) AT \S+ DUE TO JOB NOT ENDING WITH SIGNALS",
               Nature.ERROR, "src/slurmd/slurmstepd/mgr.c: a process in uninterruptible sleep",
               "slurmstepd: error: *** JOB 77121 STEPD TERMINATED ON node-07 AT 2026-09-14T04:48:45 DUE TO JOB NOT ENDING WITH SIGNALS ***"),
        _slurm("slurm.node_failure", r"error: Node failure on (?P<host>[\w.,\[\]-]+)",
               Nature.ERROR, "src/srun, src/salloc and src/api: each client that waits for an allocation or step", "srun: error: Node failure on node-07"),
        _slurm("slurm.node_failure", r"Killing JobId=(?P<job>\d+) on failed node (?P<host>[\w.-]+)",
               Nature.ERROR, "src/slurmctld/job_mgr.c", "slurmctld: Killing JobId=77121 on failed node node-07"),
        _slurm("slurm.node_failure", r"error: Nodes (?P<host>[\w.,\[\]-]+) not responding",
               Nature.ERROR, "src/slurmctld/ping_nodes.c", "slurmctld: error: Nodes node-07 not responding"),
        _slurm("slurm.oom_kill", r"Detected (?P<events>\d+) oom[-_]kill events?(?:\(s\))? in (?:StepId=|step )(?P<job>\d+)\.(?P<step>[\w+]+)",
               Nature.ERROR, "src/plugins/task/cgroup/task_cgroup_memory.c",
               "slurmstepd: error: Detected 1 oom_kill event in StepId=77121.0. Some of the step tasks have been OOM Killed."),
        _slurm("slurm.oom_kill", r"(?:StepId=|[Ss]tep |Job )(?P<job>\d+)(?:\.(?P<step>\w+))? exceeded (?:job |step )?memory limit",
               Nature.ERROR, "src/interfaces/jobacct_gather.c",
               "slurmstepd: error: StepId=77121.0 exceeded memory limit (966367641600 > 943718400000), being killed"),
        _slurm("slurm.step_aborted", r"srun: Job step aborted|srun: Force Terminated (?:StepId=|job step )(?P<job>\d+)|Timed out waiting for job step to complete",
               Nature.TEARDOWN, "src/srun/libsrun/launch.c",
               "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."),
        _slurm("slurm.start_failed", r"(?P<message>Unable to create TMPDIR|couldn't chdir to|task_prolog failed|launch failed requeued held)",
               Nature.ERROR, "src/slurmd/slurmstepd", "slurmstepd: error: couldn't chdir to `/home/a/run': No such file or directory"),
    ),
    refine=_complete,
)  # fmt: skip


_PRESSURE = {"DiskPressure": "ephemeral-storage", "MemoryPressure": "memory", "PIDPressure": "pids"}
"""The kubelet's conditions of a node, by the resource that ran short."""


def _resource(text: str) -> str:
    return _PRESSURE.get(text, text)


def _kubernetes(event: str, regex: str, nature: Nature, sample: str, **constants: str) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=nature,
        source="Kubernetes 1.2x, kubectl describe and kubelet events",
        sample=sample,
        types={"exit_code": int, "host": short_host, "resource": _resource},
        constants=constants,
    )


_TERMINATED = "Reason: OOMKilled, Exit Code: 137"
KUBERNETES = LineParser(
    name="kubernetes-end",
    title="Kubernetes: how a container or pod ended",
    patterns=(
        _kubernetes("k8s.container_terminated", r"^\s*(?:[Rr]eason|\"reason\"):\s+\"?(?P<reason>OOMKilled|ContainerCannotRun|DeadlineExceeded|ContainerStatusUnknown)\b(?:, Exit Code: (?P<exit_code>\d+))?",
                    Nature.ERROR, _TERMINATED),
        _kubernetes("k8s.container_terminated", r"(?:[,;{(\[\"]\s*|[:=]\s?\"?[\w./-]{1,80}\"?,?\s)\"?(?:[Rr]eason|[Ss]tatus)\"?[:=]\s*\"?(?P<reason>OOMKilled)\b",
                    Nature.ERROR, "containers: - name: app reason: OOMKilled message: worker"),
        _kubernetes("k8s.container_terminated", r"(?:\b(?:was|been|got|is|due to|because of|[Tt]erminated(?::| with)?) |\()(?P<reason>OOMKilled)\b",
                    Nature.ERROR, "pod worker-3 terminated: exit code 137 (OOMKilled)"),
        _kubernetes("k8s.container_terminated", r"\"?OOMKilled\"?[:=]\s?(?:true|True)\b",
                    Nature.ERROR, '            "OOMKilled": true,', reason="OOMKilled"),
        _kubernetes("k8s.container_terminated", r"^\s*Exit Code:\s+(?P<exit_code>[1-9]\d*)$",
                    Nature.EFFECT, "      Exit Code:    137"),
        _kubernetes("k8s.container_terminated", r"^(?P<pod>[\w.-]+) +\d+/\d+ +(?P<reason>OOMKilled|ContainerStatusUnknown) ",
                    Nature.ERROR, "worker-3   0/1     OOMKilled   2 (5m ago)   10m"),
        _kubernetes("k8s.evicted", r"The node was low on resource: (?P<resource>[\w-]+)\.",
                    Nature.ERROR, "Warning  Evicted  kubelet  The node was low on resource: memory. Threshold quantity: 100Mi, available: 61204Ki."),
        _kubernetes("k8s.evicted", r"The node had condition: \[(?P<resource>\w+Pressure)",
                    Nature.ERROR, "Pod The node had condition: [DiskPressure]."),
        _kubernetes("k8s.evicted", r"Pod ephemeral local storage usage exceeds the total limit",
                    Nature.ERROR, "Pod ephemeral local storage usage exceeds the total limit of containers 50Gi.", resource="ephemeral-storage"),
        _kubernetes("k8s.evicted", r"Usage of EmptyDir volume \"(?P<volume>[^\"]+)\" exceeds the limit",
                    Nature.ERROR, 'Usage of EmptyDir volume "dshm" exceeds the limit "64Gi".', resource="volume"),
        _kubernetes("k8s.system_oom", r"System OOM encountered, victim process: (?P<process>[^,]+), pid: (?P<pid>\d+)",
                    Nature.ERROR, "Warning  SystemOOM  kubelet  System OOM encountered, victim process: python3, pid: 812345"),
        _kubernetes("k8s.preempted", r"Preempted by (?:pod (?P<by>\S+) on node (?P<host>\S+)|[\w.-]+/[\w.-]+)|PreemptionByScheduler",
                    Nature.ERROR, "Preempted by pod 1f0c2a on node node-07"),
        _kubernetes("k8s.node_lost", r"TaintManagerEviction|DeletionByTaintManager|NodeNotReady .{0,100}?Node is not ready|Node is shutting down|imminent node shutdown",
                    Nature.ERROR, "Normal  TaintManagerEviction  Marking for deletion Pod train/worker-3"),
        _kubernetes("k8s.probe_failed", r"(?P<probe>Liveness|Startup) probe failed: ?(?P<message>.*)",
                    Nature.EFFECT, 'Warning  Unhealthy  kubelet  Liveness probe failed: Get "http://10.0.4.7:8000/health": context deadline exceeded'),
        _kubernetes("k8s.liveness_killed", r"Container (?P<container>\S+) failed (?P<probe>liveness|startup) probe, will be restarted",
                    Nature.ERROR, "Normal  Killing  kubelet  Container trainer failed liveness probe, will be restarted"),
        _kubernetes("k8s.not_scheduled", r"FailedScheduling .{0,200}nodes are available: (?P<message>.*)",
                    Nature.ERROR, "Warning  FailedScheduling  default-scheduler  0/12 nodes are available: 4 Insufficient nvidia.com/gpu."),
    ),
    refine=_complete,
)  # fmt: skip

PARSERS = (SLURM, KUBERNETES)
