"""TensorRT-LLM: iterations, statistics, the size of its KV cache, and how it fails.

Printed by the PyTorch backend (``print_iter_log``), as objects by its statistics, and by the C++
runtime::

    [01/05/2026-10:00:00] [TRT-LLM] [I] iter = 120, global_rank = 0, rank = 0, num_scheduled_requests = 8, kv_cache_util = 0.41, currank_total_requests = 0/1, host_step_time = 17.4ms, prev_device_step_time = 16.9ms, timestamp = 2026-01-05 10:00:00, states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 8}
    {"iterLatencyMS": 17.4, "numActiveRequests": 9, "numQueuedRequests": 4, "kvCacheStats": {"usedNumBlocks": 512, "maxNumBlocks": 1024}, "inflightBatchingStats": {"numPausedRequests": 0}}
    [TensorRT-LLM][INFO] [MemUsageChange] Allocated 43.29 GiB for max tokens in paged KV cache (354624).

The order of the parts varies and some are missing in older versions, so lines are read as pairs.
``host_step_time`` well over that of the device means that the GPU waits for the host. Paused requests
were thrown out of the KV cache.

``inference.step_times``
    One for the iterations of a block: medians of ``host_step`` and ``device_step`` (seconds), of their ratio
    ``host_per_device``, of ``requests`` in a step, and how many ``samples``.
``inference.kv_allocated``, ``inference.kv_blocks``, ``inference.limits``
    Size of the KV cache in bytes and tokens, in blocks, and the longest sequence, requests and tokens.

*Empty*: iterations are not logged. *Cut off*: parts behind the cut are unknown; the first iteration has
no device time.
"""

import json
from collections.abc import Iterator
from statistics import median

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Measurement, Nature, Value
from diagnose.parsers.base import BlockText, BulkParser, LineParser, Pattern, make_event
from diagnose.parsers.convert import size
from diagnose.parsers.serving.samples import Sample, episodes

ITERATION = LazyPattern(rb"\biter = \d+, ([^\r\n]{20,900})")
PART = LazyPattern(rb"['\"]?(\w+)['\"]?(?: = |: )(\d+(?:\.\d+)?)(ms)?")
STATS = LazyPattern(rb"[^\r\n]*\"iterLatencyMS\"[^\r\n]*")

_SOURCE = "TensorRT-LLM 0.7 to 1.2, cpp/tensorrt_llm"


def read_iterations(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the iteration lines of a block."""
    rows: list[tuple[Line, dict[str, float]]] = []
    for found in ITERATION.finditer(block.data):
        parts = {
            name.decode(): float(value) * (1e-3 if unit else 1)
            for name, value, unit in PART.findall(found[1])
        }
        values = {
            metric: parts[name]
            for metric, name in (
                ("running", "num_scheduled_requests"),
                ("kv_cache_usage", "kv_cache_util"),
                ("host_step_time", "host_step_time"),
                ("device_step_time", "prev_device_step_time"),
            )
            if name in parts
        }
        if "host_step_time" in values:
            line = block.line_at(found.start())
            rows.append((line, values))
            yield Measurement(line, None, values)
    if rows:
        yield _step_times(rows)


def _step_times(rows: list[tuple[Line, dict[str, float]]]) -> Event:
    pairs = [
        (values["host_step_time"], values["device_step_time"])
        for _, values in rows
        if values.get("device_step_time")
    ]
    running = [values["running"] for _, values in rows if "running" in values]
    fields: dict[str, Value] = {
        "engine": "tensorrt-llm",
        "samples": len(pairs),
        "host_step": median(host for host, _ in pairs) if pairs else None,
        "device_step": median(device for _, device in pairs) if pairs else None,
        "host_per_device": round(median(host / device for host, device in pairs), 3)
        if pairs
        else None,
        "requests": median(running) if running else None,
    }
    first, last = rows[0][0], rows[-1][0]
    return make_event(
        "inference.step_times", Nature.MEASUREMENT, first, fields, end_line=last.number
    )


def read_statistics(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the statistics of a block: an object, or a list of them, on a line."""
    samples: list[Sample] = []
    for found in STATS.finditer(block.data):
        line = block.line_at(found.start())
        for one in _objects(line.text):
            sample = _sample(line, one)
            if sample is not None:
                samples.append(sample)
                values = {"running": sample.running, "waiting": sample.waiting}
                if sample.kv is not None:
                    values["kv_cache_usage"] = sample.kv
                if sample.hit is not None:
                    values["prefix_cache_hit_rate"] = sample.hit
                yield Measurement(line, None, values)
    yield from episodes(samples)


def _objects(text: str) -> list[dict[str, object]]:
    start = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=0)
    try:
        found = json.loads(text[start:].rstrip().rstrip(","))
    except (ValueError, RecursionError):
        return []
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]


def _sample(line: Line, one: dict[str, object]) -> Sample | None:
    running, waiting = _number(one, "numActiveRequests"), _number(one, "numQueuedRequests")
    if running is None or waiting is None:
        return None
    cache, batch = one.get("kvCacheStats"), one.get("inflightBatchingStats")
    used, most = _number(cache, "usedNumBlocks"), _number(cache, "maxNumBlocks")
    return Sample(
        line=line,
        engine="0",
        running=running,
        waiting=waiting,
        kv=used / most if used is not None and most else None,
        prompt=None,
        generated=None,
        hit=_number(cache, "cacheHitRate"),
        preempted=_number(batch, "numPausedRequests") or 0.0,
    )


def _number(one: object, name: str) -> float | None:
    value = one.get(name) if isinstance(one, dict) else None
    return float(value) if isinstance(value, int | float) else None


ITERATIONS = BulkParser(
    name="tensorrt-llm-iterations",
    title="TensorRT-LLM's iteration lines",
    opens=("host_step_time = ",),
    read=read_iterations,
    emits=(
        "running", "kv_cache_usage", "host_step_time", "device_step_time", "inference.step_times",
    ),
    sample="[01/05/2026-10:00:00] [TRT-LLM] [I] iter = 120, global_rank = 0, rank = 0, num_scheduled_requests = 8, kv_cache_util = 0.41, currank_total_requests = 0/1, host_step_time = 17.4ms, prev_device_step_time = 16.9ms, timestamp = 2026-01-05 10:00:00, states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 8}\n",
)  # fmt: skip

STATISTICS = BulkParser(
    name="tensorrt-llm-statistics",
    title="TensorRT-LLM's statistics as JSON",
    opens=("\"iterLatencyMS\"",),
    read=read_statistics,
    emits=(
        "running", "waiting", "kv_cache_usage", "prefix_cache_hit_rate", "inference.queue",
        "inference.preemptions", "inference.prefix_cache",
    ),
    sample='{"iterLatencyMS": 17.4, "numActiveRequests": 9, "numQueuedRequests": 4, "kvCacheStats": {"usedNumBlocks": 512, "maxNumBlocks": 1024, "cacheHitRate": 0.31}, "inflightBatchingStats": {"numPausedRequests": 0}}\n',
)  # fmt: skip

MESSAGES = LineParser(
    name="tensorrt-llm",
    title="TensorRT-LLM's KV cache, limits and failures",
    patterns=(
        Pattern(
            event="inference.request_too_long",
            regex=r"(?:[Pp]rompt|[Ii]nput) length \(?(?P<tokens>\d+)\)? exceeds (?:the )?maximum input length(?: \(?(?P<limit>\d+))?",
            nature=Nature.EFFECT,
            source=f"{_SOURCE}/batch_manager",
            sample="[TensorRT-LLM][ERROR] Encountered an error when fetching new request: Prompt length (9120) exceeds maximum input length (4096).",
            types={"tokens": int, "limit": int},
        ),
        Pattern(
            event="inference.engine_dead",
            regex=r"Encountered an error in forwardAsync function",
            nature=Nature.EFFECT,
            source=f"{_SOURCE}/batch_manager",
            sample="[TensorRT-LLM][ERROR] Encountered an error in forwardAsync function: std::bad_alloc",
            constants={"value": "tensorrt-llm", "phase": "serving"},
            fact="job.engine",
        ),
        Pattern(
            event="inference.kv_allocated",
            regex=r"\[MemUsageChange\] Allocated (?P<memory>[\d.]+ [KMG]iB) for max tokens in paged KV cache \((?P<tokens>\d+)\)",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/runtime",
            sample="[TensorRT-LLM][INFO] [MemUsageChange] Allocated 43.29 GiB for max tokens in paged KV cache (354624).",
            types={"memory": size, "tokens": int},
            constants={"value": "tensorrt-llm"},
            fact="job.engine",
        ),
        Pattern(
            event="inference.kv_blocks",
            regex=r"tokens per block=(?P<block_size>\d+), primary blocks=(?P<blocks>\d+)",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/batch_manager/kvCacheManager.cpp",
            sample="[TensorRT-LLM][INFO] Number of blocks per window size: tokens per block=64, primary blocks=36506, secondary blocks=0",
            types={"block_size": int, "blocks": int},
        ),
        Pattern(
            event="inference.limits",
            regex=r"max_seq_len=(?P<max_model_len>\d+), max_num_requests=(?P<max_num_seqs>\d+), max_num_tokens=(?P<max_num_batched_tokens>\d+)",
            nature=Nature.SETTING,
            source="TensorRT-LLM 0.17 to 1.2, tensorrt_llm/_torch/pyexecutor",
            sample="[01/05/2026-10:00:00] [TRT-LLM] [I] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192, max_batch_size=2048",
            types=dict.fromkeys(("max_model_len", "max_num_seqs", "max_num_batched_tokens"), int),
        ),
        Pattern(
            event="inference.block_reuse",
            regex=r"KV cache block reuse is (?P<value>enabled|disabled)",
            nature=Nature.SETTING,
            source=f"{_SOURCE}/batch_manager",
            sample="[TensorRT-LLM][INFO] KV cache block reuse is disabled",
        ),
    ),
)  # fmt: skip

PARSERS = (ITERATIONS, STATISTICS, MESSAGES)
