import pytest
from dialects import events

from diagnose.model.event import Nature
from diagnose.parsers import cuda_oom_other

GIB = 1 << 30


def found(text):
    return [one for one in events(cuda_oom_other, text) if one.name == "cuda.oom_other"]


@pytest.mark.parametrize(
    ("text", "library", "requested"),
    [
        ("node-07:1:2 [0] include/checks.h:31 NCCL WARN Cuda failure 2 'out of memory'", "nccl", None),
        ("node-07:1:2 [0] NCCL WARN Cuda failure 'out of memory'", "nccl", None),
        ("NCCL WARN Failed to CUDA host alloc 9664 bytes", "nccl", 9664),
        ("NCCL WARN Failed to CUDA malloc 9664 bytes", "nccl", 9664),
        ("NCCL WARN Failed to CUDA calloc async 3145728 bytes", "nccl", 3145728),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "cublas", None),
        ("RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`", "cublas", None),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "cudnn", None),
        ("RuntimeError: Unable to find a valid cuDNN algorithm to run convolution", "cudnn", None),
        ("RuntimeError: GET was unable to find an engine to execute this computation", None, None),
        ("RuntimeError: FIND was unable to find an engine to execute this computation", "cudnn", None),
        ("torch.AcceleratorError: CUDA error: out of memory", "runtime", None),
        ("RuntimeError: HIP error: out of memory", "runtime", None),
        ("RuntimeError: CUDA driver error: out of memory", "driver", None),
        ("expandable_segments: memory allocation failed with OOM on device 3 while trying to allocate 20971520 bytes (free: 7340032, total: 84942979072)", "driver", 20971520),
        ("terminate called: [CUDA] out of memory", "runtime", None),
        ("cuMemCreate returned CUDA_ERROR_OUT_OF_MEMORY", "runtime", None),
        ("onnxruntime::CudaCall CUDA failure 2: out of memory ; GPU=0", "extension", None),
        ("CUDA error: cudaMalloc failed: out of memory", "extension", None),
        ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 2,147,483,648 bytes (allocated so far: 1,024 bytes).", "cupy", 2 * GIB),
        ("MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /opt/rmm/mr.hpp", "rmm", None),
        ("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 37.50GiB.", "jax", round(37.5 * GIB)),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 52428800 bytes.", "jax", 52428800),
        ("ResourceExhaustedError: OOM when allocating tensor with shape[64,32,56,56] and type half on /job:localhost/device:GPU:2 by allocator GPU_2_bfc", "tensorflow", 64 * 32 * 56 * 56 * 2),
        ("W tensorflow/tsl/framework/bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.50GiB (rounded to 3758096384)requested by op add", "tensorflow", round(3.5 * GIB)),
    ],
)  # fmt: skip
def test_spellings(text, library, requested):
    events_found = found(text)
    assert [one.fields["library"] for one in events_found] == ([library] if library else [])
    assert [one.fields["requested"] for one in events_found] == ([requested] if library else [])


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`",
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 1, Hardware limit: 2.",
        "RuntimeError: CUDA error: too many resources requested for launch",
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
        "Search for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.",
        "NCCL WARN Failed to malloc 9664 bytes",
    ],
)
def test_near_misses(text):
    assert found(text) == []


def test_a_missing_handle_may_follow_from_an_earlier_error():
    text = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"
    assert [one.nature for one in found(text)] == [Nature.EFFECT]


def test_a_failed_reservation_is_one_event():
    text = "failed to allocate 59.40G (63780265984 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    assert [(one.fields["library"], one.fields["requested"]) for one in found(text)] == [
        ("xla", 63780265984)
    ]


def test_a_shape_without_a_type_has_no_size():
    (event,) = found("ResourceExhaustedError: OOM when allocating tensor with shape[64,32]")
    assert event.fields["requested"] is None
