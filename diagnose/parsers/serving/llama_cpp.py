"""llama.cpp: times of each request, its context, its layers on the GPU, and buffers it cannot have.

Printed by ``llama-server`` and ``llama-cli`` (and by Ollama, which runs it)::

    slot print_timing: id  0 | task 12 |
    prompt eval time =    1520.33 ms /   812 tokens (    1.87 ms per token,   534.10 tokens per second)
           eval time =   10211.04 ms /   300 tokens (   34.04 ms per token,    29.38 tokens per second)
          total time =   11731.37 ms /  1112 tokens
    slot      release: id  0 | task 12 | stop processing: n_tokens = 8191, truncated = 1

Before 2024 each line began with ``llama_print_timings:`` and answers were counted in ``runs``; since 2026
slot and task stand in front of each line. Tokens of the prompt that were cached are not in it.

``inference.timing``
    The block, see ``timings``.
``inference.prompt_truncated``
    A prompt or a conversation was cut to the context that was set.
``inference.layers``
    ``on_gpu`` of ``layers`` are on the GPU; the others make every token slow.
``inference.context_size``
    The context that was asked for, in tokens.
``inference.host_buffer_failed``
    A buffer in the host's memory that could not be had, ``requested`` bytes.
``inference.load_retried``
    Another try with less memory, so the failure before is none yet; it says by itself if it fails.

*Empty*: no request ended. *Cut off*: lines behind the cut are unknown.
"""

from collections.abc import Iterator, Mapping

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, Convert, LineParser, Pattern
from diagnose.parsers.convert import grouped, size
from diagnose.parsers.serving.timings import timing_event

_ROW = LazyPattern(
    r"\b(?P<kind>load|prompt eval|eval|total) time\s*=\s*(?P<ms>\d+(?:\.\d+)?) ms"
    r"(?:\s*/\s*(?P<count>\d+) (?:tokens|runs))?"
)

_TASK = LazyPattern(r"\btask (\d+) \|")


def _is_over(lines: list[Line], following: Line) -> bool:
    """Return whether a block is whole; the lines of two slots may mix."""
    own, other = _TASK.search(lines[0].text), _TASK.search(following.text)
    is_other = own is not None and other is not None and own[1] != other[1]
    return "total time" in lines[-1].text or " time " not in following.text or is_other


def _read_times(lines: list[Line]) -> Iterator[Event]:
    seconds: dict[str, float] = {}
    counts: dict[str, int] = {}
    for line in lines:
        row = _ROW.search(line.text)
        if row is not None:
            seconds[row["kind"]] = float(row["ms"]) / 1e3
            if row["count"]:
                counts[row["kind"]] = int(row["count"])
    if "prompt eval" not in seconds:
        return
    prefill, decode = seconds["prompt eval"], seconds.get("eval")
    made = counts.get("eval")
    known: dict[str, Value] = {
        "total": seconds.get("total"),
        "load": seconds.get("load"),
        "prefill": prefill,
        "decode": decode,
        "inference": None if decode is None else prefill + decode,
        "itl": decode / made if decode is not None and made else None,
        "prompt_tokens": counts.get("prompt eval"),
        "output_tokens": made,
    }
    yield timing_event(lines, "llama.cpp", known)


TIMES = BlockParser(
    name="llama-cpp-times",
    title="llama.cpp's times of a request",
    opens=("load time = ", "prompt eval time"),
    starts=lambda line: (found := _ROW.search(line.text)) is not None and found["kind"] != "total",
    ends=_is_over,
    read=_read_times,
    emits=("inference.timing",),
    sample=(
        "prompt eval time =    1520.33 ms /   812 tokens (    1.87 ms per token,   534.10 tokens per second)\n"
        "       eval time =   10211.04 ms /   300 tokens (   34.04 ms per token,    29.38 tokens per second)\n"
        "      total time =   11731.37 ms /  1112 tokens\n"
    ),
    maximum=8,
)


def _message(
    event: str,
    regex: str,
    nature: Nature,
    sample: str,
    source: str,
    types: Mapping[str, Convert] | None = None,
) -> Pattern:
    return Pattern(
        event=event, regex=regex, nature=nature, sample=sample, source=source, types=types or {}
    )


MESSAGES = LineParser(
    name="llama-cpp",
    title="llama.cpp's context, layers and buffers",
    patterns=(
        _message(
            "inference.layers",
            r"offloaded (?P<on_gpu>\d+)/(?P<layers>\d+) layers to GPU",
            Nature.MEASUREMENT,
            "load_tensors: offloaded 29/33 layers to GPU",
            "llama.cpp 2023 to 2026, src/llama-model.cpp",
            {"on_gpu": int, "layers": int},
        ),
        _message(
            "inference.started",
            r"server is listening on https?://",
            Nature.MEASUREMENT,
            "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
            "llama.cpp 2024 to 2026, tools/server/server.cpp",
        ),
        _message(
            "inference.prompt_truncated",
            r"<<input too long: skipped (?P<skipped>\d+) tokens>>",
            Nature.ERROR,
            "<<input too long: skipped 812 tokens>>",
            "llama.cpp 2023 to 2026, tools/main/main.cpp",
            {"skipped": int},
        ),
        _message(
            "inference.prompt_truncated",
            r"stop processing: n_(?:tokens|past) = (?P<limit>[\d,]+), truncated = 1",
            Nature.ERROR,
            "slot      release: id  0 | task 12 | stop processing: n_tokens = 8191, truncated = 1",
            "llama.cpp 2024 to 2026, tools/server/server.cpp",
            {"limit": grouped},
        ),
        _message(
            "inference.oom",
            r"(?P<reason>cudaMalloc failed: out of memory|llama-server reported out-of-memory during startup|failed to allocate (?:\w+ )?buffer for (?P<what>kv cache|the KV cache))",
            Nature.ERROR,
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9216.00 MiB on device 0: cudaMalloc failed: out of memory",
            "llama.cpp 2023 to 2026, ggml/src/ggml-cuda/ggml-cuda.cu; Ollama",
        ),
        _message(
            "inference.host_buffer_failed",
            r"ggml_backend_cpu\w*_alloc_buffer: failed to allocate buffer of size (?P<requested>\d+)",
            Nature.ERROR,
            "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 34359738400",
            "llama.cpp 2024 to 2026, ggml/src/ggml-backend.cpp",
            {"requested": int},
        ),
        _message(
            "inference.host_buffer_failed",
            r"ggml_aligned_malloc: insufficient memory \(attempted to allocate +(?P<requested>[\d.]+ MB)\)",
            Nature.ERROR,
            "ggml_aligned_malloc: insufficient memory (attempted to allocate 32768.00 MB)",
            "llama.cpp 2023 to 2026, ggml/src/ggml.c",
            {"requested": size},
        ),
        _message(
            "inference.context_size",
            r"(?:llama_\w+: n_ctx +=|\bn_ctx_slot =|runner\.num_ctx=|--ctx-size(?: |=)) *(?P<tokens>\d+)",
            Nature.SETTING,
            "llama_context: n_ctx         = 131072",
            "llama.cpp 2023 to 2026, src/llama-context.cpp and tools/server; Ollama, llm/server.go",
            {"tokens": int},
        ),
        _message(
            "inference.kv_pool_empty",
            r"(?P<kind>failed to decode the batch)(?:, n_batch = 1, ret = 1|: KV cache is full)",
            Nature.ERROR,
            "update_slots : failed to decode the batch, n_batch = 1, ret = 1",
            "llama.cpp 2023 to 2025, examples/server/server.cpp; halves before that were only retried",
        ),
        _message(
            "inference.kv_pool_empty",
            r"(?P<kind>Failed to predict) at token position \d+! Check your context buffer sizes",
            Nature.ERROR,
            "Failed to predict at token position 15480! Check your context buffer sizes!",
            "koboldcpp 1.x, gpttype_adapter.cpp, on llama.cpp",
        ),
        _message(
            "inference.load_retried",
            r"compute buffer allocation failed, retrying without pipeline parallelism",
            Nature.PROGRESS,
            "sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism",
            "llama.cpp 2025 to 2026, src/llama-context.cpp",
        ),
    ),
)

PARSERS = (TIMES, MESSAGES)
