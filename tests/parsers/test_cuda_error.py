import pytest

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line, Nature
from diagnose.parsers.cuda_error import PARSERS


def read(text):
    line = Line("a.log", 1, text, text)
    found = []
    for parser in PARSERS:
        for pattern in parser.patterns:
            event = pattern.match(line)
            event = event and (parser.refine(event, line) if parser.refine else event)
            if event:
                found.append(event)
    return found


PATTERNS = [pattern for parser in PARSERS for pattern in parser.patterns]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.sample[:40])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert any(literal in pattern.sample for literal in pattern.required)
    assert [event.name for event in read(pattern.sample)] == [pattern.event]


@pytest.mark.parametrize(
    ("text", "code", "nature"),
    [
        ("torch.AcceleratorError: CUDA error: device-side assert triggered", 710, Nature.ERROR),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", 214, Nature.ERROR),
        ("RuntimeError: CUDA error: operation not supported on global/shared address space", 717, Nature.ERROR),
        ("RuntimeError: CUDA error: operation not supported", 801, Nature.ERROR),
        ("RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error", 226, Nature.EFFECT),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(handle)`", None, Nature.EFFECT),
        ("RuntimeError: CUDA error: some text of the future", None, Nature.ERROR),
        ("RuntimeError: CUDA error: operation not permitted when stream is capturing", 900, Nature.ERROR),
        ("RuntimeError: CUDA error: operation not permitted", 800, Nature.ERROR),
        ("UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions? Error 804: forward compatibility was attempted on non supported HW (Triggered internally at /b/CUDAFunctions.cpp:108.)", 804, Nature.ERROR),
    ],
)  # fmt: skip
def test_code_and_nature(text, code, nature):
    (event,) = read(text)
    assert event.fields["code"] == code
    assert event.nature is nature


def test_sticky_error_has_name():
    (event,) = read("RuntimeError: CUDA error: an illegal memory access was encountered")
    assert event.fields["code_name"] == "cudaErrorIllegalAddress"
    assert event.fields["sticky"] is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "RuntimeError: CUDA error: out of memory",
        "GPU 3: [N/A], [Not Supported]",
        "Where a GPU requires reset, stop its processes; where the GPU is lost, reboot.",
    ],
)
def test_advice_and_near_misses(text):
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "gpu", "index"),
    [
        ("Unable to determine the device handle for GPU 0000:5D:00.0: Unknown Error", "0000:5d:00.0", None),
        ("Unable to determine the device handle for GPU3: 0000:5D:00.0: Unknown Error", "0000:5d:00.0", 3),
        ("Unable to determine the device handle for GPU 00000000:5D:00.0: GPU is lost.  Reboot the system to recover this GPU", "0000:5d:00.0", None),
        ("pynvml.NVMLError_GpuIsLost: GPU is lost", None, None),
    ],
)  # fmt: skip
def test_lost_gpu(text, gpu, index):
    (event,) = read(text)
    assert event.name == "nvml.device_lost"
    assert event.gpu == gpu
    assert event.fields.get("index") == index


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("3, [GPU requires reset], [N/A]", "needs-reset"),
        ("3, [Unknown Error], [Unknown Error]", "unreadable"),
        ("0, [GPU is lost], [GPU is lost]", "lost"),
        ("|   3  GPU is lost  Off  |", "lost"),
        (
            "Unable to determine the device handle for GPU3: 0000:5D:00.0: GPU requires reset",
            "needs-reset",
        ),
    ],
)
def test_cells_of_a_gpu_that_does_not_answer(text, kind):
    assert [event.fields["kind"] for event in read(text)] == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "driver-mismatch"),
        (
            "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
            "driver-mismatch",
        ),
        ("nvidia-container-cli: initialization error: nvml error: driver not loaded", "no-driver"),
        ("nvidia-container-cli: initialization error: nvml error: unknown error", "unknown"),
    ],
)
def test_nvml_as_nvidia_smi_and_the_container_runtime_print_it(text, kind):
    assert [(event.name, event.fields["kind"]) for event in read(text)] == [("nvml.error", kind)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ggml_cuda_init: failed to initialize CUDA: system not yet initialized", 802),
        ("  what():  Error (stress-drv.cpp:101): unspecified launch failure", 719),
        ('CUDA error at copy.cu:9 code=700(cudaErrorIllegalAddress) "cudaFree(p)"', 700),
        ("[CUDA_ERROR_SYSTEM_NOT_READY] system not yet initialized in expression cuInit(0)", 802),
        (
            "failed to sync: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
            700,
        ),
        ("Check failed: ok (0 vs. 39) Cuda Error: uncorrectable ECC error encountered", 214),
        ("OSError: (External) CUDA error(719), unspecified launch failure.", 719),
        ("CUDA failure 999: unknown error ; GPU=0", 999),
        ("GPUassert: misaligned address kernel.cu 12", 716),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", 700),
    ],
)
def test_an_error_is_one_event_in_whatever_frame(text, code):
    assert [event.fields["code"] for event in read(text)] == [code]


@pytest.mark.parametrize(
    "text",
    [
        "E cuda_driver.cc:266] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        "note: 'an illegal memory access was encountered' might be caused by a bad kernel",
        "Search for `cudaErrorIllegalAddress' in the reference for more information.",
        "could not enable: peer access is not supported between these two devices",
        "upload failed: unknown error",
    ],
)
def test_advice_and_what_programs_do_without_are_no_errors(text):
    assert read(text) == []
