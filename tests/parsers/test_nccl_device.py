import pytest
from communication import check_table, cut_anywhere, holds, names, one

from diagnose.model.event import Nature
from diagnose.parsers import nccl_device as module

WARN = "node-07:4121:4388 [3] misc/shmutils.cc:88 NCCL WARN "
INFO = "node-07:4121:4388 [3] NCCL INFO "


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (WARN + "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", "nccl.duplicate_gpu", {"rank_a": 1, "rank_b": 0, "device": "1b000", "gpu": "0000:1b:00.0", "rank": None}),
        (WARN + "Cuda failure 'out of memory'", "nccl.cuda_failure", {"error": "out of memory", "source_file": "misc/shmutils.cc", "nature": Nature.ERROR}),
        (WARN + "Cuda failure 802 'system not yet initialized'", "nccl.cuda_failure", {"code": 802, "error": "system not yet initialized"}),
        (INFO + "transport/p2p.cc:240 Cuda failure 'peer access is not supported between these two devices'", "nccl.cuda_failure", {"level": "INFO", "nature": Nature.MEASUREMENT}),
        (WARN + "Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)", "nccl.shm_failed", {"path": "/dev/shm/nccl-WU88OE", "size": 9637892, "error": "No space left on device", "errno": 28}),
        (WARN + "Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes", "nccl.shm_failed", {"size": 9637892}),
        (WARN + "Error while attaching to shared memory segment /dev/shm/nccl-WU88OE (size 9637888), error: No such file or directory (2)", "nccl.shm_failed", {"call": "attaching to", "errno": 2}),
        (WARN + "Call to posix_fallocate failed : No space left on device", "nccl.shm_failed", {"call": "posix_fallocate", "error": "No space left on device"}),
        (WARN + "P2P is disabled between NVLINK connected GPUs 2 and 3. This should not be the case", "nccl.p2p_disabled", {"nvlink": True, "gpu_a": 2, "gpu_b": 3, "nature": Nature.ERROR}),
        (INFO + "P2P is disabled between connected GPUs 2 and 3. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.", "nccl.p2p_disabled", {"nvlink": False, "nature": Nature.MEASUREMENT}),
        (WARN + "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 802 'system not yet initialized'.", "nccl.nvls_failed", {"code": 802, "error": "system not yet initialized"}),
        (WARN + "nvmlDeviceGetHandleByIndex(5) failed: GPU is lost", "nccl.nvml_failed", {"index": 5, "error": "GPU is lost"}),
        (WARN + "Failed to CUDA calloc async 6291456 bytes", "nccl.alloc_failed", {"what": "CUDA calloc async", "bytes": 6291456}),
        (WARN + "Failed to CUDA host alloc 4096 bytes", "nccl.alloc_failed", {"what": "CUDA host alloc"}),
    ],
)  # fmt: skip
def test_lines(text, name, expected):
    event = one(module, text)
    assert event.name == name
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    "text",
    [
        "This may be due to a Cuda failure, see above",
        INFO + "NVLS multicast support is available on dev 3 (NVLS_NCHANNELS 16)",
        "Duplicate GPU detected : see the log",
        "df: /dev/shm 64M",
    ],
)
def test_near_misses(text):
    assert names(module, text) == []


def test_cut_records():
    cut_anywhere(
        module,
        WARN
        + "Error while creating shared memory segment /dev/shm/nccl-WU88OE (size 9637888), error: No space left on device (28)",
    )
