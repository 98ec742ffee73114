"""Kernel messages: dmesg, ``journalctl -k`` and /var/log/messages.

::

    NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
    mlx5_core 0000:1a:00.0 ens1np0: Link down
    Memory cgroup out of memory: Killed process 812345 (pt_main_thread) total-vm:244938268kB, ...

The host comes from the line's prefix or the name of the source. Process ids are the host's; training
logs in containers print others. ``gpu`` is a PCI address, which NCCL's ``busId`` joins to a rank.
An Xid is a report, not a verdict: 43, 45 and 154 follow something else, 13 and 31 are mostly the
program's, and bodies differ by firmware, so rules match the code.

*Empty*: nothing was reported, which proves nothing: many hangs log no line, and dmesg may begin
after the event. *Cut off*: a line cut short keeps what stands before the cut.
"""

import re

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, Convert, LineParser, Pattern, make_event
from diagnose.parsers.convert import pci, size

_PCI = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?"
_NVIDIA = "NVIDIA open-gpu-kernel-modules 515 to 595"
_LINUX = "Linux 5.4 to 6.12"

CONSEQUENCE_XIDS = frozenset({43, 45, 154})
"""A channel reset after an error, the clean-up of channels, a changed recovery action."""

NVLINK_XIDS = frozenset(range(144, 151))
"""NVLink 5 (Blackwell); their text holds the severity word."""

BREAKING_SXIDS = frozenset({11004, 12028, 19084})
"""Not fatal by name, yet they break a partition: access, privilege, heartbeat of a link."""


def _complete_nvidia(event: Event, line: Line) -> Event:
    if event.name == "kernel.xid":
        process = str(event.fields.get("process") or "").strip("'")
        event.fields["process"] = None if process in ("", "<unknown>") else process
        event.fields["message"] = event.fields.get("message")
        if event.fields["code"] in CONSEQUENCE_XIDS:
            event.nature = Nature.EFFECT
        if event.fields["code"] in NVLINK_XIDS:
            _complete_nvlink(event)
    if event.name == "kernel.sxid":
        harmless = event.fields.get("severity") == "non-fatal"
        if harmless and event.fields["code"] not in BREAKING_SXIDS:
            event.nature = Nature.MEASUREMENT
    if event.name == "kernel.nvidia_module_loaded":
        event.fields["value"] = event.fields["version"]
    return event


_NVLINK = re.compile(r"\b(Fatal|Nonfatal)\b(?:.*? Link 0*(\d+))?")


def _complete_nvlink(event: Event) -> None:
    found = _NVLINK.search(str(event.fields["message"] or ""))
    event.fields["severity"] = found[1].lower() if found else None
    event.fields["link"] = int(found[2]) if found and found[2] else None
    if event.fields["severity"] == "nonfatal":
        event.nature = Nature.MEASUREMENT


NVIDIA = LineParser(
    name="kernel-nvidia",
    title="kernel lines of the NVIDIA driver and of NVSwitches",
    patterns=(
        Pattern(
            event="kernel.xid",
            regex=rf"NVRM: Xid \((?:PCI:)?(?P<gpu>{_PCI})(?: GPU-I:(?P<gpu_instance>\d+))?(?: GPU-CI:(?P<compute_instance>\d+))?\): (?P<code>\d+)(?:, pid=(?:(?P<pid>\d+)|'?<?\w*>?'?))?(?:, name=(?P<process>[^,]+))?(?:, (?P<message>.*?))?(?: caused by previous Xid (?P<previous>\d+))?$",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osapi.c",
            sample="NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            types={
                "gpu": pci,
                "code": int,
                "previous": int,
                "gpu_instance": int,
                "compute_instance": int,
            },
        ),
        Pattern(
            event="kernel.sxid",
            regex=r"nvidia-nvswitch(?P<switch>\d+): SXid \(PCI:(?P<pci>[0-9A-Fa-f:.]+)\): (?P<code>\d+)(?:, ?(?P<severity>Fatal|Non-fatal))?(?:, (?:Link (?P<link>\d+) ?)?(?P<message>.*))?",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/common/nvswitch/common_nvswitch.h",
            sample="nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 12 LTSSM Fault Up",
            types={"pci": pci, "code": int, "switch": int, "link": int, "severity": str.lower},
        ),
        Pattern(
            event="kernel.gpu_fell_off",
            regex=rf"NVRM: GPU (?:at )?(?:PCI:)?(?P<gpu>{_PCI}): GPU has fallen off the bus",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osinit.c",
            sample="NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.",
            types={"gpu": pci},
        ),
        Pattern(
            event="kernel.gpu_init_failed",
            regex=rf"NVRM: (?:GPU (?P<gpu>{_PCI}): )?(?P<message>RmInitAdapter failed!.*|No NVIDIA GPU found.*|This PCI I/O region assigned to your NVIDIA device is invalid.*)",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osinit.c",
            sample="NVRM: GPU 0000:5d:00.0: RmInitAdapter failed! (0x26:0x65:1474)",
            types={"gpu": pci},
        ),
        Pattern(
            event="kernel.nvidia_api_mismatch",
            regex=r"NVRM: API mismatch: (?P<message>.*)",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osapi.c",
            sample="NVRM: API mismatch: the client 'nvidia-smi' (pid 4711)",
        ),
        Pattern(
            event="kernel.nvidia_module_loaded",
            regex=r"NVRM: loading NVIDIA UNIX .{0,40}Kernel Module .{0,20}?(?P<version>\d{3}\.\d+(?:\.\d+)?)",
            nature=Nature.SETTING,
            source=f"{_NVIDIA}, kernel-open/nvidia/nv.c",
            sample="NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build",
            fact="driver.version",
        ),
        # Calls itself an error, and only says that the process went before its registrations.
        Pattern(
            event="kernel.peermem_freed",
            regex=r"nv_get_p2p_free_callback:\d+ ERROR detected invalid context",
            nature=Nature.TEARDOWN,
            source=f"{_NVIDIA}, kernel-open/nvidia-peermem/nvidia-peermem.c",
            sample="nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        ),
    ),
    refine=_complete_nvidia,
)


def _amd(what: str, regex: str, nature: Nature, sample: str) -> Pattern:
    return Pattern(
        event="kernel.amdgpu",
        regex=rf"amdgpu (?P<gpu>{_PCI}): (?:amdgpu: )?{regex}",
        nature=nature,
        source=f"{_LINUX}, drivers/gpu/drm/amd/amdgpu",
        sample=sample,
        types={"gpu": pci},
        constants={"what": what},
    )


AMD = LineParser(
    name="kernel-amdgpu",
    title="kernel lines of the AMD GPU driver",
    patterns=(
        _amd("ring-timeout", r"(?:\[drm:[^\]]*\] \*ERROR\* )?ring (?P<ring>\S+) timeout, (?P<message>signaled.*)", Nature.ERROR,
             "amdgpu 0000:c1:00.0: amdgpu: ring sdma0 timeout, signaled seq=123, emitted seq=125"),
        Pattern(
            event="kernel.amdgpu",
            regex=r"amdgpu_job_timedout[^\]]*\]\] \*ERROR\* ring (?P<ring>\S+) timeout, (?P<message>signaled.*)",
            nature=Nature.ERROR,
            source="Linux 5.4 to 6.1, drivers/gpu/drm/amd/amdgpu/amdgpu_job.c, which names no device",
            sample="[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=123, emitted seq=125",
            constants={"what": "ring-timeout"},
        ),
        _amd("soft-recovered", r"ring (?P<ring>\S+) timeout, but soft recovered", Nature.MEASUREMENT,
             "amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, but soft recovered"),
        _amd("reset", r"(?P<message>GPU reset begin!.*)", Nature.EFFECT,
             "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!"),
        _amd("reset-failed", r"(?P<message>GPU reset(?:\(\d+\))? failed|GPU reset end with ret = -\d+)", Nature.ERROR,
             "amdgpu 0000:c1:00.0: amdgpu: GPU reset end with ret = -110"),
    ),
)  # fmt: skip


_OLD_FALL = re.compile(rf"NVRM: The NVIDIA GPU ({_PCI})")


def _read_fall(lines: list[Line]) -> list[Event]:
    found = _OLD_FALL.search(lines[0].text)
    if found is None or not any("fallen off the bus" in line.text for line in lines):
        return []
    fields: dict[str, Value] = {"gpu": pci(found[1])}
    return [
        make_event("kernel.gpu_fell_off", Nature.ERROR, lines[0], fields, end_line=lines[-1].number)
    ]


OFF_THE_BUS = BlockParser(
    name="kernel-gpu-off-the-bus",
    title="the driver's older way to say over three lines that a GPU is gone",
    opens=("NVRM: The NVIDIA GPU ",),
    starts=lambda line: _OLD_FALL.search(line.text) is not None,
    ends=lambda lines, following: "fallen off" in lines[-1].text or "NVRM:" not in following.text,
    read=_read_fall,
    emits=("kernel.gpu_fell_off",),
    sample=(
        "NVRM: The NVIDIA GPU 0000:5d:00.0\n"
        "NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands.\n"
    ),
    maximum=4,
)


_KILLED = r"(?P<scope>Memory cgroup out of memory|Out of memory[\w ()]*?): Kill(?:ed)? process (?P<pid>\d+) \((?P<process>[^)]+)\)"
_RSS = r".{0,60}?total-vm:(?P<total_vm>\d+kB), anon-rss:(?P<anon_rss>\d+kB)(?:, file-rss:(?P<file_rss>\d+kB))?(?:, shmem-rss:(?P<shmem_rss>\d+kB))?"
_OOM_FIELDS = (
    "process", "constraint", "memcg", "task_memcg", "total_vm", "anon_rss", "file_rss", "shmem_rss",
)  # fmt: skip


def _complete_memory(event: Event, line: Line) -> Event:
    if event.name != "kernel.oom_kill":
        return event
    fields = event.fields
    scope = str(fields.pop("scope", ""))
    if scope:
        fields["constraint"] = "memcg" if scope.startswith("Memory cgroup") else "none"
    event.fields = {name: fields.get(name) for name in _OOM_FIELDS}
    return event


def _constraint(text: str) -> str:
    return text.removeprefix("CONSTRAINT_").lower()


MEMORY = LineParser(
    name="kernel-oom",
    title="the kernel's out-of-memory killer",
    patterns=(
        Pattern(
            event="kernel.oom_kill",
            regex=f"{_KILLED}(?:{_RSS})?",
            nature=Nature.ERROR,
            source="Linux 3.10 to 6.12, mm/oom_kill.c, __oom_kill_process",
            sample="Memory cgroup out of memory: Killed process 812345 (pt_main_thread) total-vm:244938268kB, anon-rss:112345678kB, file-rss:456780kB, shmem-rss:901112kB, UID:1001 pgtables:225856kB oom_score_adj:0",
            types=dict.fromkeys(("total_vm", "anon_rss", "file_rss", "shmem_rss"), size),
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
            event="kernel.memcg_oom",
            regex=r"memory: usage (?P<usage>\d+kB), limit (?P<limit>\d+kB), failcnt (?P<failcnt>\d+)",
            nature=Nature.MEASUREMENT,
            source=f"{_LINUX}, mm/memcontrol.c, mem_cgroup_print_oom_meminfo",
            sample="memory: usage 943718400kB, limit 943718400kB, failcnt 9182",
            types={"usage": size, "limit": size, "failcnt": int},
        ),
        Pattern(
            event="kernel.memcg_oom",
            regex=r"Tasks in (?P<memcg>\S+) are going to be killed due to memory\.oom\.group set",
            nature=Nature.ERROR,
            source=f"{_LINUX}, mm/memcontrol.c",
            sample="Tasks in /kubepods/pod12 are going to be killed due to memory.oom.group set",
        ),
        Pattern(
            event="kernel.fork_rejected",
            regex=r"cgroup: fork rejected by pids controller in (?P<cgroup>\S+)",
            nature=Nature.ERROR,
            source=f"{_LINUX}, kernel/cgroup/pids.c",
            sample="cgroup: fork rejected by pids controller in /kubepods/pod12",
        ),
    ),
    refine=_complete_memory,
)


_MLX5 = rf"mlx5_core (?P<pci>{_PCI})(?: (?P<device>[\w.-]+))?: (?:\w+:\d+:\(pid \d+\): )?"


def _mlx5(state: str, message: str, nature: Nature, sample: str) -> Pattern:
    return Pattern(
        event="kernel.mlx5",
        regex=f"{_MLX5}(?P<message>{message})",
        nature=nature,
        source=f"{_LINUX}, drivers/net/ethernet/mellanox/mlx5/core",
        sample=sample,
        types={"pci": pci},
        constants={"state": state},
    )


def _complete_mlx5(event: Event, line: Line) -> Event:
    device = event.fields.get("device")
    event.fields["device"] = device
    event.nic = str(device) if device else None
    return event


NIC = LineParser(
    name="kernel-mlx5",
    title="kernel lines of NVIDIA (Mellanox) network adapters",
    patterns=(
        _mlx5("down", "Link down", Nature.ERROR, "mlx5_core 0000:1a:00.0 ens1np0: Link down"),
        _mlx5("up", "Link up", Nature.MEASUREMENT, "mlx5_core 0000:1a:00.0 ens1np0: Link up"),
        _mlx5("cable", r"Port module event(?:\[error\])?: module \d+, Cable (?:unplugged|error).*", Nature.ERROR,
              "mlx5_core 0000:1a:00.0: Port module event[error]: module 0, Cable error, Bad or shorted cable/module"),
        _mlx5("plugged", r"Port module event: module \d+, Cable plugged", Nature.MEASUREMENT,
              "mlx5_core 0000:1a:00.0: Port module event: module 0, Cable plugged"),
        _mlx5("health", r"Health issue observed.*|.*health compromised - reached miss count.*|Driver is in error state.*|PCI slot is unavailable.*|health recovery failed.*|.*firmware internal error.*", Nature.ERROR,
              "mlx5_core 0000:1a:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:"),
        _mlx5("recovered", r"health recovery succe\w+", Nature.MEASUREMENT,
              "mlx5_core 0000:1a:00.0: mlx5_health_try_recover:335:(pid 61): health recovery succeeded"),
        _mlx5("command-timeout", r"[A-Z_0-9]+\(0x[0-9a-f]+\) timeout\. Will cause a leak of a command resource", Nature.ERROR,
              "mlx5_core 0000:1a:00.0: wait_func:1137:(pid 812): CREATE_MKEY(0x200) timeout. Will cause a leak of a command resource"),
        _mlx5("tx-timeout", r"TX timeout (?:detected|on queue).*", Nature.ERROR,
              "mlx5_core 0000:1a:00.0 ens1np0: TX timeout detected"),
        _mlx5("temperature", r"High temperature on sensors.*", Nature.ERROR,
              "mlx5_core 0000:1a:00.0: temp_warn:165:(pid 0): High temperature on sensors with bit set 0 1"),
        _mlx5("insufficient-power", r"Detected insufficient power on the PCIe slot.*", Nature.MEASUREMENT,
              "mlx5_core 0000:1a:00.0: Detected insufficient power on the PCIe slot (27W)."),
    ),
    refine=_complete_mlx5,
)  # fmt: skip


_SEVERITIES = {"corr": "corrected", "unco": "nonfatal"}


def _severity(text: str) -> str:
    """Return corrected, nonfatal or fatal; Linux 6.12 says Correctable and Uncorrectable."""
    if "(Fatal)" in text or text.lower() == "fatal":
        return "fatal"
    return _SEVERITIES.get(text.lower()[:4], "nonfatal")


def _complete_host(event: Event, line: Line) -> Event:
    if event.name == "kernel.pcie_aer":
        if event.fields.get("driver") == "nvidia":
            event.gpu = str(event.fields["pci"])
        if event.fields["severity"] == "corrected":
            event.nature = Nature.MEASUREMENT
    if event.name == "kernel.mce" and "Machine Check Exception" in line.text:
        event.fields["severity"] = "fatal"
    if event.name == "kernel.mce" and event.fields.get("severity") == "corrected":
        event.nature = Nature.MEASUREMENT
    return event


def _host(event: str, regex: str, source: str, sample: str, **constants: str) -> Pattern:
    types: dict[str, Convert] = {
        "pci": pci, "severity": _severity, "seconds": int, "cpu": int,
    }  # fmt: skip
    return Pattern(
        event=event,
        regex=regex,
        nature=Nature.ERROR,
        source=f"{_LINUX}, {source}",
        sample=sample,
        types=types,
        constants=constants,
    )


HOST = LineParser(
    name="kernel-host",
    title="kernel lines on PCIe, processors, memory, hung tasks and crashes",
    patterns=(
        _host("kernel.pcie_aer", rf"(?:^|\s)(?P<driver>[\w-]+) (?P<pci>{_PCI}): PCIe Bus Error: severity=(?P<severity>\w+(?: \([\w-]+\))?)(?:, type=(?P<layer>[\w ]+))?",
              "drivers/pci/pcie/aer.c, aer_print_error",
              "nvidia 0000:5d:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)"),
        _host("kernel.pcie_aer", rf"AER: (?:Multiple )?(?P<severity>(?:Unc|C)orrect\w+(?: \([\w-]+\))?) error (?:message )?received(?: from |: )(?P<pci>{_PCI})",
              "drivers/pci/pcie/aer.c, aer_print_port_info",
              "pcieport 0000:5a:01.0: AER: Multiple Corrected error message received from 0000:5d:00.0"),
        _host("kernel.pcie_down", rf"pcieport (?P<pci>{_PCI}): (?:pcieport: )?DPC: (?P<message>containment event|unmasked uncorrectable error detected|ERR_FATAL|RP PIO error).*",
              "drivers/pci/pcie/dpc.c",
              "pcieport 0000:5a:01.0: DPC: containment event, status:0x1f01 source:0x0000"),
        _host("kernel.pcie_down", rf"pcieport (?P<pci>{_PCI}): pciehp: Slot\([^)]*\): (?P<message>Link Down|Card not present|Power fault)",
              "drivers/pci/hotplug/pciehp_ctrl.c",
              "pcieport 0000:5a:01.0: pciehp: Slot(7): Link Down"),
        _host("kernel.mce", r"mce: \[Hardware Error\]: (?P<message>CPU \d+: Machine Check.*)",
              "arch/x86/kernel/cpu/mce/core.c",
              "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: 8c00004000010091", severity="corrected"),
        _host("kernel.mce", r"EDAC MC\d+: \d+ CE (?P<message>.*)", "drivers/edac/edac_mc.c",
              "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)", severity="corrected"),
        _host("kernel.mce", r"EDAC MC\d+: \d+ UE (?P<message>.*)", "drivers/edac/edac_mc.c",
              "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)", severity="fatal"),
        _host("kernel.mce", r"\[Hardware Error\]: event severity: (?P<severity>fatal|recoverable|corrected)",
              "drivers/firmware/efi/cper.c", "{1}[Hardware Error]: event severity: fatal"),
        _host("kernel.hung_task", r"task (?P<process>.{1,40}?):(?P<pid>\d+) blocked (?:in I/O wait )?for more than (?P<seconds>\d+) seconds",
              "kernel/hung_task.c", "INFO: task python3:81234 blocked for more than 120 seconds."),
        _host("kernel.lockup", r"soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s! \[(?P<process>[^\]]*?):(?P<pid>\d+)\]",
              "kernel/watchdog.c", "watchdog: BUG: soft lockup - CPU#23 stuck for 26s! [python3:81234]", kind="soft"),
        _host("kernel.lockup", r"Watchdog detected hard LOCKUP on cpu (?P<cpu>\d+)",
              "kernel/watchdog_hld.c", "NMI watchdog: Watchdog detected hard LOCKUP on cpu 23", kind="hard"),
        _host("kernel.lockup", r"rcu: INFO: \w+ (?:self-)?detected (?:expedited )?stalls? on CPU",
              "kernel/rcu/tree_stall.h", "rcu: INFO: rcu_sched self-detected stall on CPU", kind="rcu"),
        _host("kernel.panic", r"Kernel panic - not syncing: (?P<message>.*)", "kernel/panic.c",
              "Kernel panic - not syncing: Fatal machine check"),
        _host("kernel.segfault", r"(?P<process>[^\s\[]+)\[(?P<pid>\d+)\]: segfault at [0-9a-f]+ ip [0-9a-f]+ sp [0-9a-f]+ error \d+(?: in (?P<library>[^\s\[]+))?",
              "arch/x86/mm/fault.c", "python3[812]: segfault at 0 ip 00007f12a4 sp 00007ffd12 error 4 in libnccl.so.2[7f12a0+1000]"),
        _host("kernel.segfault", r"traps: (?P<process>[^\s\[]+)\[(?P<pid>\d+)\] (?P<message>general protection fault|trap invalid opcode)(?:.* in (?P<library>[^\s\[]+))?",
              "arch/x86/kernel/traps.c", "traps: python3[812] trap invalid opcode ip:7f12a4 sp:7ffd12 error:0 in libfoo.so[7f12a0+1000]"),
        _host("kernel.iommu_fault", r"(?P<message>DMAR: \[[^\]]*\] .*fault.*|AMD-Vi: Event logged \[IO_PAGE_FAULT.*)",
              "drivers/iommu", "DMAR: [DMA Write NO_PASID] Request device [1a:00.0] fault addr 0x7f000 [fault reason 0x05]"),
    ),
    refine=_complete_host,
)  # fmt: skip


def _storage(kind: str, regex: str, sample: str) -> Pattern:
    return Pattern(
        event="kernel.fs_error",
        regex=regex,
        nature=Nature.ERROR,
        source=f"{_LINUX}, block, fs and drivers/nvme; Lustre 2.12 and later",
        sample=sample,
        constants={"kind": kind},
    )


def _server(event: str, regex: str, nature: Nature, sample: str) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=nature,
        source=f"{_LINUX}, net/sunrpc/clnt.c; Lustre 2.12 and later, ptlrpc/import.c",
        sample=sample,
    )


_DEVICE = r"(?P<device>[\w.-]+)"
STORAGE = LineParser(
    name="kernel-storage",
    title="kernel lines of disks and file systems, local and shared",
    patterns=(
        _storage("io", rf"I/O error, dev {_DEVICE}, sector \d+", "blk_update_request: I/O error, dev sda, sector 81234 op 0x0:(READ)"),
        _storage("io", rf"Buffer I/O error on dev {_DEVICE}", "Buffer I/O error on dev sda1, logical block 1, async page read"),
        _storage("medium", rf"critical medium error, dev {_DEVICE}", "critical medium error, dev sda, sector 81234 op 0x0:(READ)"),
        _storage("filesystem", rf"EXT4-fs error \(device {_DEVICE}\): (?P<message>.*)", "EXT4-fs error (device nvme0n1p2): ext4_find_entry:1463: inode #2: comm python3: reading directory lblock 0"),
        _storage("filesystem", rf"XFS \({_DEVICE}\): (?P<message>.*(?:I/O error|Corruption|shut).*)", "XFS (nvme0n1): metadata I/O error in \"xfs_da_read_buf\" at daddr 0x8 len 8 error 5"),
        _storage("read-only", r"(?P<message>Remounting filesystem read-only)", "EXT4-fs (sda1): Remounting filesystem read-only"),
        _storage("nvme-timeout", r"nvme (?P<device>nvme\d+): I/O (?:tag )?\d+ .{0,60}QID \d+ timeout, (?P<message>[\w ]+)", "nvme nvme2: I/O 771 QID 9 timeout, reset controller"),
        _storage("nvme-down", r"nvme (?P<device>nvme\d+): (?P<message>controller is down; will reset.*|Disabling device after reset failure.*|Removing after probe failure.*)", "nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff"),
        _storage("raid", rf"md/raid[^:]*:.{{0,40}} Disk failure on {_DEVICE}", "md/raid1:md0: Disk failure on sda1, disabling device."),
        _storage("evicted", r"LustreError: .{0,120}This client was evicted by (?P<device>[\w-]+)", "LustreError: 167-0: fs0-OST0003-osc-ffff8: This client was evicted by fs0-OST0003; in progress operations using this service will fail."),
        _storage("lustre", r"LustreError: .{0,120}operation (?P<message>\w+ to node \S+ failed: rc = -\d+)", "LustreError: 11-0: fs0-OST0003-osc-ffff8: operation ost_write to node 10.0.1.7@o2ib failed: rc = -107"),
        _storage("stale", r"NFS: .{0,80}(?P<message>Lock reclaim failed|Stale file handle)", "NFS: nfs4_reclaim_open_state: Lock reclaim failed!"),
        _server("kernel.nfs_not_responding", r"nfs: server (?P<server>\S+) not responding, (?P<message>still trying|timed out)", Nature.ERROR, "nfs: server 10.0.3.4 not responding, still trying"),
        _server("kernel.nfs_ok", r"nfs: server (?P<server>\S+) OK", Nature.MEASUREMENT, "nfs: server 10.0.3.4 OK"),
        _server("kernel.storage_lost", r"Lustre: .{0,80}Connection to (?P<server>[\w-]+) \(at (?P<address>\S+)\) was lost", Nature.ERROR, "Lustre: fs0-OST0003-osc-ffff8: Connection to fs0-OST0003 (at 10.0.1.7@o2ib) was lost; in progress operations using this service will wait for recovery to complete"),
        _server("kernel.storage_restored", r"Lustre: .{0,80}Connection restored to (?P<server>\S+)", Nature.MEASUREMENT, "Lustre: fs0-OST0003-osc-ffff8: Connection restored to 10.0.1.7@o2ib (at 10.0.1.7@o2ib)"),
        _server("kernel.storage_lost", r"(?P<server>libceph: osd\d+|ceph: mds\d+) .{0,60}(?:socket closed|hung|caps stale)", Nature.ERROR, "libceph: osd12 (1)10.0.0.9:6801 socket closed (con state OPEN)"),
    ),
)  # fmt: skip

PARSERS = (NVIDIA, AMD, OFF_THE_BUS, MEMORY, NIC, HOST, STORAGE)
