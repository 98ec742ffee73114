r"""NCCL's trouble with GPUs, drivers, NVLink and shared memory.

Sample::

    node-07:4121:4388 [3] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)
    node-07:4121:4388 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000

``Cuda failure`` repeats an error of the CUDA runtime; where the text says illegal access or launch
failure, an earlier kernel of the same process is to blame. Ranks count within the communicator.
The same text at INFO level was tolerated: such an event is a measurement.

Empty: NCCL met no such error; it may still have chosen a slow path without a word. Cut off: fields
behind the cut are missing.
"""

import regex

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers import convert
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.nccl_level import add_errno, judge_by_level

PLACE = regex.compile(r"(?P<file>[\w./-]+\.\w+):\d+(?: \([^)]*\))? NCCL WARN")

TORN_DOWN = (
    "invalid resource handle", "invalid device context", "context is destroyed",
    "driver shutting down",
)  # fmt: skip
"""What CUDA answers once the process is being ended."""


def refine(event: Event, line: Line) -> Event | None:
    """Add the source file, and judge an event by the level NCCL printed it at."""
    judge_by_level(event, line)
    if event.name == "nccl.shm_failed":
        add_errno(event)
    if str(event.fields.get("error")).startswith(TORN_DOWN):
        event.nature = Nature.EFFECT
    if found := PLACE.search(line.text):
        event.fields["source_file"] = found["file"]
    return event


PATTERNS = (
    Pattern(
        event="nccl.duplicate_gpu",
        regex=r"Duplicate GPU detected : rank (?P<rank_a>\d+) and rank (?P<rank_b>\d+) both on CUDA device (?P<device>(?P<gpu>[0-9a-f]+))",
        nature=Nature.ERROR,
        source="NCCL 2.5 to 2.29, init.cc",
        sample="node-07:4121:4388 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000",
        types={"rank_a": int, "rank_b": int, "gpu": convert.pci},
    ),
    Pattern(
        event="nccl.duplicate_gpu",
        regex=r"Multiple Ranks are using the same GPU/Partition",
        nature=Nature.ERROR,
        source="NCCL 2.30, init.cc",
        sample="node-07:4121:4388 [0] init.cc:1010 (initTransportsRank) NCCL WARN Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 to allow it",
    ),
    Pattern(
        event="nccl.invalid_device",
        regex=r"Invalid device (?P<device>-?\d+) \(totalnDev=(?P<devices>\d+)\)|invalid device count \((?P<count_asked>-?\d+)\) requested",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, init.cc",
        sample="node-07:4121:4388 [0] init.cc:1702 NCCL WARN Invalid device 8 (totalnDev=8)",
        types=dict.fromkeys(("device", "devices", "count_asked"), int),
    ),
    Pattern(
        event="nccl.cuda_failure",
        regex=r"(?:Cuda|CUDA|HIP|Hip|hip) failure(?: (?P<code>\d+))? '(?P<error>[^'\r\n]*)",
        literals=("Cuda failure", "CUDA failure", "HIP failure", "Hip failure", "hip failure"),
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, include/checks.h and misc/cudawrap.cc; RCCL keeps the text",
        sample="node-07:4121:4388 [3] include/alloc.h:178 NCCL WARN Cuda failure 2 'out of memory'",
        types={"code": int},
    ),
    Pattern(
        event="nccl.cuda_failure",
        regex=r"Test (?:CUDA|HIP) failure \S+:\d+ '(?P<error>[^'\r\n]*)",
        nature=Nature.ERROR,
        source="nccl-tests 2.0 to 2.19, common.h; rccl-tests",
        sample="node-07: Test CUDA failure common.cu:895 'invalid device ordinal'",
        constants={"program": "nccl-tests"},
    ),
    Pattern(
        event="nccl.test_failed",
        regex=r"Test NCCL failure \S+:\d+ '(?P<error>[^'\r\n]*)",
        nature=Nature.EFFECT,
        source="nccl-tests 2.0 to 2.19, common.h",
        sample="node-07: Test NCCL failure common.cu:1279 'unhandled system error (run with NCCL_DEBUG=INFO for details) / '",
        types={"error": lambda text: text.rstrip(" /")},  # NCCL's last error, if it has one
    ),
    Pattern(
        event="nccl.alloc_failed",
        regex=r"Failed to (?P<what>CUDA calloc async|CUDA calloc|CUDA malloc|CUDA host alloc|malloc) (?P<bytes>\d+) bytes",
        nature=Nature.ERROR,
        source="NCCL 2.14 to 2.30, include/alloc.h",
        sample="node-07:4121:4388 [3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc async 6291456 bytes",
        types={"bytes": int},
    ),
    Pattern(
        event="nccl.alloc_failed",
        regex=r"Unrecoverable error detected: malloc\(size=(?P<bytes>\d+)\) returned null",
        nature=Nature.ERROR,
        source="NCCL 2.19 to 2.30, misc/utils.cc",
        sample="node-07:4121:4388 [3] misc/utils.cc:301 NCCL WARN Unrecoverable error detected: malloc(size=1048576) returned null.",
        types={"bytes": int},
        constants={"what": "malloc"},
    ),
    Pattern(
        event="nccl.driver_too_old",
        regex=r"CUDA Driver version found is (?P<found>\d+)\. Minimum requirement is (?P<required>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.13 to 2.30, misc/cudawrap.cc",
        sample="node-07:4121:4388 [3] misc/cudawrap.cc:130 NCCL WARN CUDA Driver version found is 11020. Minimum requirement is 11030",
        types={"found": int, "required": int},
    ),
    Pattern(
        event="nccl.library_missing",
        regex=r"Failed to (?:open|find CUDA library) (?P<library>libnvidia-ml\.so[.\d]*|libcuda\S*)|CUDA some PFN functions not found in the library|Retrieve (?P<symbol>cu\w+) [^\r\n]*failed with (?P<code>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/nvmlwrap.cc and misc/cudawrap.cc",
        sample="node-07:4121:4388 [3] misc/nvmlwrap.cc:50 NCCL WARN Failed to open libnvidia-ml.so.1",
        types={"code": int},
    ),
    Pattern(
        event="nccl.nvml_failed",
        regex=r"(?P<call>nvml(?:Init|Device)\w*)\((?P<index>\d+)?\) failed: (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/nvmlwrap.cc",
        sample="node-07:4121:4388 [3] misc/nvmlwrap.cc:122 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch",
        types={"index": int, "error": str.strip},
    ),
    Pattern(
        event="nccl.p2p_failed",
        regex=r"failed to peer with device (?P<device>\d+)\(=(?P<bus>[0-9a-f]+)\): (?P<code>\d+) (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, transport/p2p.cc",
        sample="node-07:4121:4388 [3] transport/p2p.cc:402 NCCL WARN failed to peer with device 2(=3b000): 217 peer access is not supported between these two devices",
        types={"device": int, "code": int},
    ),
    Pattern(
        event="nccl.ipc_failed",
        regex=r"(?:cudaIpcGetMemHandle failed ?: |failed to open CUDA IPC handle : (?P<code>\d+) )(?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, transport/p2p.cc",
        sample="node-07:4121:4388 [3] transport/p2p.cc:240 NCCL WARN cudaIpcGetMemHandle failed : invalid argument",
        types={"code": int},
    ),
    Pattern(
        event="nccl.p2p_disabled",
        regex=r"P2P is disabled between NVLINK connected GPUs (?P<gpu_a>\d+) and (?P<gpu_b>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, graph/paths.cc",
        sample="node-07:4121:4388 [3] graph/paths.cc:310 NCCL WARN P2P is disabled between NVLINK connected GPUs 2 and 3. This should not be the case given their connectivity",
        types={"gpu_a": int, "gpu_b": int},
        constants={"nvlink": True},
    ),
    Pattern(
        event="nccl.p2p_disabled",
        regex=r"(?:P2P is disabled between connected GPUs |P2P not supported between GPU)(?P<gpu_a>\d+) and (?:GPU)?(?P<gpu_b>\d+)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.12 to 2.30, graph/paths.cc and transport/p2p.cc",
        sample="node-07:4121:4388 [3] NCCL INFO P2P is disabled between connected GPUs 2 and 3. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.",
        types={"gpu_a": int, "gpu_b": int},
        constants={"nvlink": False},
    ),
    Pattern(
        event="nccl.nvls_failed",
        regex=r"Failed to bind NVLink SHARP \(NVLS\) Multicast memory of size (?P<bytes>\d+) : CUDA error (?P<code>\d+) '(?P<error>[^']*)'",
        nature=Nature.ERROR,
        source="NCCL 2.22 to 2.30, transport/nvls.cc; at INFO level it goes on without NVLS",
        sample="node-07:4121:4388 [3] transport/nvls.cc:282 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 802 'system not yet initialized'.",
        types={"bytes": int, "code": int},
    ),
    Pattern(
        event="nccl.mnnvl_failed",
        regex=r"MNNVL \(cliqueSize (?P<clique>\d+)\) is available but not (?P<what>supported|working)",
        nature=Nature.ERROR,
        source="NCCL 2.25 to 2.30, mnnvl.cc",
        sample="node-07:4121:4388 [3] mnnvl.cc:60 NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX configuration",
        types={"clique": int},
    ),
    Pattern(
        event="nccl.shm_failed",
        regex=r"failed to extend (?P<path>\S+) to (?P<size>\d+) bytes(?:, error: (?P<error>[^(\r\n]+)\((?P<errno>\d+)\))?",
        nature=Nature.ERROR,
        source="NCCL 2.16 to 2.30, misc/shmutils.cc",
        sample="node-07:4121:4388 [3] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)",
        types={"size": int, "errno": int, "error": str.strip},
        constants={"call": "extend"},
    ),
    Pattern(
        event="nccl.shm_failed",
        regex=r"Failed to extend (?P<path>\S+) to (?P<size>\d+) bytes, error: (?P<error>[^(\r\n]+)\((?P<errno>\d+)\) - retrying",
        nature=Nature.ERROR,
        source="NCCL 2.22 to 2.30, misc/shmutils.cc",
        sample="node-07:4121:4388 [3] NCCL INFO fallocate: Failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28) - retrying",
        types={"size": int, "errno": int, "error": str.strip},
        constants={"call": "extend"},
    ),
    Pattern(
        event="nccl.shm_failed",
        regex=r"Error while (?P<call>creating|attaching to) shared memory segment (?P<path>\S+) \(size (?P<size>\d+)\)(?:, error: (?P<error>[^(\r\n]+)\((?P<errno>\d+)\))?",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, misc/shmutils.cc",
        sample="node-07:4121:4388 [3] misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-WU88OE (size 9637888), error: No space left on device (28)",
        types={"size": int, "errno": int, "error": str.strip},
    ),
    Pattern(
        event="nccl.shm_failed",
        regex=r"Call to (?P<call>shm_open|open|posix_fallocate|ftruncate|mmap) failed ?: (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.15, include/shm.h",
        sample="node-07:4121:4388 [3] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
    ),
    Pattern(
        event="nccl.shm_failed",
        regex=r"Could not map (?P<path>\S+) size (?P<size>\d+), error: (?P<error>[^(\r\n]+)\((?P<errno>\d+)\)",
        nature=Nature.ERROR,
        source="NCCL 2.16 to 2.30, misc/shmutils.cc",
        sample="node-07:4121:4388 [3] misc/shmutils.cc:101 NCCL WARN Error: Could not map /dev/shm/nccl-WU88OE size 9637888, error: Cannot allocate memory (12)",
        types={"size": int, "errno": int, "error": str.strip},
        constants={"call": "map"},
    ),
    Pattern(
        event="nccl.shm_fallback",
        regex=r"cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.26 to 2.30, misc/cudawrap.cc",
        sample="node-07:4121:4388 [3] NCCL INFO cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based implementation.",
    ),
    Pattern(
        event="nccl.local_socket_failed",
        regex=r"UDS: (?P<call>Binding to|Sending data over) socket (?P<path>\S+) failed : (?P<error>[^(\r\n]+)\((?P<errno>\d+)\)",
        nature=Nature.EFFECT,
        source="NCCL 2.17 to 2.30, misc/ipcsocket.cc",
        sample="node-07:4121:4402 [3] misc/ipcsocket.cc:201 NCCL WARN UDS: Sending data over socket /tmp/nccl-socket-3-9f1c failed : Connection refused (111)",
        types={"errno": int, "error": str.strip},
    ),
    Pattern(
        event="nccl.topology_error",
        regex=r"(?P<what>Add NVLink error|Add PCI Link error|Failed to find reverse path)",
        nature=Nature.ERROR,
        source="NCCL 2.5 to 2.30, graph/topo.cc",
        sample="node-07:4121:4388 [3] graph/topo.cc:560 NCCL WARN Add NVLink error : could not find GPU 3b000",
    ),
    Pattern(
        event="rccl.host_setting",
        regex=r"Missing \"(?P<missing>iommu=pt|HSA_FORCE_FINE_GRAIN_PCIE=1)\"|(?P<setting>NUMA auto balancing) enabled which can lead to variability",
        nature=Nature.MEASUREMENT,
        source="RCCL 2.18 to 2.21, init.cc",
        sample='node-07:4121:4388 [3] init.cc:1902 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',
    ),
    Pattern(
        event="nccl.shm_failed",
        regex=r"(?P<call>munmap|unlink)(?: of)? shared memory (?P<path>\S+)(?: size \d+)? failed",
        nature=Nature.EFFECT,
        source="NCCL 2.16 to 2.30, misc/shmutils.cc; at the end of a communicator",
        sample="node-07:4121:4388 [3] misc/shmutils.cc:150 NCCL WARN unlink shared memory /dev/shm/nccl-WU88OE failed, error: No such file or directory (2)",
    ),
    Pattern(
        event="nccl.mnnvl_state",
        regex=r"MNNVL [^\r\n]*\bstate (?P<state>\d+) healthMask (?P<health_mask>0x[0-9a-f]+)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.21 to 2.30, init.cc; state 3 is complete",
        sample="node-07:4121:4388 [3] NCCL INFO MNNVL busId 0x1b000 fabric UUID 0.0 cliqueId 0x0 state 1 healthMask 0x0",
        types={"state": int},
    ),
    Pattern(
        event="nccl.architecture",
        regex=r"cudaArch (?P<arch>\d+) ncclMaxSharedMem (?P<needed>\d+) exceeds device/fn maxSharedMem (?P<available>-?\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.19 to 2.30, enqueue.cc",
        sample="node-07:4121:4388 [3] enqueue.cc:60 NCCL WARN cudaArch 1200 ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 65536",
        types=dict.fromkeys(("arch", "needed", "available"), int),
    ),
)

PARSERS = (
    LineParser(
        name="nccl-device",
        title="NCCL's trouble with GPUs, drivers, NVLink and shared memory",
        patterns=PATTERNS,
        refine=refine,
    ),
)
