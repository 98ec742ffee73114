"""The series of serving engines' ``/metrics`` under one name each.

Not a parser: ``scrapes`` uses it. Names stand without ``vllm:``, ``sglang:``, ``trtllm_``, ``tgi_`` and ``nv_``, and
counters without ``_total``; of several the first that is exported counts, since old and new names may
both be there with the same data.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from diagnose.parsers.serving.exposition import Sample
from diagnose.parsers.serving.snapshots import Distribution, Snapshot

GAUGES: dict[str, tuple[str, ...]] = {
    "running": ("num_requests_running", "num_running_reqs", "batch_current_size"),
    "waiting": (
        "num_requests_waiting", "num_queue_reqs", "queue_size", "inference_pending_request_count",
    ),
    "swapped": ("num_requests_swapped",),
    "kv": (
        "kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage", "kv_cache_utilization",
    ),
    "hit_rate": ("gpu_prefix_cache_hit_rate", "cache_hit_rate", "kv_cache_hit_rate"),
    "accept_length": ("spec_accept_length",),
    "output_tps": ("gen_throughput",),
    "gpu_use": ("gpu_utilization",),
    "graphs": ("is_cuda_graph",),
}  # fmt: skip
"""Levels of the moment."""

SHARES = frozenset({"kv", "hit_rate", "accept_length", "gpu_use", "graphs"})
"""Gauges of several engines that cannot be added; the highest counts."""

COUNTERS: dict[str, tuple[str, ...]] = {
    "preemptions": ("num_preemptions", "num_retractions", "num_retractions_sum"),
    "prompt_tokens": ("prompt_tokens",),
    "output_tokens": ("generation_tokens",),
    "cached_tokens": ("cached_tokens",),
    "queries": ("prefix_cache_queries", "gpu_prefix_cache_queries"),
    "hits": ("prefix_cache_hits", "gpu_prefix_cache_hits"),
    "drafted": ("spec_decode_num_draft_tokens",),
    "accepted": ("spec_decode_num_accepted_tokens",),
    "corrupted": ("corrupted_requests",),
    "requests": ("request_success", "inference_request_success"),
    "failures": ("inference_request_failure", "request_failure", "num_aborted_requests"),
    "inferences": ("inference_count",),
    "executions": ("inference_exec_count",),
}  # fmt: skip
"""Sums since the start of the server."""

HISTOGRAMS: dict[str, tuple[str, ...]] = {
    "ttft": ("time_to_first_token_seconds",),
    "queue": ("request_queue_time_seconds", "queue_time_seconds", "request_queue_duration"),
    "prefill": ("request_prefill_time_seconds",),
    "decode": ("request_decode_time_seconds",),
    "inference": ("request_inference_time_seconds", "request_inference_duration"),
    "itl": (
        "inter_token_latency_seconds", "time_per_output_token_seconds",
        "request_mean_time_per_token_duration",
    ),
    "tpot": ("request_time_per_output_token_seconds",),
    "e2e": ("e2e_request_latency_seconds", "request_duration"),
    "prompt_length": ("request_prompt_tokens", "request_input_length"),
    "output_length": ("request_generation_tokens", "request_generated_tokens"),
    "computed": ("request_prefill_kv_computed_tokens",),
    "step_tokens": ("iteration_tokens",),
}  # fmt: skip
"""Distributions since the start: times in seconds, lengths in tokens."""

DURATIONS: dict[str, str] = {
    "e2e": "inference_request_duration_us",
    "queue": "inference_queue_duration_us",
    "inference": "inference_compute_infer_duration_us",
}
"""Triton's sums of microseconds, over the requests that succeeded."""

KV_BLOCKS = "trt_llm_kv_cache_block_metrics"
"""TensorRT-LLM's backend for Triton; one of its kinds is the share of blocks in use."""

Sums = Mapping[str, Sequence[float]]
"""Values of all label sets by bare name."""


def snapshot_of(samples: Iterable[Sample]) -> Snapshot:
    """Return the state that the samples of one server describe."""
    sums: dict[str, list[float]] = defaultdict(list)
    buckets: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    finished: dict[str, float] = defaultdict(float)
    for name, labels, value in samples:
        bare = _bare(name)
        if bare.endswith("_bucket"):
            bound = labels.get("le", "")
            if bound.replace(".", "", 1).isdecimal() or bound == "+Inf":
                buckets[bare.removesuffix("_bucket")][float(bound)] += value
            continue
        sums[bare].append(value)
        if bare == "request_success" and "finished_reason" in labels:
            finished[labels["finished_reason"]] += value
        if name == KV_BLOCKS and labels.get("kv_cache_block_type") == "fraction":
            sums["kv_cache_usage_perc"].append(value)
    return Snapshot(
        gauges=_gauges(sums),
        counters=_counters(sums),
        distributions=_distributions(sums, buckets),
        finished=dict(finished),
    )


def _bare(name: str) -> str:
    """Return a name without ``_total``, which may stand before ``_sum`` and the like."""
    for end in ("_bucket", "_sum", "_count"):
        if name.endswith(end):
            return name.removesuffix(end).removesuffix("_total") + end
    return name.removesuffix("_total")


def _first(sums: Sums, names: Sequence[str]) -> Sequence[float] | None:
    return next((sums[name] for name in names if sums.get(name)), None)


def _gauges(sums: Sums) -> dict[str, float]:
    found: dict[str, float] = {}
    for gauge, names in GAUGES.items():
        values = _first(sums, names)
        if values is not None:
            found[gauge] = max(values) if gauge in SHARES else sum(values)
            if gauge == "kv":
                found["kv_mean"] = sum(values) / len(values)
    return found


def _counters(sums: Sums) -> dict[str, float]:
    return {
        counter: sum(values)
        for counter, names in COUNTERS.items()
        if (values := _first(sums, names)) is not None
    }


def _distributions(
    sums: Sums, buckets: Mapping[str, Mapping[float, float]]
) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    for histogram, names in HISTOGRAMS.items():
        name = next((one for one in names if sums.get(f"{one}_count")), None)
        if name is not None and f"{name}_sum" in sums:
            rows = tuple(sorted(buckets[name].items())) if name in buckets else ()
            found[histogram] = Distribution(
                sum(sums[f"{name}_sum"]), sum(sums[f"{name}_count"]), rows
            )
    requests = _first(sums, COUNTERS["requests"])
    for histogram, name in DURATIONS.items():
        if requests is not None and sums.get(name):
            total = sum(sums[name]) / 1e6
            found.setdefault(histogram, Distribution(total, sum(requests)))
    return found
