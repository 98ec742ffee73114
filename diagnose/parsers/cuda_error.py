"""Errors of the CUDA runtime, as PyTorch and other programs print them, and of NVML.

::

    RuntimeError: CUDA error: an illegal memory access was encountered
    CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace
    below might be incorrect.
    For debugging consider passing CUDA_LAUNCH_BLOCKING=1

``cuda.error``
    ``message`` as printed, ``code`` and ``code_name`` of the runtime where the text is known. Only
    the first line of the record is an event: the others are advice. The error may belong to an
    earlier call, so the Python frame above it proves nothing. ``sticky`` errors come back from every
    later call of the process; its first one counts. Out of memory is ``cuda.oom_other``. Other
    programs put the same texts and names into frames of their own, so there the text is the anchor:
    it has to end the message or stand in quotes.
``cuda.device_assert``
    The assertion of a kernel, printed once a thread: the real message behind code 710.
``nvml.error``, ``nvml.device_lost``, ``nvml.library``
    What ``nvidia-smi`` prints in place of its table; one GPU that is lost, needs a reset or cannot
    be read (``kind``); the version of the library that does not fit the loaded module.

*Empty*: no CUDA call failed. *Cut off*: a message cut short keeps its text and has no ``code``.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import pci

CODES: dict[str, tuple[int, str]] = {
    "initialization error": (3, "cudaErrorInitializationError"),
    "CUDA driver version is insufficient for CUDA runtime version": (35, "cudaErrorInsufficientDriver"),
    "API call is not supported in the installed CUDA driver": (36, "cudaErrorCallRequiresNewerDriver"),
    "all CUDA-capable devices are busy or unavailable": (46, "cudaErrorDevicesUnavailable"),
    "no CUDA-capable device is detected": (100, "cudaErrorNoDevice"),
    "invalid device ordinal": (101, "cudaErrorInvalidDevice"),
    "no kernel image is available for execution on the device": (209, "cudaErrorNoKernelImageForDevice"),
    "uncorrectable ECC error encountered": (214, "cudaErrorECCUncorrectable"),
    "peer access is not supported between these two devices": (217, "cudaErrorPeerAccessUnsupported"),
    "uncorrectable NVLink error detected during the execution": (220, "cudaErrorNvlinkUncorrectable"),
    "the provided PTX was compiled with an unsupported toolchain": (222, "cudaErrorUnsupportedPtxVersion"),
    "Invalid access of peer GPU memory over nvlink or a hardware error": (226, "cudaErrorContained"),
    "OS call failed or operation not supported on this OS": (304, "cudaErrorOperatingSystem"),
    "named symbol not found": (500, "cudaErrorSymbolNotFound"),
    "an illegal memory access was encountered": (700, "cudaErrorIllegalAddress"),
    "too many resources requested for launch": (701, "cudaErrorLaunchOutOfResources"),
    "the launch timed out and was terminated": (702, "cudaErrorLaunchTimeout"),
    "device-side assert triggered": (710, "cudaErrorAssert"),
    "hardware stack error": (714, "cudaErrorHardwareStackError"),
    "an illegal instruction was encountered": (715, "cudaErrorIllegalInstruction"),
    "misaligned address": (716, "cudaErrorMisalignedAddress"),
    "operation not supported on global/shared address space": (717, "cudaErrorInvalidAddressSpace"),
    "invalid program counter": (718, "cudaErrorInvalidPc"),
    "unspecified launch failure": (719, "cudaErrorLaunchFailure"),
    "operation not permitted": (800, "cudaErrorNotPermitted"),
    "operation not supported": (801, "cudaErrorNotSupported"),
    "system not yet initialized": (802, "cudaErrorSystemNotReady"),
    "system has unsupported display driver / cuda driver combination": (803, "cudaErrorSystemDriverMismatch"),
    "forward compatibility was attempted on non supported HW": (804, "cudaErrorCompatNotSupportedOnDevice"),
    "MPS client failed to connect to the MPS control daemon or the MPS server": (805, "cudaErrorMpsConnectionFailed"),
    "MPS client failed to communicate with the MPS server": (806, "cudaErrorMpsRpcFailure"),
    "MPS server is not ready to accept new MPS client requests": (807, "cudaErrorMpsServerNotReady"),
    "operation not permitted when stream is capturing": (900, "cudaErrorStreamCaptureUnsupported"),
    "operation failed due to a previous error during capture": (901, "cudaErrorStreamCaptureInvalidated"),
    "unknown error": (999, "cudaErrorUnknown"),
}  # fmt: skip
"""Texts of cudaGetErrorString, CUDA 12.9, and the codes of driver_types.h."""

NAMES = dict(CODES.values())
STICKY = frozenset({214, 220, 226, 700, 710, 714, 715, 716, 717, 718, 719})
"""Codes after which every later call of the process fails (driver_types.h)."""

CONSEQUENCES = frozenset({226, 901})
"""A dead peer, and an earlier error during graph capture."""

_LONGEST_FIRST = sorted(CODES, key=len, reverse=True)


def _complete(event: Event, line: Line) -> Event | None:
    message = str(event.fields.get("message") or "").strip()
    if message.startswith(("out of memory", "CUBLAS_STATUS_ALLOC_FAILED")):
        return None
    code = event.fields.get("code")
    # CUDA before 10.1 numbers its errors otherwise, so a text that is known counts for more.
    text = next((text for text in _LONGEST_FIRST if message.startswith(text)), None)
    if text is not None:
        code = CODES[text][0]
    known = code if isinstance(code, int) else None
    status = (
        message.split()[0] if message.startswith(("CUBLAS_STATUS", "CUSPARSE_STATUS")) else None
    )
    event.fields = {
        **event.fields,
        "message": message[:500],
        "code": known,
        "code_name": status or (NAMES.get(known) if known else None),
        "sticky": known in STICKY,
    }
    if known in CONSEQUENCES or status:
        event.nature = Nature.EFFECT
    return event


def _without_call(text: str, code: int, sample: str, source: str) -> Pattern:
    """Return the pattern of a text that PyTorch prints in place of a code."""
    return Pattern(
        event="cuda.error",
        regex=f"(?P<message>{text})",
        nature=Nature.ERROR,
        source=source,
        sample=sample,
        constants={"code": code},
    )


_INIT = "PyTorch, torch/csrc/cuda/Module.cpp and c10/cuda/CUDAFunctions.cpp"
CUDA_ERRORS = LineParser(
    name="cuda-error",
    title="CUDA runtime errors as PyTorch prints them",
    patterns=(
        Pattern(
            event="cuda.error",
            regex=r"(?P<backend>CUDA|HIP) (?:driver )?error: (?P<message>\S.*)",
            nature=Nature.ERROR,
            source="PyTorch 1.x to 2.14, c10/cuda/CUDAException.cpp",
            sample="RuntimeError: CUDA error: an illegal memory access was encountered",
        ),
        Pattern(
            event="cuda.error",
            regex=r"(?:cuda|hip) runtime error \((?P<code>\d+)\) ?: (?P<message>.*?)(?: at (?:[/.]|[A-Za-z]:)|$)",
            nature=Nature.ERROR,
            source="PyTorch up to 1.7, aten/src/THC/THCGeneral.cpp",
            sample="RuntimeError: cuda runtime error (802) : system not yet initialized at /build/aten/src/THC/THCGeneral.cpp:50",
            types={"code": int},
        ),
        Pattern(
            event="cuda.error",
            regex=r"THCudaCheck FAIL file=.{1,300} line=\d+ error=(?P<code>\d+) : (?P<message>.*)",
            nature=Nature.ERROR,
            source="PyTorch up to 1.7 and Torch 7, THC/THCGeneral; codes of CUDA as it was then",
            sample="THCudaCheck FAIL file=/build/aten/src/THC/THCGeneral.cpp line=50 error=38 : no CUDA-capable device is detected",
            types={"code": int},
        ),
        Pattern(
            event="cuda.error",
            regex=r"Unexpected error from cudaGetDeviceCount\(\).{0,400}Error (?P<code>\d+): (?P<message>[^(]*)",
            nature=Nature.ERROR,
            source=_INIT,
            sample="RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 802: system not yet initialized",
            types={"code": int},
        ),
        _without_call("No CUDA GPUs are available", 100, "RuntimeError: No CUDA GPUs are available", _INIT),
        _without_call(
            "Found no NVIDIA driver on your system", 100,
            "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU", _INIT,
        ),
        _without_call(
            r"The NVIDIA driver on your system is too old \(found version \d+\)", 35,
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).", _INIT,
        ),
        _without_call(
            "CUDA unknown error - this may be due to an incorrectly set up environment", 999,
            "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start.", _INIT,
        ),
        Pattern(
            event="cuda.device_assert",
            regex=r"(?:^|\s)(?P<source>[^\s:]+):(?P<source_line>\d+): .*block: \[[\d,]+\], thread: \[[\d,]+\] Assertion `(?P<assertion>[^`]*?)` failed",
            nature=Nature.ERROR,
            source="CUDA, device assert() on standard error; kernels of aten/src/ATen/native/cuda",
            sample="/build/aten/src/ATen/native/cuda/Indexing.cu:1234: indexSelectLargeIndex: block: [12,0,0], thread: [33,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
            types={"source_line": int},
            once_per_block=True,
        ),
    ),
    refine=lambda event, line: _complete(event, line) if event.name == "cuda.error" else event,
)  # fmt: skip


def _without_repeats(event: Event, line: Line) -> Event | None:
    """Drop the loss that the same line states with the address of the GPU, and keep its reason."""
    named = "Unable to determine the device handle" in line.text
    if event.fields.get("kind") == "no-handle" and "requires reset" in line.text:
        event.fields["kind"] = "needs-reset"
        return event
    return None if named and event.fields.get("kind") in ("lost", "needs-reset") else event


DRIVER_NAMES: dict[str, int] = {
    "CUDA_ERROR_DEVICE_UNAVAILABLE": 46, "CUDA_ERROR_NO_DEVICE": 100,
    "CUDA_ERROR_INVALID_DEVICE": 101, "CUDA_ERROR_NO_BINARY_FOR_GPU": 209,
    "CUDA_ERROR_ECC_UNCORRECTABLE": 214, "CUDA_ERROR_NVLINK_UNCORRECTABLE": 220,
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": 222, "CUDA_ERROR_CONTAINED": 226,
    "CUDA_ERROR_OPERATING_SYSTEM": 304, "CUDA_ERROR_ILLEGAL_ADDRESS": 700,
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": 701, "CUDA_ERROR_LAUNCH_TIMEOUT": 702,
    "CUDA_ERROR_ASSERT": 710, "CUDA_ERROR_HARDWARE_STACK_ERROR": 714,
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": 715, "CUDA_ERROR_MISALIGNED_ADDRESS": 716,
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": 717, "CUDA_ERROR_INVALID_PC": 718,
    "CUDA_ERROR_LAUNCH_FAILED": 719, "CUDA_ERROR_SYSTEM_NOT_READY": 802,
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": 803, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": 804,
    "CUDA_ERROR_MPS_CONNECTION_FAILED": 805, "CUDA_ERROR_MPS_RPC_FAILURE": 806,
    "CUDA_ERROR_MPS_SERVER_NOT_READY": 807, "CUDA_ERROR_UNKNOWN": 999,
}  # fmt: skip
"""Names of the driver interface, cuda.h of CUDA 12.9; its numbers are those of the runtime."""

TOLERATED = frozenset({217, 900})
"""What programs try out and do without: access to a peer, capture of a stream."""

COMMON_TEXTS = frozenset({
    "initialization error", "named symbol not found", "hardware stack error", "misaligned address",
    "operation not permitted", "operation not supported", "unknown error",
})  # fmt: skip
"""Texts that other programs print of other things, which count behind the word CUDA only."""

_OWN_TEXTS = "|".join(
    text for text in _LONGEST_FIRST if CODES[text][0] not in TOLERATED and text not in COMMON_TEXTS
)
_COMMON = "|".join(sorted(COMMON_TEXTS))
_NAMED = {name: code for code, name in CODES.values() if code not in {*TOLERATED, 3, 500, 800, 801}}
_NAMED |= DRIVER_NAMES
_RUNTIME_NAMES = "|".join(
    sorted((name.removeprefix("cudaError") for name in _NAMED if name[0] == "c"), reverse=True)
)
_DRIVER_NAMES = "|".join(
    sorted((name.removeprefix("CUDA_ERROR_") for name in DRIVER_NAMES), reverse=True)
)
_LEAD = r"""(?:^|[:=([{'"\]>,-] ?|(?:returned|with|error|code|got|status) )"""
_TAIL = r"""(?:\.?\s*$|['"):,;(\]}]|\. | [(;]| (?:at|in) )"""
_NAME = LazyPattern(
    rf"{_LEAD}(?:cudaError(?:{_RUNTIME_NAMES})|CUDA_ERROR_(?:{_DRIVER_NAMES})){_TAIL}"
)

_FRAMED_ELSEWHERE = LazyPattern(
    r"(?:CUDA|HIP) (?:driver )?error: |(?:cuda|hip) runtime error \(|THCudaCheck FAIL"
    r"|Unexpected error from cudaGetDeviceCount|NCCL (?:WARN|INFO|ERROR)"
    r"|(?:Cuda|CUDA|HIP|Hip|hip) failure(?: \d+)? '"
)
"""Lines that a pattern with its own frame reads, here or in the dialect of NCCL."""

_ADVICE = LazyPattern(
    r"(?i)\b(?:e\.g|for example|such as|may be|might|could be|search for|if you|in case|catch|except"
    r"|ignor\w+|retry on|look for|known issue)\b"
)


def _elsewhere(event: Event, line: Line) -> Event | None:
    """Give an error of another program its code; drop advice and what other patterns read."""
    text = line.text
    if _FRAMED_ELSEWHERE.search(text) or _ADVICE.search(text):
        return None
    message = str(event.fields["message"])
    if message not in _NAMED and _NAME.search(text):
        return None
    known = _NAMED.get(message) or CODES[message][0]
    if known == 100 and "cuInit" in text:
        return None  # TensorFlow on a machine without GPUs goes on with its processors
    event.fields["code"] = known
    return _complete(event, line)


def _framed(regex: str, source: str, sample: str) -> Pattern:
    """Return the pattern of an error in the frame of another program."""
    return Pattern(
        event="cuda.error", regex=regex, nature=Nature.ERROR, source=source, sample=sample
    )


OTHER_PROGRAMS = LineParser(
    name="cuda-error-other",
    title="CUDA errors as other programs print them",
    patterns=(
        _framed(rf"{_LEAD}(?P<message>{_OWN_TEXTS}){_TAIL}",
                "ggml, Paddle and glog, gpu-burn, ONNX Runtime and others: text of cudaGetErrorString behind any frame",
                "ggml_cuda_init: failed to initialize CUDA: system not yet initialized"),
        _framed(rf"{_LEAD}(?P<message>cudaError(?:{_RUNTIME_NAMES})){_TAIL}",
                "CUDA samples, Thrust and others: name of the error of the runtime",
                'CUDA error at bandwidth.cu:212 code=802(cudaErrorSystemNotReady) "cudaGetDeviceCount(&n)"'),
        _framed(rf"{_LEAD}(?P<message>CUDA_ERROR_(?:{_DRIVER_NAMES})){_TAIL}",
                "TensorFlow, XLA, nvbandwidth and others: name of the error of the driver interface",
                "failed to synchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"),
        _framed(rf"""(?:CUDA|Cuda|cuda|HIP|GPUassert|nvrtc).{{0,160}}(?:[:=('"\]-] ?|(?:returned|with|error) )(?P<message>{_COMMON})(?:\.?\s*$|['"):,;(\]]| [(;]| \S+\.(?:cu|cpp|cc|h)\b)""",
                "the same programs: texts that count behind the word CUDA only",
                "train.cu:88] Check failed: e == cudaSuccess (716 vs. 0) Cuda Error: misaligned address"),
    ),
    refine=_elsewhere,
)  # fmt: skip


def _nvml(kind: str, regex: str, sample: str) -> Pattern:
    return Pattern(
        event="nvml.error",
        regex=f"(?P<message>{regex})",
        nature=Nature.ERROR,
        source="NVIDIA driver 450 to 580, NVML error strings as nvidia-smi prints them; libnvidia-container 1.0 to 1.17",
        sample=sample,
        constants={"kind": kind},
    )


NVML_ERRORS = LineParser(
    name="nvml-error",
    title="NVML and nvidia-smi failures",
    patterns=(
        _nvml("driver-mismatch", r"(?:Failed to initialize NVML|nvml error): [Dd]river/library version mismatch",
              "Failed to initialize NVML: Driver/library version mismatch"),
        _nvml("unknown", r"(?:Failed to initialize NVML|nvml error): (?:Unknown Error|unknown error|GPU access blocked.*|[Ii]nsufficient [Pp]ermissions)",
              "Failed to initialize NVML: Unknown Error"),
        _nvml("no-driver", r"(?:Failed to initialize NVML|nvml error): (?:Driver Not Loaded|driver not loaded|N/A)|couldn't communicate with the NVIDIA driver",
              "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."),
        _nvml("no-devices", r"No devices were found", "No devices were found"),
        Pattern(
            event="nvml.device_lost",
            regex=r"Unable to determine the device handle for (?:GPU ?(?P<index>\d{1,3}): |GPU )?(?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d): (?P<message>.*)",
            nature=Nature.ERROR,
            source="NVIDIA driver 450 to 580, nvidia-smi",
            sample="Unable to determine the device handle for GPU 0000:5D:00.0: Unknown Error",
            types={"gpu": pci, "index": int},
            constants={"kind": "no-handle"},
        ),
        Pattern(
            event="nvml.device_lost",
            regex=r"(?:^|[\[:|']) {0,40}(?:\d{1,3} {1,10})?(?P<message>GPU is lost(?:\. {1,2}Reboot the system to recover this GPU)?)",
            nature=Nature.ERROR,
            source="NVIDIA driver, NVML_ERROR_GPU_IS_LOST",
            sample="0, [GPU is lost], [GPU is lost]",
            constants={"kind": "lost"},
        ),
        Pattern(
            event="nvml.device_lost",
            regex=r"(?:^|[\[:|']) {0,40}(?:\d{1,3} {1,10})?(?P<message>GPU requires reset)",
            nature=Nature.ERROR,
            source="NVIDIA driver, NVML_ERROR_RESET_REQUIRED",
            sample="3, [GPU requires reset], [N/A]",
            constants={"kind": "needs-reset"},
        ),
        Pattern(
            event="nvml.device_lost",
            regex=r"(?P<message>\[Unknown Error\])",
            nature=Nature.ERROR,
            source="NVIDIA driver, NVML_ERROR_UNKNOWN in a cell of nvidia-smi --query-gpu",
            sample="3, [Unknown Error], [Unknown Error]",
            constants={"kind": "unreadable"},
        ),
        Pattern(
            event="nvml.library",
            regex=r"NVML library version: (?P<version>\d+\.\d+(?:\.\d+)?)",
            nature=Nature.SETTING,
            source="NVIDIA driver 525 to 595, nvidia-smi, below a version mismatch",
            sample="NVML library version: 550.54",
        ),
    ),
    refine=_without_repeats,
)  # fmt: skip

PARSERS = (CUDA_ERRORS, OTHER_PROGRAMS, NVML_ERRORS)
