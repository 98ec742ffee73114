"""Kernel messages of the AMD GPU driver, and what the ROCm runtime prints when it ends a process.

::

    amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=123, emitted seq=125
    Memory access fault by GPU node-2 (Agent handle: 0x55d01c30) on address 0x7f2c4a000000. Reason: Page not present or supervisor privilege.

``kernel.amdgpu``
    ``what`` happened: ``ring-timeout``, ``soft-recovered``, ``page-fault``, ``ecc-uncorrectable``,
    ``ecc-corrected``, ``poison-created``, ``poison-consumed``, ``reset``, ``reset-failed``,
    ``memory-lost``, ``submission-memory``; with it ``ring``, ``block`` (the part of the GPU that
    counted memory errors), ``errors`` (their number) and ``message``. A page fault is the program's
    (compare Xid 31), consumed poison is Xid 94 or 95; a reset follows one of the others. ``role``,
    ``before_job`` and ``lasts`` are those of ``kernel.xid``.
``hip.hardware_exception``, ``hip.memory_fault``
    The runtime ends the process. ``node`` is its own count of processors and GPUs, not the GPU's
    index; ``reason`` why the access failed.
``hip.queue_aborted``
    A queue ended with ``status``, such as ``HSA_STATUS_ERROR_OUT_OF_RESOURCES``.

*Empty*: nothing was reported. *Cut off*: a line cut short keeps what stands before the cut.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import pci

_PCI = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?"
_LINUX = "Linux 5.4 to 6.12, drivers/gpu/drm/amd/amdgpu"
_ROCM = "ROCm 5.x to 7.x, ROCR-Runtime, amd_gpu_agent.cpp and runtime.cpp"

NATURES = {
    "root": Nature.ERROR,
    "cascade": Nature.EFFECT,
    "context": Nature.MEASUREMENT,
}


def _amd(what: str, role: str, regex: str, sample: str, *, lasts: bool = False) -> Pattern:
    return Pattern(
        event="kernel.amdgpu",
        regex=rf"amdgpu (?P<gpu>{_PCI}): (?:amdgpu: )?{regex}",
        nature=NATURES[role],
        source=_LINUX,
        sample=f"amdgpu 0000:c1:00.0: amdgpu: {sample}",
        types={"gpu": pci, "errors": int},
        constants={"what": what, "role": role, "lasts": lasts, "before_job": 0.0},
    )


AMD = LineParser(
    name="kernel-amdgpu",
    title="kernel lines of the AMD GPU driver",
    patterns=(
        _amd("ring-timeout", "root", r"(?:\[drm:[^\]]*\] \*ERROR\* )?ring (?P<ring>\S+) timeout, (?P<message>signaled.*)",
             "ring sdma0 timeout, signaled seq=123, emitted seq=125"),
        Pattern(
            event="kernel.amdgpu",
            regex=r"amdgpu_job_timedout[^\]]*\]\] \*ERROR\* ring (?P<ring>\S+) timeout, (?P<message>signaled.*)",
            nature=Nature.ERROR,
            source="Linux 5.4 to 6.1, drivers/gpu/drm/amd/amdgpu/amdgpu_job.c, which names no device",
            sample="[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=123, emitted seq=125",
            constants={"what": "ring-timeout", "role": "root", "lasts": False, "before_job": 0.0},
        ),
        _amd("soft-recovered", "context", r"ring (?P<ring>\S+) timeout, but soft recovered",
             "ring gfx_0.0.0 timeout, but soft recovered"),
        _amd("page-fault", "root", r"(?P<message>\[\w+\] (?:no-)?retry page fault.*)",
             "[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32769)"),
        _amd("ecc-uncorrectable", "root", r"(?:socket: \d+, )?(?:die: \d+ )?(?P<errors>[1-9]\d*) uncorrectable hardware errors detected in (?:total in )?(?P<block>\w+) block",
             "socket: 0, die: 1 2 uncorrectable hardware errors detected in umc block", lasts=True),
        _amd("ecc-uncorrectable", "root", r"(?P<message>Uncorrectable error detected in UMC.*)",
             "Uncorrectable error detected in UMC inst: 3, chan_idx: 17", lasts=True),
        _amd("ecc-corrected", "context", r"(?:socket: \d+, )?(?:die: \d+ )?(?P<errors>[1-9]\d*) correctable hardware errors detected in (?:total in )?(?P<block>\w+) block",
             "3 correctable hardware errors detected in gfx block, no user action is needed."),
        _amd("poison-consumed", "root", r"(?P<message>RAS poison consumption, .*|GPU reset for \w+ RAS poison consumption is issued!)",
             "RAS poison consumption, unmap queue flow succeeded: client id 27"),
        _amd("poison-created", "context", r"(?P<message>(?:.{0,80}[ ,])?[Pp]oison is created, no user action is needed)",
             "Poison is created, no user action is needed."),
        _amd("reset", "cascade", r"(?P<message>GPU reset begin!.*)", "GPU reset begin!"),
        _amd("reset-failed", "root", r"(?P<message>GPU reset(?:\(\d+\))? failed|GPU reset end with ret = -\d+)",
             "GPU reset end with ret = -110", lasts=True),
        _amd("memory-lost", "cascade", r"(?P<message>VRAM is lost due to GPU reset!)", "VRAM is lost due to GPU reset!"),
        _amd("submission-memory", "root", r"(?P<message>Not enough memory for command submission!)",
             "Not enough memory for command submission!"),
    ),
)  # fmt: skip

ROCM = LineParser(
    name="rocm-runtime",
    title="the ROCm runtime's last words",
    patterns=(
        Pattern(
            event="hip.hardware_exception",
            regex=r"HW Exception by GPU node-(?P<node>\d+) \(Agent handle: \w+\) reason ?: ?(?P<message>\S.*)",
            nature=Nature.ERROR,
            source=_ROCM,
            sample="HW Exception by GPU node-4 (Agent handle: 0x55d01c30) reason :GPU Hang",
            types={"node": int},
        ),
        Pattern(
            event="hip.memory_fault",
            regex=r"Memory access fault by GPU node-(?P<node>\d+) \(Agent handle: \w+\) on address (?P<address>(?:0x)?[0-9a-f]+|\(nil\))\. Reason: (?P<reason>[^.]+)",
            nature=Nature.ERROR,
            source=_ROCM,
            sample="Memory access fault by GPU node-2 (Agent handle: 0x55d01c30) on address 0x7f2c4a000000. Reason: Page not present or supervisor privilege.",
            types={"node": int},
        ),
        Pattern(
            event="hip.queue_aborted",
            regex=r"Queue (?P<queue>0x[0-9a-fA-F]+) aborting with error ?: ?(?P<status>HSA_STATUS_ERROR\w*)(?:: (?P<message>.*))?",
            nature=Nature.ERROR,
            source="ROCm 5.x to 7.x, clr, rocclr/device/rocm/rocdevice.cpp",
            sample=":0:rocdevice.cpp:2614: 1234567 us: Callback: Queue 0x7f2c4a000000 aborting with error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016",
        ),
    ),
)

PARSERS = (AMD, ROCM)
