"""Other serving programs, the clearest of what they say: TGI, TensorRT-LLM, llama.cpp, Ollama, Triton.

``inference.queue_full``
    A request was turned away because too many were waiting.
``inference.prompt_truncated``
    A prompt was cut to the context that was set, Ollama's and llama.cpp's small defaults among them.
``inference.model_load``
    A model was brought into memory: at the first request, or again because another one had pushed it
    out (``inference.model_evicted``).
``inference.oom``, ``inference.length_over_kv``
    As for vLLM; ``what`` is the KV cache where the text says so.
``inference.host_buffer_failed``
    A buffer in the host's memory that could not be had, ``requested`` bytes.
``inference.context_size``
    The context that was asked for, in tokens.
``inference.load_retried``
    llama.cpp tries again with less memory, so the failure before is none yet; the second try says
    by itself if it fails.

*Empty*: nothing went wrong that these programs name. *Cut off*: single lines, each whole or absent.
"""

from collections.abc import Mapping

from diagnose.model.event import Nature
from diagnose.parsers.base import Convert, LineParser, Pattern
from diagnose.parsers.convert import seconds, size


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


OLLAMA = LineParser(
    name="ollama",
    title="Ollama's and llama.cpp's queue, context and model loading",
    patterns=(
        _message(
            "inference.queue_full",
            r"server busy, please try again\.\s+maximum pending requests exceeded",
            Nature.ERROR,
            "server busy, please try again.  maximum pending requests exceeded",
            "Ollama 0.1 to 0.13, server/sched.go",
        ),
        _message(
            "inference.prompt_truncated",
            r"truncating input prompt\"? .{0,20}?limit=(?P<limit>\d+) prompt=(?P<prompt>\d+)",
            Nature.ERROR,
            'time=2026-01-05T10:00:00.000Z level=WARN source=runner.go:128 msg="truncating input prompt" limit=4096 prompt=9120 keep=5 new=4096',
            "Ollama 0.4 to 0.13, runner/ollamarunner/runner.go",
            {"limit": int, "prompt": int},
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
            r"stop processing: n_(?:tokens|past) = (?P<limit>\d+), truncated = 1",
            Nature.ERROR,
            "slot      release: id  0 | task 12 | stop processing: n_tokens = 8191, truncated = 1",
            "llama.cpp 2024 to 2026, tools/server/server.cpp",
            {"limit": int},
        ),
        _message(
            "inference.model_load",
            r"llama runner started in (?P<seconds>[\d.]+) seconds",
            Nature.MEASUREMENT,
            'time=2026-01-05T10:00:00.000Z level=INFO source=server.go:630 msg="llama runner started in 42.18 seconds"',
            "Ollama 0.1 to 0.13, llm/server.go",
            {"seconds": float},
        ),
        _message(
            "inference.model_evicted",
            r"model predicted to exceed available memory, evicting|predicted usage exceeds VRAM",
            Nature.MEASUREMENT,
            'time=2026-01-05T10:00:00.000Z level=INFO source=sched.go:512 msg="model predicted to exceed available memory, evicting"',
            "Ollama 0.1 to 0.13, server/sched.go",
        ),
        _message(
            "inference.load_timeout",
            r"timed out waiting for llama runner to start",
            Nature.ERROR,
            'time=2026-01-05T10:00:00.000Z level=ERROR source=sched.go:456 msg="error loading llama server" error="timed out waiting for llama runner to start - progress 0.41"',
            "Ollama 0.1 to 0.13, llm/server.go",
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
            "inference.load_retried",
            r"compute buffer allocation failed, retrying without pipeline parallelism",
            Nature.PROGRESS,
            "sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism",
            "llama.cpp 2025 to 2026, src/llama-context.cpp",
        ),
    ),
)

SERVERS = LineParser(
    name="serving-other",
    title="TGI's and TensorRT-LLM's clearest failures",
    patterns=(
        Pattern(
            event="inference.length_over_kv",
            regex=r"Not enough memory to handle (?P<wanted>\d+) (?P<what>prefill|total) tokens",
            nature=Nature.ERROR,
            source="TGI 0.9 to 3.3, server/text_generation_server/models/flash_causal_lm.py",
            sample="RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`",
            types={"wanted": int},
        ),
        Pattern(
            event="inference.queue_full",
            regex=r"Model is overloaded",
            nature=Nature.ERROR,
            source="TGI 0.8 to 3.3, router/src/infer",
            sample="2026-01-05T10:00:00.123456Z ERROR generate: text_generation_router::infer: router/src/infer/mod.rs:112: Model is overloaded",
        ),
        Pattern(
            event="inference.timing",
            regex=r"total_time=\"(?P<total>[\d.]+(?:ns|µs|ms|s))\" validation_time=\"[\d.]+\S{1,3}\" queue_time=\"(?P<queue>[\d.]+(?:ns|µs|ms|s))\" inference_time=\"(?P<inference>[\d.]+(?:ns|µs|ms|s))\"",
            nature=Nature.MEASUREMENT,
            source="TGI 0.8 to 3.3, router/src/server.rs",
            sample='2026-01-05T10:00:00.123456Z  INFO generate{parameters=GenerateParameters { best_of: None } total_time="2.913s" validation_time="1.2ms" queue_time="80.1µs" inference_time="2.91s" time_per_token="29.1ms" seed="None"}: text_generation_router::server: router/src/server.rs:432: Success',
            types=dict.fromkeys(
                ("total", "queue", "inference"), lambda text: seconds(text.replace("µ", "u"))
            ),
        ),
        Pattern(
            event="inference.request_too_long",
            regex=r"(?:[Pp]rompt|[Ii]nput) length \(?(?P<tokens>\d+)\)? exceeds (?:the )?maximum input length",
            nature=Nature.EFFECT,
            source="TensorRT-LLM 0.7 to 1.2, cpp/tensorrt_llm/batch_manager",
            sample="[TensorRT-LLM][ERROR] Encountered an error when fetching new request: Prompt length (9120) exceeds maximum input length (4096).",
            types={"tokens": int},
        ),
        Pattern(
            event="inference.engine_dead",
            regex=r"Encountered an error in forwardAsync function",
            nature=Nature.EFFECT,
            source="TensorRT-LLM 0.7 to 1.2, cpp/tensorrt_llm/batch_manager",
            sample="[TensorRT-LLM][ERROR] Encountered an error in forwardAsync function: std::bad_alloc",
            constants={"value": "tensorrt-llm", "phase": "serving"},
            fact="job.engine",
        ),
        Pattern(
            event="inference.kv_allocated",
            regex=r"\[MemUsageChange\] Allocated (?P<memory>[\d.]+ [KMG]iB) for max tokens in paged KV cache \((?P<tokens>\d+)\)",
            nature=Nature.MEASUREMENT,
            source="TensorRT-LLM 0.7 to 1.2, cpp/tensorrt_llm/runtime",
            sample="[TensorRT-LLM][INFO] [MemUsageChange] Allocated 43.29 GiB for max tokens in paged KV cache (354624).",
            types={"memory": size, "tokens": int},
            constants={"value": "tensorrt-llm"},
            fact="job.engine",
        ),
    ),
)

PARSERS = (OLLAMA, SERVERS)
