"""GPU out of memory: PyTorch's caching allocator in every generation, and other spellings.

::

    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.82 GiB. GPU 5 has a total capacity
    of 79.11 GiB of which 2.61 GiB is free. Including non-PyTorch memory, this process has 76.49 GiB
    memory in use. Of the allocated memory 61.07 GiB is allocated by PyTorch, and 13.21 GiB is
    reserved by PyTorch but unallocated. ...

``torch.oom``
    The text above on one line or wrapped by a terminal; all sizes in bytes, unknown ones None.

    ==================== ==========================================================================
    requested            what the driver was asked for: the tensor rounded up to a segment
    last_straw           True up to 20 MiB: the card was simply full, the frame shown says nothing
    capacity, free       of the device
    allocated            by tensors, ``private_pools`` included
    reserved             held by the allocator; ``reserved_unallocated`` of it in partly used segments
    unallocated_share    reserved_unallocated / reserved
    process_used         this process, everything included; ``non_torch`` = process_used - reserved
    other_used           other processes; None where the text holds no process figures
    unknown_used         classic text: capacity - free - reserved, which is non_torch and others
    limit                a fraction the process set itself; ``limit_binding`` where it was the reason
    exceeds_capacity     the request alone is larger than the device
    short_by             requested - free
    gpu_index            inside the process, behind ``CUDA_VISIBLE_DEVICES``
    version_generation   torch versions that print this layout
    hint_conf            the variable the hint names
    ==================== ==========================================================================

    Sizes over 1 GiB are rounded to 10 MiB. NVML's *not available* prints as 17179869184.00 GiB and
    is None. In a container NVML gives host process ids and the process does not know itself: with
    no sentence about this process, the process whose use is just above ``reserved`` is this one.
``cuda.oom_other``
    Allocations outside PyTorch's allocator: ``library`` says whose.
``torch.memory_summary``
    The table of ``torch.cuda.memory_summary()``, current figures.

*Empty*: no allocation failed. *Cut off*: what stands before the cut is kept, the rest is None.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Note, Pattern, make_event
from diagnose.parsers.convert import SIZES, size

_HEAD = "out of memory. Tried to allocate"
_NOT_AVAILABLE = 1 << 60
_SMALL_SEGMENTS = 20 << 20
"""Requests up to 10 MiB are rounded to segments of 2 or 20 MiB (c10/cuda/CUDACachingAllocator.cpp)."""

_ROUNDING = 20 << 20
"""A difference of figures printed in GiB with two decimals means nothing below this."""

_SIZE = r"([\d.]+ (?:bytes|[KMGT]i?B))"
_START = LazyPattern(
    r"(CUDA|HIP|XPU) out of memory\. Tried to allocate (?:more than 1EB|" + _SIZE + ")"
)
_CLASSIC = {
    "gpu_index": LazyPattern(r"\(GPU (\d+);"),
    "capacity": LazyPattern(_SIZE + " total capacity"),
    "allocated": LazyPattern(_SIZE + " already allocated"),
    "free": LazyPattern(_SIZE + " free;"),
    "limit": LazyPattern(_SIZE + " allowed;"),
    "reserved": LazyPattern(_SIZE + r" (?:reserved in total by PyTorch|cached)\)"),
}
_MODERN = {
    "gpu_index": LazyPattern(r"GPU (\d+) has a total"),
    "capacity": LazyPattern("total capaci?ty of " + _SIZE),
    "free": LazyPattern("of which " + _SIZE + " is free"),
    "process_used": LazyPattern("this process has " + _SIZE + " memory in use"),
    "limit": LazyPattern(_SIZE + " allowed;"),
    "allocated": LazyPattern("Of the allocated memory " + _SIZE + " is allocated by PyTorch"),
    "private_pools": LazyPattern("with " + _SIZE + " allocated in private pools"),
    "reserved_unallocated": LazyPattern(_SIZE + " is reserved by PyTorch but unallocated"),
}
_PROCESS = LazyPattern(r"Process (\d+) has " + _SIZE + " memory in use")
_HINT = LazyPattern(r"PYTORCH_\w*ALLOC_CONF")
_COMPLETE = LazyPattern(
    r"reserved in total by PyTorch\)|cached\)|PyTorch but unallocated|empty_cache|more than 1EB"
)
_FIELDS = (
    "requested", "last_straw", "gpu_index", "capacity", "free", "allocated", "reserved",
    "reserved_unallocated", "unallocated_share", "private_pools", "process_used", "non_torch",
    "other_used", "unknown_used", "limit", "limit_binding", "exceeds_capacity", "short_by",
)  # fmt: skip


def _starts(line: Line) -> bool:
    return _START.search(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    text = following.text
    if _COMPLETE.search(_joined(lines, "")) or _COMPLETE.search(_joined(lines, " ")):
        return True
    return not text.strip() or _HEAD in text or "Traceback (" in text or text.startswith("  File ")


def _joined(lines: list[Line], glue: str) -> str:
    return glue.join(line.text.strip() if glue else line.text.rstrip("\r") for line in lines)


def _read(lines: list[Line]) -> list[Event]:
    readings = [_figures(_joined(lines, glue)) for glue in (" ", "")]
    text, fields = max(readings, key=lambda each: sum(one is not None for one in each[1].values()))
    start = _START.search(lines[0].text)
    assert start is not None
    _derive(fields)
    hint = _HINT.search(text)
    whole = {
        "backend": start[1].lower(),
        **{name: fields.get(name) for name in _FIELDS},
        "version_generation": _generation(text),
        "hint_conf": hint[0] if hint else None,
    }
    end = lines[-1].number if _COMPLETE.search(text) else lines[0].number
    return [make_event("torch.oom", Nature.ERROR, lines[0], whole, end_line=end)]


def _figures(text: str) -> tuple[str, dict[str, Value]]:
    start = _START.search(text)
    fields: dict[str, Value] = {}
    if start is None:
        return text, fields
    if start[2]:
        fields["requested"] = size(start[2])
    else:
        fields["exceeds_capacity"] = True
    behind = text[start.end() :]
    table = _CLASSIC if _CLASSIC["gpu_index"].search(behind) else _MODERN
    for name, expression in table.items():
        found = expression.search(behind)
        if found:
            fields[name] = int(found[1]) if name == "gpu_index" else _known(found[1])
    allocated, unallocated = fields.get("allocated"), fields.get("reserved_unallocated")
    if isinstance(allocated, int) and isinstance(unallocated, int):
        fields["reserved"] = allocated + unallocated
    elif isinstance(allocated, int) and isinstance(fields.get("reserved"), int):
        fields["reserved_unallocated"] = max(0, _whole(fields, "reserved") - allocated)
    if table is _MODERN:
        _add_processes(
            fields, [(found[1], _known(found[2])) for found in _PROCESS.finditer(behind)]
        )
    elif all(isinstance(fields.get(name), int) for name in ("capacity", "free", "reserved")):
        rest = _whole(fields, "capacity") - _whole(fields, "free") - _whole(fields, "reserved")
        fields["unknown_used"] = max(0, rest)
    return text, fields


def _add_processes(fields: dict[str, Value], processes: list[tuple[str, int | None]]) -> None:
    """Tell this process from the others; formats of NVML's figures are in the module's docstring."""
    used = [amount for _, amount in processes if amount is not None]
    if "process_used" not in fields and isinstance(fields.get("reserved"), int):
        above = [amount for amount in used if amount >= _whole(fields, "reserved")]
        if above:
            fields["process_used"] = min(above)
            used.remove(min(above))
    known = [isinstance(fields.get(name), int) for name in ("process_used", "capacity", "free")]
    if used:
        fields["other_used"] = sum(used)
    elif processes and known[0] and all(amount is not None for _, amount in processes):
        fields["other_used"] = 0
    elif all(known):
        rest = _whole(fields, "capacity") - _whole(fields, "free") - _whole(fields, "process_used")
        fields["other_used"] = rest if rest >= _ROUNDING else 0


def _derive(fields: dict[str, Value]) -> None:
    def known(*names: str) -> bool:
        return all(isinstance(fields.get(name), int) for name in names)

    if known("requested"):
        fields["last_straw"] = _whole(fields, "requested") <= _SMALL_SEGMENTS
    if known("reserved", "reserved_unallocated") and fields["reserved"]:
        share = _whole(fields, "reserved_unallocated") / _whole(fields, "reserved")
        fields["unallocated_share"] = round(share, 4)
    if known("process_used", "reserved"):
        used = _whole(fields, "process_used") - _whole(fields, "reserved")
        fields["non_torch"] = max(0, used)
    if known("requested", "free"):
        fields["short_by"] = _whole(fields, "requested") - _whole(fields, "free")
    if known("requested", "capacity"):
        fields["exceeds_capacity"] = _whole(fields, "requested") > _whole(fields, "capacity")
    if known("limit", "reserved", "requested", "free"):
        over = _whole(fields, "reserved") + _whole(fields, "requested") > _whole(fields, "limit")
        fields["limit_binding"] = over and _whole(fields, "free") >= _whole(fields, "requested")


def _whole(fields: dict[str, Value], name: str) -> int:
    value = fields[name]
    assert isinstance(value, int)
    return value


def _known(text: str) -> int | None:
    amount = size(text)
    return amount if amount < _NOT_AVAILABLE else None


def _generation(text: str) -> str | None:
    """Date the build by layout and class name (literals of the released wheels 1.12 to 2.14)."""
    if _CLASSIC["gpu_index"].search(text):
        return "1.13-2.0" if "torch.cuda.OutOfMemoryError" in text else "<=1.12"
    if "total capacty" in text:
        return "2.1"
    if "has a total" not in text:
        return None
    return "2.2-2.3" if "torch.cuda.OutOfMemoryError" in text else ">=2.4"


TORCH_OOM = BlockParser(
    name="torch-oom",
    title="PyTorch's out-of-memory text, all generations",
    opens=(_HEAD,),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("torch.oom",),
    sample=(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.82 GiB. GPU 5 has a total"
        " capacity of 79.11 GiB of which 2.61 GiB is free. Including non-PyTorch memory, this"
        " process has 76.49 GiB memory in use. Of the allocated memory 61.07 GiB is allocated by"
        " PyTorch, and 13.21 GiB is reserved by PyTorch but unallocated. If reserved but"
        " unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
        " to avoid fragmentation.\n"
    ),
    maximum=14,
)


def _other(
    library: str, regex: str, source: str, sample: str, nature: Nature = Nature.ERROR
) -> Pattern:
    return Pattern(
        event="cuda.oom_other",
        regex=regex,
        nature=nature,
        source=source,
        sample=sample,
        types={"requested": _bytes, "limit": _bytes, "allocated": _bytes, "gpu_index": int},
        constants={"library": library},
    )


def _bytes(text: str) -> int | None:
    return _known(text.rstrip("."))


_CALL = r" when calling `(?P<call>\w+)"
OTHER_OOM = LineParser(
    name="gpu-oom-other",
    title="GPU memory exhausted outside PyTorch's allocator",
    patterns=(
        _other("cublas", rf"(?P<status>CUBLAS_STATUS_ALLOC_FAILED){_CALL}",
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
        _other("nccl", r"Failed to CUDA (?:host )?(?:alloc|calloc|malloc) (?:async )?(?P<requested>\d+) bytes",
               "NCCL 2.10 to 2.30, src/include/alloc.h",
               "alloc.h:178 NCCL WARN Failed to CUDA calloc async 4194304 bytes"),
        _other("driver", r"CUDA driver error: out of memory",
               "PyTorch 2.1 and later, c10/cuda/driver_api.h, expandable segments",
               "RuntimeError: CUDA driver error: out of memory"),
        _other("runtime", r"CUDA error: out of memory",
               "PyTorch, c10/cuda/CUDAException.cpp: context, pinned memory, extension",
               "RuntimeError: CUDA error: out of memory"),
        _other("cudaMallocAsync", r"Allocation on device (?P<gpu_index>\d+) would exceed allowed memory",
               "PyTorch 2.0 and later, c10/cuda/CUDAMallocAsyncAllocator.cpp",
               "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)"),
        _other("torch", r"Allocation was preemptively rejected because it would exceed per_process_memory_fraction",
               "PyTorch 2.14, c10/cuda/CUDACachingAllocator.cpp",
               "torch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 2097152"),
        _other("mps", r"MPS backend out of memory \(MPS allocated: (?P<allocated>[\d.]+ \w+), other allocations: [^)]*\)\. Tried to allocate (?P<requested>[\d.]+ \w+)",
               "PyTorch, aten/src/ATen/mps/MPSAllocator.mm",
               "RuntimeError: MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.00 GB, max allowed: 9.07 GB). Tried to allocate 256.00 MB on private pool."),
        _other("jax", r"RESOURCE_EXHAUSTED: Out of memory while trying to allocate (?P<requested>\d[\d.]* ?[KMGT]?i?(?:B|bytes))",
               "XLA, pjrt and bfc_allocator",
               "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 41.20GiB."),
        _other("tensorflow", r"Allocator \(GPU_\d+_bfc\) ran out of memory trying to allocate (?P<requested>[\d.]+ ?\w+)",
               "TensorFlow, tsl/framework/bfc_allocator.cc",
               "W bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 10.00GiB (rounded to 10737418240)requested by op gemm"),
        _other("tensorflow", r"OOM when allocating tensor with shape\[(?P<shape>[\d,]*)\]",
               "TensorFlow, core/framework/op_kernel.cc",
               "ResourceExhaustedError: OOM when allocating tensor with shape[256,64,112,112] and type float on /job:localhost/device:GPU:0 by allocator GPU_0_bfc"),
        _other("xla", r"failed to allocate \S+ \((?P<requested>\d+ bytes)\) from device: CUDA_ERROR_OUT_OF_MEMORY",
               "XLA, stream_executor/cuda: pre-allocation at the start",
               "failed to allocate 75.0G (80530636800 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        _other("cupy", r"cupy\.cuda\.memory\.OutOfMemoryError: Out of memory allocating (?P<requested>[\d,]+ bytes)",
               "CuPy, cupy/cuda/memory.pyx",
               "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes (allocated so far: 512 bytes)."),
        _other("rmm", r"std::bad_alloc: out_of_memory: CUDA error",
               "RMM, include/rmm/error.hpp",
               "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /opt/rmm/cuda_memory_resource.hpp"),
        _other("extension", r"cudaMalloc failed: out of memory|CUDA failure 2: out of memory|ggml_cuda\w*: .{0,200}out of memory",
               "ggml and ONNX Runtime, their own cudaMalloc",
               "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory"),
    ),
)  # fmt: skip


_TABLE = "PyTorch CUDA memory summary, device ID"
_ROWS = {
    "Allocated memory": "allocated",
    "Active memory": "active",
    "Requested memory": "requested",
    "GPU reserved memory": "reserved",
    "Non-releasable memory": "non_releasable",
}
_ROW = LazyPattern(
    r"\|\s*([A-Z][\w -]*?) *\|\s*(\d+) *([KMGTP]?i?B)\s*\|\s*(\d+) *([KMGTP]?i?B)\s*\|"
)
_COUNTS = LazyPattern(r"CUDA OOMs: (\d+) *\| *cudaMalloc retries: (\d+)")


def _summary_ends(lines: list[Line], following: Line) -> bool:
    closed = sum(line.text.strip().startswith("|====") for line in lines) >= 2
    return closed or not following.text.strip().startswith("|")


def _read_summary(lines: list[Line]) -> Iterator[Event]:
    device = re.search(r"device ID (\d+)", lines[0].text)
    fields: dict[str, Value] = {name: None for name in (*_ROWS.values(), "ooms", "retries")}
    for line in lines:
        row = _ROW.search(line.text)
        counts = _COUNTS.search(line.text)
        if counts:
            fields["ooms"], fields["retries"] = int(counts[1]), int(counts[2])
        elif row and row[1] in _ROWS:
            fields[_ROWS[row[1]]] = _table_size(row[2], row[3])
            fields[f"{_ROWS[row[1]]}_peak"] = _table_size(row[4], row[5])
    if fields["allocated"] is None and fields["ooms"] is None:
        raise Note("a table of torch.cuda.memory_summary() is cut off before its first row")
    if fields["reserved"] and fields["non_releasable"] is not None:
        share = _whole(fields, "non_releasable") / _whole(fields, "reserved")
        fields["non_releasable_share"] = round(share, 4)
    if fields["active"] is not None and fields["allocated"] is not None:
        fields["active_inactive"] = _whole(fields, "active") - _whole(fields, "allocated")
    fields["gpu_index"] = int(device[1]) if device else None
    yield make_event(
        "torch.memory_summary", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )


def _table_size(number: str, unit: str) -> int:
    return int(number) * (1 << 50 if unit == "PiB" else SIZES[unit.lower()])


MEMORY_SUMMARY = BlockParser(
    name="torch-memory-summary",
    title="the table of torch.cuda.memory_summary()",
    opens=(_TABLE,),
    starts=lambda line: _TABLE in line.text,
    ends=_summary_ends,
    read=_read_summary,
    emits=("torch.memory_summary",),
    sample=(
        "|                  PyTorch CUDA memory summary, device ID 3                 |\n"
        "|---------------------------------------------------------------------------|\n"
        "|            CUDA OOMs: 1            |        cudaMalloc retries: 14        |\n"
        "|===========================================================================|\n"
        "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
        "|---------------------------------------------------------------------------|\n"
        "| Allocated memory      |  62536 MiB |  70112 MiB |  90211 GiB |  90149 GiB |\n"
        "|       from large pool |  62190 MiB |  69740 MiB |  88120 GiB |  88059 GiB |\n"
        "|---------------------------------------------------------------------------|\n"
        "| GPU reserved memory   |  76064 MiB |  78310 MiB | 141200 MiB |  65136 MiB |\n"
        "|---------------------------------------------------------------------------|\n"
        "| Non-releasable memory |  13527 MiB |  15010 MiB |  41877 GiB |  41864 GiB |\n"
        "|===========================================================================|\n"
    ),
    maximum=80,
)

PARSERS = (TORCH_OOM, OTHER_OOM, MEMORY_SUMMARY)
