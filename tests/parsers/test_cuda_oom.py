import pytest

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line
from diagnose.parsers.base import Note
from diagnose.parsers.cuda_oom import MEMORY_SUMMARY, OTHER_OOM, TORCH_OOM


def figures(event):
    return {name: value for name, value in event.fields.items() if name != "hint_conf"}


GIB = 1 << 30
MIB = 1 << 20


def read(parser, text):
    lines = [Line("a.log", n, raw, raw) for n, raw in enumerate(text.splitlines(), 1)]
    found = []
    while lines:
        line = lines.pop(0)
        if not parser.starts(line):
            continue
        record = [line]
        while lines and len(record) < parser.maximum and not parser.ends(record, lines[0]):
            record.append(lines.pop(0))
        found.extend(parser.read(record))
    return found


@pytest.mark.parametrize("pattern", OTHER_OOM.patterns, ids=lambda one: one.sample[:40])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert any(literal in pattern.sample for literal in pattern.required)
    assert pattern.match(Line("a", 1, pattern.sample, pattern.sample)) is not None


MODERN = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.82 GiB. GPU 5 has a total capacity "
    "of 79.11 GiB of which 2.61 GiB is free. Including non-PyTorch memory, this process has 76.49 GiB "
    "memory in use. Of the allocated memory 61.07 GiB is allocated by PyTorch, and 13.21 GiB is reserved "
    "by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)
CLASSIC = (
    "RuntimeError: CUDA out of memory. Tried to allocate 1.12 GiB (GPU 3; 39.45 GiB total capacity; 36.90 "
    "GiB already allocated; 642.19 MiB free; 37.22 GiB reserved in total by PyTorch)"
)
CONTAINER = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity "
    "of 79.11 GiB of which 11.94 MiB is free. Process 1884213 has 30.40 GiB memory in use. Process 2210457 "
    "has 48.68 GiB memory in use. Of the allocated memory 47.12 GiB is allocated by PyTorch, and 402.51 MiB "
    "is reserved by PyTorch but unallocated."
)


def test_modern_text():
    (event,) = read(TORCH_OOM, MODERN)
    fields = event.fields
    assert fields["requested"] == round(3.82 * GIB)
    assert fields["gpu_index"] == 5
    assert fields["capacity"] == round(79.11 * GIB)
    assert fields["reserved"] == pytest.approx(74.28 * GIB, abs=2)
    assert fields["reserved_unallocated"] == round(13.21 * GIB)
    assert fields["unallocated_share"] == pytest.approx(0.178, abs=1e-3)
    assert fields["non_torch"] == pytest.approx(2.21 * GIB, abs=2)
    assert fields["other_used"] == 0
    assert fields["version_generation"] == ">=2.4"
    assert fields["hint_conf"] == "PYTORCH_CUDA_ALLOC_CONF"
    assert fields["last_straw"] is False


def test_classic_text():
    (event,) = read(TORCH_OOM, CLASSIC)
    fields = event.fields
    assert fields["allocated"] == round(36.90 * GIB)
    assert fields["reserved_unallocated"] == pytest.approx(0.32 * GIB, abs=2)
    assert fields["unknown_used"] == pytest.approx(1.60 * GIB, abs=0.01 * GIB)
    assert fields["other_used"] is None
    assert fields["version_generation"] == "<=1.12"


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("text", [MODERN, CLASSIC, CONTAINER])
def test_text_wrapped_by_a_terminal_reads_the_same(text, width):
    (whole,) = read(TORCH_OOM, text)
    head, tail = text[:100], text[100:]
    wrapped = "\n".join([head] + [tail[at : at + width] for at in range(0, len(tail), width)])
    (event,) = read(TORCH_OOM, wrapped + "\nnext line\n")
    assert figures(event) == figures(whole)
    assert event.line == 1


def test_text_wrapped_at_spaces_reads_the_same():
    words = MODERN.split(" ")
    wrapped = "\n".join(" ".join(words[at : at + 16]) for at in range(0, len(words), 16))
    assert figures(read(TORCH_OOM, wrapped)[0]) == figures(read(TORCH_OOM, MODERN)[0])


def test_a_container_does_not_know_its_own_process():
    fields = read(TORCH_OOM, CONTAINER)[0].fields
    assert fields["process_used"] == round(48.68 * GIB)
    assert fields["other_used"] == round(30.40 * GIB)
    assert fields["last_straw"] is True
    alone = CONTAINER.replace("Process 1884213 has 30.40 GiB memory in use. ", "")
    assert read(TORCH_OOM, alone)[0].fields["other_used"] == 0


def test_not_available_is_not_a_number():
    text = MODERN.replace("has 76.49 GiB memory", "has 17179869184.00 GiB memory")
    fields = read(TORCH_OOM, text)[0].fields
    assert fields["process_used"] is None
    assert fields["other_used"] is None


def test_misspelt_capacity_private_pools_and_own_limit():
    text = (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacty"
        " of 79.11 GiB of which 40.00 GiB is free. 39.55 GiB allowed; Of the allocated memory 38.00 GiB is"
        " allocated by PyTorch, with 9.37 GiB allocated in private pools (e.g., CUDA Graphs), and 811.20 MiB is"
        " reserved by PyTorch but unallocated."
    )
    fields = read(TORCH_OOM, text)[0].fields
    assert fields["private_pools"] == round(9.37 * GIB)
    assert fields["limit_binding"] is True
    assert fields["version_generation"] == "2.1"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("CUDA out of memory. Tried to allocate more than 1EB memory.", {"requested": None, "exceeds_capacity": True}),
        ("HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 64.00 GiB of which 0 bytes is free.", {"backend": "hip", "free": 0}),
        ("CUDA out of memory. Tried to allocate 512.00 KiB (GPU 0; 15.78 GiB total capa", {"requested": 512 << 10, "gpu_index": 0, "capacity": 0}),
        ("CUDA out of memory. Tried to allocate 90.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 70.00 GiB is free.", {"exceeds_capacity": True}),
        ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 12.10 GiB already allocated; 373.44 MiB free; 12.90 GiB cached)", {"reserved": round(12.90 * GIB)}),
    ],
)  # fmt: skip
def test_other_layouts_and_cut_off_texts(text, fields):
    (event,) = read(TORCH_OOM, text)
    expected = {name: value for name, value in fields.items() if name != "capacity"}
    assert {name: event.fields[name] for name in expected} == expected
    assert event.end_line == 1


def test_two_texts_are_two_events():
    assert [
        event.line for event in read(TORCH_OOM, f"{MODERN}\n{CLASSIC}\n{CLASSIC[:90]}\n{MODERN}")
    ] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "text", ["", "out of memory", "if this says CUDA out of memory, lower the batch"]
)
def test_near_misses(text):
    assert read(TORCH_OOM, text) == []


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("node-07:1:2 [0] include/checks.h:31 NCCL WARN Cuda failure 2 'out of memory'", "nccl"),
        ("NCCL WARN Failed to CUDA host alloc 9664 bytes", "nccl"),
        ("NCCL WARN Failed to CUDA malloc 9664 bytes", "nccl"),
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`",
            None,
        ),
        (
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 1, Hardware limit: 2.",
            None,
        ),
    ],
)
def test_other_spellings(text, library):
    found = [pattern.match(Line("a", 1, text, text)) for pattern in OTHER_OOM.patterns]
    assert [event.fields["library"] for event in found if event] == ([library] if library else [])


def test_memory_summary():
    (event,) = read(MEMORY_SUMMARY, MEMORY_SUMMARY.sample + "step 3\n")
    assert event.fields["ooms"] == 1
    assert event.fields["retries"] == 14
    assert event.fields["allocated"] == 62536 * MIB
    assert event.fields["non_releasable_share"] == pytest.approx(13527 / 76064, abs=1e-4)
    assert event.end_line == 13


def test_memory_summary_cut_off():
    head = "\n".join(MEMORY_SUMMARY.sample.splitlines()[:7])
    assert read(MEMORY_SUMMARY, head)[0].fields["reserved"] is None
    with pytest.raises(Note):
        read(MEMORY_SUMMARY, MEMORY_SUMMARY.sample.splitlines()[0])
