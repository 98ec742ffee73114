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

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern
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


MESSAGES = LineParser(
    name="llama-cpp",
    title="llama.cpp's context, layers and buffers",
    patterns=(
        Pattern(
            event="inference.layers",
            regex=r"offloaded (?P<on_gpu>\d+)/(?P<layers>\d+) layers to GPU",
            nature=Nature.MEASUREMENT,
            sample="load_tensors: offloaded 29/33 layers to GPU",
            source="llama.cpp 2023 to 2026, src/llama-model.cpp",
            types={"on_gpu": int, "layers": int},
        ),
        Pattern(
            event="inference.started",
            regex=r"server is listening on https?://",
            nature=Nature.MEASUREMENT,
            sample="main: server is listening on http://127.0.0.1:8080 - starting the main loop",
            source="llama.cpp 2024 to 2026, tools/server/server.cpp",
        ),
        Pattern(
            event="inference.prompt_truncated",
            regex=r"<<input too long: skipped (?P<skipped>\d+) tokens>>",
            nature=Nature.ERROR,
            sample="<<input too long: skipped 812 tokens>>",
            source="llama.cpp 2023 to 2026, tools/main/main.cpp",
            types={"skipped": int},
        ),
        Pattern(
            event="inference.prompt_truncated",
            regex=r"stop processing: n_(?:tokens|past) = (?P<limit>[\d,]+), truncated = 1",
            nature=Nature.ERROR,
            sample="slot      release: id  0 | task 12 | stop processing: n_tokens = 8191, truncated = 1",
            source="llama.cpp 2024 to 2026, tools/server/server.cpp",
            types={"limit": grouped},
        ),
        Pattern(
            event="inference.oom",
            regex=r"(?P<reason>cudaMalloc failed: out of memory|llama-server reported out-of-memory during startup|failed to allocate (?:\w+ )?buffer for (?P<what>kv cache|the KV cache))",
            nature=Nature.ERROR,
            sample="ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9216.00 MiB on device 0: cudaMalloc failed: out of memory",
            source="llama.cpp 2023 to 2026, ggml/src/ggml-cuda/ggml-cuda.cu; Ollama",
        ),
        Pattern(
            event="inference.host_buffer_failed",
            regex=r"ggml_backend_cpu\w*_alloc_buffer: failed to allocate buffer of size (?P<requested>\d+)",
            nature=Nature.ERROR,
            sample="ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 34359738400",
            source="llama.cpp 2024 to 2026, ggml/src/ggml-backend.cpp",
            types={"requested": int},
        ),
        Pattern(
            event="inference.host_buffer_failed",
            regex=r"ggml_aligned_malloc: insufficient memory \(attempted to allocate +(?P<requested>[\d.]+ MB)\)",
            nature=Nature.ERROR,
            sample="ggml_aligned_malloc: insufficient memory (attempted to allocate 32768.00 MB)",
            source="llama.cpp 2023 to 2026, ggml/src/ggml.c",
            types={"requested": size},
        ),
        Pattern(
            event="inference.context_size",
            regex=r"(?:llama_\w+: n_ctx +=|\bn_ctx_slot =|runner\.num_ctx=|--ctx-size(?: |=)) *(?P<tokens>\d+)",
            nature=Nature.SETTING,
            sample="llama_context: n_ctx         = 131072",
            source="llama.cpp 2023 to 2026, src/llama-context.cpp and tools/server; Ollama, llm/server.go",
            types={"tokens": int},
        ),
        Pattern(
            event="inference.kv_pool_empty",
            regex=r"(?P<kind>failed to decode the batch)(?:, n_batch = 1, ret = 1|: KV cache is full)",
            nature=Nature.ERROR,
            sample="update_slots : failed to decode the batch, n_batch = 1, ret = 1",
            source="llama.cpp 2023 to 2025, examples/server/server.cpp; halves before that were only retried",
        ),
        Pattern(
            event="inference.kv_pool_empty",
            regex=r"(?P<kind>Failed to predict) at token position \d+! Check your context buffer sizes",
            nature=Nature.ERROR,
            sample="Failed to predict at token position 15480! Check your context buffer sizes!",
            source="koboldcpp 1.x, gpttype_adapter.cpp, on llama.cpp",
        ),
        Pattern(
            event="inference.load_retried",
            regex=r"compute buffer allocation failed, retrying without pipeline parallelism",
            nature=Nature.PROGRESS,
            sample="sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism",
            source="llama.cpp 2025 to 2026, src/llama-context.cpp",
        ),
    ),
)

PARSERS = (TIMES, MESSAGES)
