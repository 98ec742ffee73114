"""PyTorch out of GPU memory: the texts of all its allocators, of all generations.

::

    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.94 GiB. GPU 6 has a total capacity
    of 79.25 GiB of which 1.37 GiB is free. Including non-PyTorch memory, this process has 77.87 GiB
    memory in use. Of the allocated memory 64.18 GiB is allocated by PyTorch, and 11.46 GiB is
    reserved by PyTorch but unallocated. ...

``torch.oom`` is one such text, on one line or wrapped by a terminal. Sizes are bytes; what the text
does not say is None.

======================= ==========================================================================
``backend``             ``cuda``, ``hip``, ``xpu``, ``mps`` or ``cudaMallocAsync``
``requested``           what the driver was asked for: the tensor rounded up to a segment
``capacity``, ``free``  of the device
``allocated``           by tensors, ``private_pools`` of CUDA graphs included
``reserved``            held by the allocator; ``reserved_unallocated`` of it in partly used segments
``process_used``        this process, everything included
``other_pids``          processes that the text lists beside this one
``limit``               a share of the device that the process allowed itself
``gpu_index``           inside the process, behind ``CUDA_VISIBLE_DEVICES``
``version_generation``  torch versions that print this layout
``hint_conf``           the variable that the hint names
======================= ==========================================================================

and what follows from these figures, see ``oom_figures``. The facts add the phase, the code, the step
and what is known of the other ranks.

By the time the text is printed, the allocator has given all free segments back and tried again, so
``torch.cuda.empty_cache()`` would have changed nothing.

*Empty*: no allocation of PyTorch failed, see ``cuda_oom_other`` for those of other libraries.
*Cut off*: what stands before the cut is kept, the rest is None.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.oom_figures import SIZE, Fields, add_processes, amount, derive

EVENT = "torch.oom"
FIGURES = (
    "requested", "last_straw", "gpu_index", "capacity", "free", "allocated", "reserved",
    "reserved_unallocated", "unallocated_share", "reachable", "private_pools", "pool_share",
    "process_used", "non_torch", "other_used", "other_count", "other_smallest", "other_largest",
    "other_pids", "unknown_used", "limit", "limit_binding", "exceeds_capacity", "short_by",
)  # fmt: skip

_TRIED = "Tried to allocate"
_MPS = "MPS backend out of memory (MPS allocated"
_START = LazyPattern(
    r"(CUDA|HIP|XPU) out of memory\. Tried to allocate (?:more than 1EB|" + SIZE + ")"
)
_BODY = LazyPattern(
    r"(?:^\s*|OutOfMemoryError: )()Tried to allocate "
    + SIZE
    + r"(?:\. GPU \d+ has a total capaci?ty| \(GPU \d+; [\d.]+ [KMGT]?i?B total capacity|\.?\s*$)"
)
"""The text without its first words, as it is pasted into a ticket or wrapped before."""
_DEVICE = LazyPattern(r"GPU \d+ has a total capaci?ty|[KMGT]?i?B total capacity|OutOfMemoryError: ")
"""What a text without its first words must say to be one."""
_MPS_START = LazyPattern(
    r"MPS backend out of memory \(MPS allocated: " + SIZE + ", other allocations: " + SIZE
)
_CLASSIC = {
    "gpu_index": LazyPattern(r"\(GPU (\d+);"),
    "capacity": LazyPattern(SIZE + " total capacity"),
    "allocated": LazyPattern(SIZE + " already allocated"),
    "free": LazyPattern(SIZE + " free;"),
    "limit": LazyPattern(SIZE + " allowed;"),
    "reserved": LazyPattern(SIZE + r" (?:reserved in total by PyTorch|cached)\)"),
}
_MODERN = {
    "gpu_index": LazyPattern(r"GPU (\d+) has a total"),
    "capacity": LazyPattern("total capaci?ty of " + SIZE),
    "free": LazyPattern("of which " + SIZE + " is free"),
    "process_used": LazyPattern("this process has " + SIZE + " memory in use"),
    "limit": LazyPattern(SIZE + " allowed;"),
    "allocated": LazyPattern("Of the allocated memory " + SIZE + " is allocated by PyTorch"),
    "private_pools": LazyPattern("with " + SIZE + " allocated in private pools"),
    "reserved_unallocated": LazyPattern(SIZE + " is reserved by PyTorch but unallocated"),
}
_OF_MPS = {
    "allocated": LazyPattern("MPS allocated: " + SIZE),
    "other_used": LazyPattern("other allocations: " + SIZE),
    "limit": LazyPattern("max allowed: " + SIZE),
    "requested": LazyPattern("Tried to allocate " + SIZE),
}
_PROCESS = LazyPattern(r"Process (\d{1,10}) has " + SIZE + " memory in use")
_HINT = LazyPattern(r"PYTORCH_\w*ALLOC_CONF")
_COMPLETE = LazyPattern(
    r"reserved in total by PyTorch\)|cached\)|PyTorch but unallocated|empty_cache|more than 1EB"
    r"|on (?:shared|private) pool"
)


def _starts(line: Line) -> bool:
    return any(one.search(line.text) for one in (_START, _MPS_START, _BODY))


def _ends(lines: list[Line], following: Line) -> bool:
    text = following.text
    if _COMPLETE.search(_joined(lines, "")) or _COMPLETE.search(_joined(lines, " ")):
        return True
    if not text.strip() or _TRIED in text or _MPS in text:
        return True
    return "Traceback (" in text or text.startswith("  File ")


def _joined(lines: list[Line], glue: str) -> str:
    return glue.join(line.text.strip() if glue else line.text.rstrip("\r") for line in lines)


def _read(lines: list[Line]) -> list[Event]:
    # A blank put into a number that a terminal broke makes another number, so it comes second.
    readings = [_figures(_joined(lines, glue)) for glue in ("", " ")]
    text, fields = max(readings, key=lambda each: sum(one is not None for one in each[1].values()))
    if not any(one.search(text) for one in (_START, _MPS_START, _DEVICE)):
        return []
    derive(fields)
    if fields["backend"] == "mps":
        _derive_mps(fields)
    hint = _HINT.search(text)
    end = lines[-1].number if _COMPLETE.search(text) else lines[0].number
    return [_event(lines[0], fields, end, _generation(text), hint[0] if hint else None)]


def _event(
    line: Line, fields: Fields, end: int, generation: str | None = None, hint: str | None = None
) -> Event:
    known: dict[str, Value] = {"backend": fields["backend"]}
    known |= {name: fields.get(name) for name in FIGURES}
    known |= {"version_generation": generation, "hint_conf": hint}
    return make_event(EVENT, Nature.ERROR, line, known, end_line=end)


def _figures(text: str) -> tuple[str, Fields]:
    start = _START.search(text) or _BODY.search(text)
    if start is None:
        return text, {"backend": "mps", **_found(_OF_MPS, text)}
    fields: Fields = {"backend": start[1].lower() or ("hip" if "_HIP_" in text else "cuda")}
    if start[2]:
        fields["requested"] = amount(start[2])
    else:
        fields["exceeds_capacity"] = True
    behind = text[start.end(2) if start[2] else start.end() :]
    fields |= _found(_CLASSIC if _CLASSIC["gpu_index"].search(behind) else _MODERN, behind)
    allocated, unallocated = fields.get("allocated"), fields.get("reserved_unallocated")
    if isinstance(allocated, int) and isinstance(unallocated, int):
        fields["reserved"] = allocated + unallocated
    processes = [(int(found[1]), amount(found[2])) for found in _PROCESS.finditer(behind)]
    add_processes(fields, processes)
    return text, fields


def _found(table: dict[str, LazyPattern[str]], text: str) -> Fields:
    fields: Fields = {}
    for name, expression in table.items():
        found = expression.search(text)
        if found:
            fields[name] = int(found[1]) if name == "gpu_index" else amount(found[1])
    return fields


def _derive_mps(fields: Fields) -> None:
    """Say what was missing under the watermark, which is a share of memory all programs use."""
    names = ("allocated", "other_used", "requested", "limit")
    used, others, requested, limit = (fields.get(name) for name in names)
    if all(isinstance(one, int) for one in (used, others, requested, limit)):
        assert isinstance(used, int) and isinstance(others, int)
        assert isinstance(requested, int) and isinstance(limit, int)
        fields["short_by"] = used + others + requested - limit


def _generation(text: str) -> str | None:
    """Date the build by layout and class name (literals of the released wheels 1.12 to 2.14)."""
    if _CLASSIC["gpu_index"].search(text):
        return "1.13-2.0" if "torch.cuda.OutOfMemoryError" in text else "<=1.12"
    if "total capacty" in text:
        return "2.1"
    if "has a total" not in text:
        return None
    if "torch.cuda.OutOfMemoryError" in text:
        return "2.2-2.3"
    return "2.10" if "PYTORCH_ALLOC_CONF" in text else ">=2.4"


TORCH_OOM = BlockParser(
    name="torch-oom",
    title="PyTorch's out-of-memory text, all generations",
    opens=(_TRIED, _MPS),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=(EVENT,),
    sample=(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.94 GiB. GPU 6 has a total"
        " capacity of 79.25 GiB of which 1.37 GiB is free. Including non-PyTorch memory, this"
        " process has 77.87 GiB memory in use. Of the allocated memory 64.18 GiB is allocated by"
        " PyTorch, and 11.46 GiB is reserved by PyTorch but unallocated. If reserved but"
        " unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
        " to avoid fragmentation.\n"
    ),
    maximum=14,
)

_ASYNC = "would exceed allowed memory. (out of memory)"
_ASYNC_DEVICE = LazyPattern(r"Allocation on device (\d+) would exceed allowed memory")
_ASYNC_ROWS = {
    "allocated": LazyPattern(r"Currently allocated\s*: " + SIZE),
    "requested": LazyPattern(r"Requested\s*: " + SIZE),
    "capacity": LazyPattern(r"Device limit\s*: " + SIZE),
    "free": LazyPattern(r"Free \(according to CUDA\)\s*: " + SIZE),
    "limit": LazyPattern(r"user-supplied memory fraction\)\s*: " + SIZE),
}


def _async_ends(lines: list[Line], following: Line) -> bool:
    text = following.text.lstrip()
    known = ("Currently allocated", "Requested", "Device limit", "Free (", "PyTorch limit", ": ")
    return not text.startswith(known)


def _read_async(lines: list[Line]) -> list[Event]:
    """Read the block of the driver's own pool, which knows no reserved memory and no holes."""
    text = _joined(lines, " ")
    device = _ASYNC_DEVICE.search(text)
    fields: Fields = {"backend": "cudaMallocAsync", **_found(_ASYNC_ROWS, text)}
    fields["gpu_index"] = int(device[1]) if device else None
    pool = {**fields, "reserved": fields.get("allocated")}
    derive(pool)
    names = ("last_straw", "short_by", "exceeds_capacity", "unknown_used", "limit_binding")
    fields |= {name: pool[name] for name in names if name in pool}
    return [_event(lines[0], fields, lines[-1].number)]


ASYNC_OOM = BlockParser(
    name="torch-oom-async",
    title="The out-of-memory block of PyTorch's backend cudaMallocAsync",
    opens=(_ASYNC,),
    starts=lambda line: _ASYNC_DEVICE.search(line.text) is not None,
    ends=_async_ends,
    read=_read_async,
    emits=(EVENT,),
    sample=(
        "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
        "Currently allocated     : 20.41 GiB\n"
        "Requested               : 96.00 MiB\n"
        "Device limit            : 23.64 GiB\n"
        "Free (according to CUDA): 0 bytes\n"
        "PyTorch limit (set by user-supplied memory fraction)\n"
        "                        : 17179869184.00 GiB\n"
    ),
    maximum=8,
)


def _own_limit(regex: str, sample: str) -> Pattern:
    return Pattern(
        event=EVENT,
        regex=regex,
        nature=Nature.ERROR,
        source="PyTorch 2.14, c10/cuda/CUDACachingAllocator.cpp",
        sample=sample,
        types={name: amount for name in ("requested", "allocated", "limit", "capacity")},
        constants={
            "backend": "cuda",
            **dict.fromkeys(FIGURES),
            "limit_binding": True,
            "version_generation": ">=2.4",
            "hint_conf": None,
        },
    )


_ANY = r"[\d.]+(?: bytes| [KMGT]i?B)?"
OWN_LIMIT = LineParser(
    name="torch-oom-own-limit",
    title="PyTorch's texts of an allocation over the share it was allowed",
    patterns=(
        _own_limit(rf"Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit\.(?: Requested size: (?P<requested>{_ANY}))?",
                   "torch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 4194304"),
        _own_limit(rf"Preemptively rejecting allocation: requested (?P<requested>{_ANY}), but total_allocated_memory \((?P<allocated>{_ANY})\) \+ requested size would exceed memory limit \((?P<limit>{_ANY}) = [\d.]+% of (?P<capacity>{_ANY})\)",
                   "Preemptively rejecting allocation: requested 4.00 MiB, but total_allocated_memory (39.50 GiB) + requested size would exceed memory limit (39.55 GiB = 50% of 79.11 GiB). Set throw_on_cudamalloc_oom:false to disable."),
    ),
)  # fmt: skip

PARSERS = (TORCH_OOM, ASYNC_OOM, OWN_LIMIT)
