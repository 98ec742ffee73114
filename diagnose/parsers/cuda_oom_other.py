"""GPU memory exhausted outside PyTorch's allocator: other libraries, the driver, JAX, TensorFlow.

::

    RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
    alloc.h:178 NCCL WARN Failed to CUDA calloc async 4194304 bytes

``cuda.oom_other`` says under ``library`` who asked. Sizes are bytes; what the text does not say is
None. ``requested`` of a TensorFlow shape is computed from it. The facts add the phase, the code and
whether it was the process's ``first_call`` to CUDA. ``cuda.pool_figures`` are what TensorFlow prints
of its pool behind a failure: ``limit`` and ``in_use``.

Shared memory of a multiprocessor (Triton's ``out of resource: shared memory``) and registers
(``too many resources requested``) are no device memory, and no events here.

*Empty*: no other library failed to get memory. *Cut off*: a line is a record.
"""

from math import prod

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Note, Pattern, make_event
from diagnose.parsers.oom_figures import amount

FIELDS = ("requested", "free", "capacity", "allocated", "limit", "gpu_index")
OF_THE_FACTS = (
    "phase",
    "frame",
    "code",
    "engine",
    "unused",
    "first_call",
    "foreign",
    "foreign_used",
)

BYTES = {
    "float": 4, "half": 2, "bfloat16": 2, "double": 8, "int32": 4, "int64": 8, "int8": 1,
    "uint8": 1, "bool": 1, "complex64": 8,
}  # fmt: skip
"""Size of an element by TensorFlow's name of the type."""

_COMPANION = LazyPattern(r"Search for `cudaError|failed to allocate \S+ \(\d+ bytes\) from device")
"""The line of a documentation link behind an error, and one that a pattern of its own reads."""


def _other(
    library: str, regex: str, source: str, sample: str, nature: Nature = Nature.ERROR
) -> Pattern:
    sizes = {name: amount for name in ("requested", "free", "capacity", "allocated", "limit")}
    return Pattern(
        event="cuda.oom_other",
        regex=regex,
        nature=nature,
        source=source,
        sample=sample,
        types={**sizes, "gpu_index": int},
        constants={**dict.fromkeys((*FIELDS, *OF_THE_FACTS)), "library": library},
    )


def _complete(event: Event, line: Line) -> Event | None:
    if event.fields["library"] == "runtime" and _COMPANION.search(line.text):
        return None
    shape, kind = event.fields.pop("shape", None), event.fields.pop("element", None)
    if isinstance(shape, str) and isinstance(kind, str) and kind in BYTES:
        event.fields["requested"] = prod(map(int, filter(None, shape.split(",")))) * BYTES[kind]
    return event


_CALL = r" when calling `(?P<call>\w+)"
_QUANTITY = r"\d[\d.,]* ?(?:[KMGTP]i?)?(?:B|bytes)"
OTHER_OOM = LineParser(
    name="gpu-oom-other",
    title="GPU memory exhausted outside PyTorch's allocator",
    patterns=(
        _other("cublas", rf"(?P<status>(?:CU|HIP)BLAS_STATUS_ALLOC_FAILED){_CALL}",
               "PyTorch, aten/src/ATen/cuda/Exceptions.cpp",
               "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        _other("cublas", r"(?P<status>CUBLAS_STATUS_NOT_INITIALIZED) when calling `(?P<call>cublasCreate)",
               "PyTorch, aten/src/ATen/cuda/Exceptions.cpp: out of memory, or an earlier sticky error",
               "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
               Nature.EFFECT),
        _other("cudnn", r"cuDNN error: (?P<status>CUDNN_STATUS_ALLOC_FAILED|CUDNN_STATUS_NOT_INITIALIZED)",
               "PyTorch, aten/src/ATen/cudnn/Exceptions.h",
               "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        _other("cudnn", r"Unable to find a valid cuDNN algorithm|FIND was unable to find an engine to execute",
               "PyTorch, aten/src/ATen/native/cudnn/Conv_v7.cpp and Conv_v8.cpp",
               "RuntimeError: FIND was unable to find an engine to execute this computation"),
        _other("nccl", r"Cuda failure (?:\d+ )?'out of memory'",
               "NCCL 2.10 to 2.30, src/include/checks.h",
               "node-07:812:901 [3] NCCL WARN Cuda failure 'out of memory'"),
        _other("nccl", r"Failed to CUDA (?:host )?(?:alloc|calloc|malloc) (?:async )?(?P<requested>\d+ bytes)",
               "NCCL 2.10 to 2.30, src/include/alloc.h",
               "alloc.h:178 NCCL WARN Failed to CUDA calloc async 4194304 bytes"),
        _other("driver", r"CUDA driver error: out of memory",
               "PyTorch 2.1 and later, c10/cuda/driver_api.h, expandable segments",
               "RuntimeError: CUDA driver error: out of memory"),
        _other("driver", r"expandable_segments: memory (?:mapping|allocation) failed with OOM on device (?P<gpu_index>\d+) while trying to (?:map|allocate) (?P<requested>\d+ bytes)"
               r"(?: \(free: (?P<free>\d+), total: (?P<capacity>\d+)\))?",
               "PyTorch 2.14, c10/cuda/CUDACachingAllocator.cpp",
               "expandable_segments: memory mapping failed with OOM on device 3 while trying to map 20971520 bytes (free: 7340032, total: 84942979072)"),
        _other("runtime", r"(?:CUDA|HIP) error: out of memory",
               "PyTorch, c10/cuda/CUDAException.cpp: context, pinned memory, extension",
               "RuntimeError: CUDA error: out of memory"),
        _other("runtime", r"cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|\[CUDA\] out of memory",
               "CUDA runtime and driver API: the name of the error, as extensions print it",
               "RuntimeError: cudaMallocHost returned cudaErrorMemoryAllocation"),
        _other("jax", rf"RESOURCE_EXHAUSTED: Out of memory while trying to allocate (?P<requested>{_QUANTITY})",
               "XLA, pjrt and bfc_allocator",
               "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 41.20GiB."),
        _other("tensorflow", rf"Allocator \(GPU_(?P<gpu_index>\d+)_bfc\) ran out of memory trying to allocate (?P<requested>{_QUANTITY})",
               "TensorFlow, tsl/framework/bfc_allocator.cc",
               "W bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 10.00GiB (rounded to 10737418240)requested by op gemm"),
        _other("tensorflow", r"OOM when allocating tensor with shape ?\[(?P<shape>[\d,]*)\](?: and type (?P<element>\w+))?(?: on \S*GPU:(?P<gpu_index>\d+))?",
               "TensorFlow, core/framework/op_kernel.cc",
               "ResourceExhaustedError: OOM when allocating tensor with shape[128,32,56,56] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"),
        _other("xla", r"failed to allocate \S+ \((?P<requested>\d+ bytes)\) from device: CUDA_ERROR_OUT_OF_MEMORY",
               "XLA, stream_executor/cuda: pre-allocation at the start",
               "failed to allocate 60.0G (64424509440 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        _other("cupy", r"cupy\.cuda\.memory\.OutOfMemoryError: Out of memory allocating (?P<requested>[\d,]+ bytes)(?: \(allocated so far: (?P<allocated>[\d,]+ bytes))?",
               "CuPy, cupy/cuda/memory.pyx",
               "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes (allocated so far: 512 bytes)."),
        _other("rmm", r"std::bad_alloc: out_of_memory: CUDA error",
               "RMM, include/rmm/error.hpp",
               "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /opt/rmm/cuda_memory_resource.hpp"),
        _other("extension", r"cudaMalloc failed: out of memory|CUDA failure 2: out of memory|ggml_cuda\w*: .{0,200}out of memory",
               "ggml and ONNX Runtime, their own cudaMalloc",
               "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory"),
    ),
    refine=_complete,
)  # fmt: skip

_POOL_ROW = LazyPattern(r"^\s*(Limit|InUse|MaxInUse|LargestAllocSize|MaxAllocSize):\s+(\d+)\s*$")
_POOL_LINE = LazyPattern(r"^\s*\w+:\s+\d+\s*$")
_POOL_NAMES = {"Limit": "limit", "InUse": "in_use", "MaxInUse": "in_use_peak"}


def _read_pool(lines: list[Line]) -> list[Event]:
    rows = (_POOL_ROW.search(line.text) for line in lines[1:])
    fields: dict[str, Value] = dict.fromkeys(_POOL_NAMES.values())
    fields |= {_POOL_NAMES[row[1]]: int(row[2]) for row in rows if row and row[1] in _POOL_NAMES}
    if fields["limit"] is None:
        raise Note("figures of TensorFlow's memory pool are cut off behind their first line")
    end = lines[-1].number
    return [make_event("cuda.pool_figures", Nature.MEASUREMENT, lines[0], fields, end_line=end)]


POOL_FIGURES = BlockParser(
    name="tensorflow-memory-pool",
    title="What TensorFlow prints of its GPU memory pool when it is exhausted",
    opens=("Stats:",),
    starts=lambda line: "_allocator.cc" in line.raw and line.text.rstrip().endswith("Stats:"),
    ends=lambda lines, following: _POOL_LINE.search(following.text) is None,
    read=_read_pool,
    emits=("cuda.pool_figures",),
    sample=(
        "2026-01-05 10:00:00.120000: I external/local_tsl/tsl/framework/bfc_allocator.cc:1114] Stats: \n"
        "Limit:                     22530752512\n"
        "InUse:                     21474836480\n"
        "MaxInUse:                  21508390912\n"
        "NumAllocs:                        7104\n"
    ),
    maximum=16,
)

PARSERS = (OTHER_OOM, POOL_FIGURES)
