"""The kernel's out-of-memory killer: dmesg, ``journalctl -k`` and /var/log/messages.

::

    pt_data_worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
    memory: usage 943718400kB, limit 943718400kB, failcnt 9182
    Tasks state (memory values in pages):
    [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
    [ 812345]  1001 812345 61234567 28311552 231276544        0             0 pt_main_thread
    oom-kill:constraint=CONSTRAINT_MEMCG,...,task=pt_main_thread,pid=812345,uid=1001
    Memory cgroup out of memory: Killed process 812345 (pt_main_thread) total-vm:244938268kB, ...

``kernel.oom_kill`` names the process that was killed; the one that ``invoked oom-killer`` only asked
for memory. ``constraint`` is none (the whole machine), memcg (the limit of a control group), cpuset
or memory_policy (one NUMA node). Process ids are the host's; training logs in containers print
others. Slurm numbers its tasks in the control group's path: ``task_3`` is local rank 3 where each
GPU has a task; ``task_0`` may also be a launcher's, with all ranks below it, and says nothing.

*Empty*: no memory ran out, or dmesg begins after it. *Cut off*: a line cut short keeps what stands
before the cut; any one of the lines above names the victim.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Note, Pattern, Record, make_event
from diagnose.parsers.convert import size

LINUX = "Linux 5.4 to 6.12"

PAGE = 4096
"""Bytes of a page; the task table counts in pages."""

_RSS = r"total-vm:(?P<total_vm>\d+kB), anon-rss:(?P<anon_rss>\d+kB)(?:, file-rss:(?P<file_rss>\d+kB))?(?:, shmem-rss:(?P<shmem_rss>\d+kB))?"
_SIZES = dict.fromkeys(("total_vm", "anon_rss", "file_rss", "shmem_rss"), size)
_KILL = "mm/oom_kill.c, __oom_kill_process"
_OOM_FIELDS = (
    "process", "constraint", "memcg", "task_memcg", "total_vm", "anon_rss", "file_rss", "shmem_rss",
)  # fmt: skip
_TASK = LazyPattern(r"/task_([1-9]\d{0,2})$")


def _complete(event: Event, line: Line) -> Event:
    if event.name != "kernel.oom_kill":
        return event
    fields = event.fields
    scope = str(fields.pop("scope", ""))
    if scope:
        fields["constraint"] = "memcg" if scope.startswith("Memory cgroup") else "none"
    event.fields = {name: fields.get(name) for name in _OOM_FIELDS}
    task = _TASK.search(str(event.fields["task_memcg"]))
    if task is not None and event.local_rank is None:
        event.local_rank = int(task[1])
    return event


def _constraint(text: str) -> str:
    return text.removeprefix("CONSTRAINT_").lower()


LINES = LineParser(
    name="kernel-oom",
    title="the kernel's out-of-memory killer",
    patterns=(
        Pattern(
            event="kernel.oom_kill",
            regex=rf"(?P<scope>Memory cgroup out of memory|Out of memory[\w ()]*?): Kill(?:ed)? process (?P<pid>\d+) \((?P<process>[^)]+)\)(?:.{{0,60}}?{_RSS})?",
            nature=Nature.ERROR,
            source=f"Linux 3.10 to 6.12, {_KILL}",
            sample="Memory cgroup out of memory: Killed process 812345 (pt_main_thread) total-vm:244938268kB, anon-rss:112345678kB, file-rss:456780kB, shmem-rss:901112kB, UID:1001 pgtables:225856kB oom_score_adj:0",
            types=_SIZES,
        ),
        Pattern(
            event="kernel.oom_kill",
            regex=rf"^Killed process (?P<pid>\d+),? (?:UID \d+, )?\((?P<process>[^)]+)\),? (?:UID \d+, )?{_RSS}",
            nature=Nature.ERROR,
            source=f"Linux 2.6.32 to 4.18, {_KILL}: the second line of a kill",
            sample="Killed process 812345 (python) total-vm:244938268kB, anon-rss:112345678kB, file-rss:456780kB, shmem-rss:0kB",
            types=_SIZES,
        ),
        Pattern(
            event="kernel.oom_kill",
            regex=r"oom-kill:constraint=(?P<constraint>\w+),(?:.{0,400}?oom_memcg=(?P<memcg>[^,]*),)?(?:.{0,400}?task_memcg=(?P<task_memcg>[^,]*),)?task=(?P<process>[^,]+),pid=(?P<pid>\d+)",
            nature=Nature.ERROR,
            source="Linux 4.19 to 6.12, mm/oom_kill.c, dump_oom_summary",
            sample="oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job_77121,mems_allowed=0-1,oom_memcg=/system.slice/slurmstepd.scope/job_77121,task_memcg=/system.slice/slurmstepd.scope/job_77121/step_0/user/task_3,task=pt_main_thread,pid=812345,uid=1001",
            types={"constraint": _constraint},
        ),
        Pattern(
            event="kernel.oom_kill",
            regex=r"oom_reaper: reaped process (?P<pid>\d+) \((?P<process>[^)]+)\)",
            nature=Nature.ERROR,
            source="Linux 4.6 to 6.12, mm/oom_kill.c, oom_reap_task: the memory of a victim is taken back",
            sample="oom_reaper: reaped process 812345 (pt_main_thread), now anon-rss:0kB, file-rss:0kB, shmem-rss:901112kB",
        ),
        Pattern(
            event="kernel.memcg_oom",
            regex=r"memory: usage (?P<usage>\d+kB), limit (?P<limit>\d+kB), failcnt (?P<failcnt>\d+)",
            nature=Nature.MEASUREMENT,
            source=f"{LINUX}, mm/memcontrol.c, mem_cgroup_print_oom_meminfo",
            sample="memory: usage 943718400kB, limit 943718400kB, failcnt 9182",
            types={"usage": size, "limit": size, "failcnt": int},
        ),
        Pattern(
            event="kernel.memcg_oom",
            regex=r"Tasks in (?P<memcg>\S+) are going to be killed due to memory\.oom\.group set",
            nature=Nature.ERROR,
            source=f"{LINUX}, mm/memcontrol.c",
            sample="Tasks in /kubepods/pod12 are going to be killed due to memory.oom.group set",
        ),
        Pattern(
            event="kernel.memcg_oom",
            regex=r"Task in (?P<task_memcg>\S+) killed as a result of limit of (?P<memcg>\S+)",
            nature=Nature.ERROR,
            source="Linux 2.6.32 to 4.18, mm/memcontrol.c",
            sample="Task in /slurm/uid_1001/job_77121/step_0 killed as a result of limit of /slurm/uid_1001/job_77121",
        ),
        Pattern(
            event="kernel.memory_events",
            regex=r"^oom_kill (?P<kills>\d+)$",
            nature=Nature.MEASUREMENT,
            source=f"{LINUX}, /sys/fs/cgroup/memory.events: kills since the control group was made",
            sample="oom_kill 2",
            types={"kills": int},
        ),
        Pattern(
            event="kernel.page_allocation_failed",
            regex=r"(?P<process>\S+): page allocation failure: order:(?P<order>\d+), mode:",
            nature=Nature.EFFECT,
            source=f"{LINUX}, mm/page_alloc.c, warn_alloc: fragmented or used-up memory, which the caller may survive",
            sample="python3: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null)",
            types={"order": int},
        ),
        Pattern(
            event="kernel.fork_rejected",
            regex=r"cgroup: fork rejected by pids controller in (?P<cgroup>\S+)",
            nature=Nature.ERROR,
            source=f"{LINUX}, kernel/cgroup/pids.c",
            sample="cgroup: fork rejected by pids controller in /kubepods/pod12",
        ),
    ),
    refine=_complete,
)

_HEAD = LazyPattern(r"\[ *pid *\] +(?P<names>uid +tgid +total_vm +rss .*\bname)$")
_ROW = LazyPattern(r"\[ *(?P<pid>\d+)\] +(?P<rest>\d+ +\d+ .*)$")


def _read_table(lines: list[Line]) -> Iterator[Record]:
    names: list[str] = []
    tasks: list[tuple[int, str, int]] = []
    for line in lines:
        head, row = _HEAD.search(line.text), _ROW.search(line.text)
        if head is not None:
            names = head["names"].split()
        elif row is not None and names:
            values = row["rest"].split(None, len(names) - 1)
            if len(values) == len(names):
                cells = dict(zip(names, values, strict=True))
                tasks.append((int(cells["rss"]) * PAGE, cells["name"].strip(), int(row["pid"])))
    if not tasks:
        raise Note("a table of tasks without tasks")
    rss, process, pid = max(tasks)
    alike = [task[0] for task in tasks if task[1] == process]
    fields: dict[str, Value] = {
        "process": process,
        "pid": pid,
        "rss": rss,
        "tasks": len(tasks),
        "total_rss": sum(task[0] for task in tasks),
        "alike": len(alike),
        "alike_rss": sum(alike),
    }
    yield make_event(
        "kernel.oom_tasks", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )


TASKS = BlockParser(
    name="kernel-oom-tasks",
    title="the kernel's table of tasks where memory ran out: the largest of them",
    opens=(" tgid total_vm ",),
    starts=lambda line: _HEAD.search(line.text) is not None,
    ends=lambda lines, following: _ROW.search(following.text) is None,
    read=_read_table,
    emits=("kernel.oom_tasks",),
    sample=(
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
        "[ 812345]  1001 812345 61234567 28311552 231276544        0             0 pt_main_thread\n"
    ),
    maximum=20_000,
)

PARSERS = (LINES, TASKS)
