import pytest

from diagnose.model.event import Line
from diagnose.parsers.cuda_oom import ASYNC_OOM, OWN_LIMIT, TORCH_OOM

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


def fields(text):
    (event,) = read(TORCH_OOM, text)
    return event.fields


def figures(event):
    return {name: value for name, value in event.fields.items() if name != "hint_conf"}


MODERN = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.94 GiB. GPU 6 has a total capacity "
    "of 79.25 GiB of which 1.37 GiB is free. Including non-PyTorch memory, this process has 77.87 GiB "
    "memory in use. Of the allocated memory 64.18 GiB is allocated by PyTorch, and 11.46 GiB is reserved "
    "by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)
CLASSIC = (
    "RuntimeError: CUDA out of memory. Tried to allocate 1.31 GiB (GPU 2; 39.41 GiB total capacity; 36.52 "
    "GiB already allocated; 702.19 MiB free; 36.95 GiB reserved in total by PyTorch)"
)
CONTAINER = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity "
    "of 79.25 GiB of which 9.94 MiB is free. Process 1771002 has 28.61 GiB memory in use. Process 1990417 "
    "has 50.63 GiB memory in use. Of the allocated memory 48.80 GiB is allocated by PyTorch, and 388.51 MiB "
    "is reserved by PyTorch but unallocated."
)
POOLS = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 1 has a total capacity of "
    "75.24 GiB of which 36.06 MiB is free. Including non-PyTorch memory, this process has 75.20 GiB memory in "
    "use. Of the allocated memory 71.40 GiB is allocated by PyTorch, with 8.12 GiB allocated in private pools "
    "(e.g., CUDA Graphs), and 702.20 MiB is reserved by PyTorch but unallocated."
)


def test_modern_text():
    found = fields(MODERN)
    assert found["requested"] == round(2.94 * GIB)
    assert found["gpu_index"] == 6
    assert found["capacity"] == round(79.25 * GIB)
    assert found["reserved"] == pytest.approx(75.64 * GIB, abs=2)
    assert found["reserved_unallocated"] == round(11.46 * GIB)
    assert found["unallocated_share"] == pytest.approx(0.1515, abs=1e-4)
    assert found["reachable"] == pytest.approx(12.83 * GIB, abs=2)
    assert found["non_torch"] == pytest.approx(2.23 * GIB, abs=2)
    assert found["short_by"] == pytest.approx(1.57 * GIB, abs=2)
    assert found["other_used"] == 0
    assert found["last_straw"] is False
    assert found["exceeds_capacity"] is False


def test_classic_text():
    found = fields(CLASSIC)
    assert found["allocated"] == round(36.52 * GIB)
    assert found["reserved_unallocated"] == pytest.approx(0.43 * GIB, abs=2)
    assert found["unknown_used"] == pytest.approx((39.41 - 36.95) * GIB - 702.19 * MIB, abs=3)
    assert found["other_used"] is None


def test_private_pools_are_part_of_what_tensors_hold():
    found = fields(POOLS)
    assert found["private_pools"] == round(8.12 * GIB)
    assert found["pool_share"] == pytest.approx(8.12 / 71.40, abs=1e-4)
    assert found["reserved"] == pytest.approx(71.40 * GIB + 702.20 * MIB, abs=2)
    assert found["non_torch"] == pytest.approx(3.80 * GIB - 702.20 * MIB, abs=3)


@pytest.mark.parametrize(
    ("text", "generation", "hint"),
    [
        (CLASSIC, "<=1.12", None),
        (CLASSIC.replace("RuntimeError", "torch.cuda.OutOfMemoryError"), "1.13-2.0", None),
        (MODERN.replace("torch.Out", "torch.cuda.Out").replace("capacity", "capacty"), "2.1", "PYTORCH_CUDA_ALLOC_CONF"),
        (MODERN.replace("torch.Out", "torch.cuda.Out"), "2.2-2.3", "PYTORCH_CUDA_ALLOC_CONF"),
        (MODERN, ">=2.4", "PYTORCH_CUDA_ALLOC_CONF"),
        (MODERN.replace("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"), "2.10", "PYTORCH_ALLOC_CONF"),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", None, None),
    ],
)  # fmt: skip
def test_the_text_dates_the_build(text, generation, hint):
    found = fields(text)
    assert found["version_generation"] == generation
    assert found["hint_conf"] == hint


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("text", [MODERN, CLASSIC, CONTAINER, POOLS])
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
    found = fields(CONTAINER)
    assert found["process_used"] == round(50.63 * GIB)
    assert found["other_used"] == round(28.61 * GIB)
    assert found["other_pids"] == [1771002]
    assert found["last_straw"] is True


def test_one_process_in_a_container_is_this_one():
    found = fields(CONTAINER.replace("Process 1771002 has 28.61 GiB memory in use. ", ""))
    assert found["other_used"] == 0
    assert found["other_count"] == 0


def test_this_process_is_known_below_what_it_reserved_by_no_more_than_rounding():
    text = CONTAINER.replace("50.63 GiB memory in use", "49.17 GiB memory in use")
    assert fields(text)["process_used"] == round(49.17 * GIB)
    text = CONTAINER.replace("50.63 GiB memory in use", "49.10 GiB memory in use")
    assert fields(text)["process_used"] is None
    assert fields(text)["other_used"] == pytest.approx((28.61 + 49.10) * GIB, abs=2)


def test_processes_are_counted_in_any_order():
    several = (
        "Process 91213 has 526.00 MiB memory in use. Including non-PyTorch memory, this process has 76.55 "
        "GiB memory in use. Process 91214 has 1.26 GiB memory in use. "
    )
    text = MODERN.replace(
        "Including non-PyTorch memory, this process has 77.87 GiB memory in use. ", several
    )
    found = fields(text)
    assert found["other_pids"] == [91213, 91214]
    assert (found["other_count"], found["other_smallest"]) == (2, 526 * MIB)
    assert found["other_largest"] == round(1.26 * GIB)
    assert found["other_used"] == 526 * MIB + round(1.26 * GIB)
    assert found["process_used"] == round(76.55 * GIB)


def test_not_available_is_not_a_number():
    found = fields(MODERN.replace("has 77.87 GiB memory", "has 17179869184.00 GiB memory"))
    assert found["process_used"] is None
    assert found["other_used"] is None
    unknown = CONTAINER.replace("50.63 GiB memory in use", "17179869184.00 GiB memory in use")
    assert fields(unknown)["process_used"] is None


def test_a_text_cut_before_its_allocator_figures_accuses_no_other_process():
    cut = CONTAINER.partition("Of the allocated")[0]
    assert fields(cut)["other_used"] is None


def test_a_difference_within_the_rounding_of_the_text_is_nothing():
    assert fields(MODERN.replace("77.87 GiB", "77.865 GiB"))["other_used"] == 0


@pytest.mark.parametrize(
    ("limit", "binding"), [("77.00 GiB", False), ("78.60 GiB", False), ("40.00 GiB", False)]
)
def test_a_limit_is_not_the_reason_where_the_device_is_full(limit, binding):
    text = MODERN.replace("Of the allocated", f"{limit} allowed; Of the allocated")
    assert fields(text)["limit_binding"] is binding


def test_a_limit_is_the_reason_where_the_device_has_room():
    text = (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacty"
        " of 79.25 GiB of which 39.10 GiB is free. 39.62 GiB allowed; Of the allocated memory 38.40 GiB is"
        " allocated by PyTorch, and 811.20 MiB is reserved by PyTorch but unallocated."
    )
    assert fields(text)["limit_binding"] is True
    assert fields(text.replace("2.00 GiB. GPU", "64.00 MiB. GPU"))["limit_binding"] is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUDA out of memory. Tried to allocate more than 1EB memory.", {"requested": None, "exceeds_capacity": True}),
        ("HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 64.00 GiB of which 0 bytes is free.", {"backend": "hip", "free": 0}),
        ("XPU out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 63.98 GiB. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.", {"backend": "xpu", "free": None, "allocated": 60 * GIB}),
        ("CUDA out of memory. Tried to allocate 512.00 KiB (GPU 0; 15.78 GiB total capa", {"requested": 512 << 10, "gpu_index": 0, "allocated": None}),
        ("CUDA out of memory. Tried to allocate 90.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 70.00 GiB is free.", {"exceeds_capacity": True}),
        ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 12.10 GiB already allocated; 373.44 MiB free; 12.90 GiB cached)", {"reserved": round(12.90 * GIB)}),
        ("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.78 GiB total capacity; 12.10 GiB already allocated; 3.44 MiB free; 13.00 GiB allowed; 12.90 GiB reserved in total by PyTorch)", {"limit": 13 * GIB, "last_straw": True}),
    ],
)  # fmt: skip
def test_other_layouts_and_cut_off_texts(text, expected):
    (event,) = read(TORCH_OOM, text)
    assert {name: event.fields[name] for name in expected} == expected
    assert event.end_line == 1


def test_memory_of_the_metal_backend():
    found = fields(
        "RuntimeError: MPS backend out of memory (MPS allocated: 9.25 GB, other allocations: 4.50 GB, max allowed:"
        " 13.57 GB). Tried to allocate 512.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to"
        " disable upper limit for memory allocations (may cause system failure)."
    )
    assert found["backend"] == "mps"
    assert found["other_used"] == round(4.5 * GIB)
    assert found["short_by"] == pytest.approx((9.25 + 4.5 + 0.5 - 13.57) * GIB, abs=3)


def test_the_block_of_the_drivers_pool():
    (event,) = read(ASYNC_OOM, ASYNC_OOM.sample + "step 3\n")
    found = event.fields
    assert found["backend"] == "cudaMallocAsync"
    assert found["requested"] == 96 * MIB
    assert found["free"] == 0
    assert found["limit"] is None
    assert found["unknown_used"] == pytest.approx((23.64 - 20.41) * GIB, abs=2)
    assert found["reserved"] is None
    assert event.end_line == 7


def test_the_block_of_the_drivers_pool_cut_off():
    (event,) = read(ASYNC_OOM, "\n".join(ASYNC_OOM.sample.splitlines()[:2]))
    assert event.fields["allocated"] == round(20.41 * GIB)
    assert event.fields["requested"] is None


@pytest.mark.parametrize("pattern", OWN_LIMIT.patterns, ids=["exception", "allocator"])
def test_a_request_over_the_allowed_share_never_reaches_the_driver(pattern):
    event = pattern.match(Line("a", 1, pattern.sample, pattern.sample))
    assert event.fields["limit_binding"] is True
    assert event.fields["requested"] == 4 * MIB


def test_two_texts_are_two_events():
    assert [
        event.line for event in read(TORCH_OOM, f"{MODERN}\n{CLASSIC}\n{CLASSIC[:90]}\n{MODERN}")
    ] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "text", ["", "out of memory", "if this says CUDA out of memory, lower the batch"]
)
def test_near_misses(text):
    assert read(TORCH_OOM, text) == []


def test_a_text_without_its_first_words_is_read_over_two_lines():
    text = (
        "torch.OutOfMemoryError: Tried to allocate 2.94 GiB.\n"
        "GPU 6 has a total capacity of 79.25 GiB of which 1.37 GiB is free."
    )
    found = fields(text)
    assert (found["gpu_index"], found["capacity"]) == (6, int(79.25 * GIB))


def test_an_attempt_without_a_device_is_no_such_text():
    assert read(TORCH_OOM, "Tried to allocate 2.94 GiB.\nretrying with a smaller batch") == []
