"""Latency figures of a serving engine: benchmark tables and scrapes of ``/metrics``.

``vllm bench serve`` and ``sglang.bench_serving`` end with a table of labels and values::

    ============ Serving Benchmark Result ============
    Request throughput (req/s):              0.41
    Mean TTFT (ms):                          1442.20

A scrape holds counters since the start of the server (``vllm:`` and ``sglang:``); the figures here
are means over that time, of the first scrape in the file. Time to first token is queue + prefill +
the rest (front end).

``inference.benchmark``, ``inference.metrics``
    The figures in seconds and shares, unknown ones None.

*Empty*: no figures. *Cut off*: what stands there is read.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event

_TITLE = "Serving Benchmark Result"
_ROW = LazyPattern(r"^(?P<label>[A-Z][\w ().%/-]*?):\s{2,}(?P<value>[\d.]+|inf)\s*$")
_ROWS = {
    "successful requests": ("succeeded", 1.0),
    "failed requests": ("failed", 1.0),
    "request rate configured (rps)": ("rate", 1.0),
    "traffic request rate": ("rate", 1.0),
    "request throughput (req/s)": ("throughput", 1.0),
    "mean ttft (ms)": ("ttft_mean", 1e-3),
    "median ttft (ms)": ("ttft_median", 1e-3),
    "p99 ttft (ms)": ("ttft_p99", 1e-3),
    "mean tpot (ms)": ("tpot_mean", 1e-3),
    "median itl (ms)": ("itl_median", 1e-3),
    "p99 itl (ms)": ("itl_p99", 1e-3),
}


def _read_table(lines: list[Line]) -> Iterator[Event]:
    fields: dict[str, Value] = dict.fromkeys(name for name, _ in _ROWS.values())
    for line in lines:
        row = _ROW.match(line.text.strip())
        if row and row["label"].lower() in _ROWS and row["value"] != "inf":
            name, factor = _ROWS[row["label"].lower()]
            fields[name] = round(float(row["value"]) * factor, 6)
    if fields["ttft_mean"] is None and fields["throughput"] is None:
        return
    fields["served_of_rate"] = _share(fields["throughput"], fields["rate"])
    yield make_event(
        "inference.benchmark", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )


BENCHMARK = BlockParser(
    name="serving-benchmark",
    title="the result table of vLLM's and SGLang's serving benchmarks",
    opens=(_TITLE,),
    starts=lambda line: _TITLE in line.text,
    ends=lambda lines, following: bool(re.match(r"={40,}\s*$", lines[-1].text.strip())),
    read=_read_table,
    emits=("inference.benchmark",),
    sample=(
        "============ Serving Benchmark Result ============\n"
        "Request rate configured (RPS):           4.00      \n"
        "Request throughput (req/s):              0.41      \n"
        "Mean TTFT (ms):                          1442.20   \n"
        "==================================================\n"
    ),
    maximum=60,
)

_SAMPLE = LazyPattern(r"^(?:vllm|sglang):(?P<name>\w+)(?:\{[^}]*\})? (?P<value>[\d.eE+-]+)\s*$")
_WAITS = {
    "queue_mean": ("request_queue_time_seconds", "queue_time_seconds"),
    "prefill_mean": ("request_prefill_time_seconds",),
    "ttft_mean": ("time_to_first_token_seconds",),
}
_HITS = ("prefix_cache_hits_total", "gpu_prefix_cache_hits_total")
_QUERIES = ("prefix_cache_queries_total", "gpu_prefix_cache_queries_total")


def _read_scrape(lines: list[Line]) -> Iterator[Event]:
    sums: dict[str, float] = {}
    for line in lines:
        found = _SAMPLE.match(line.text.strip())
        if found and not found["name"].endswith("_bucket"):
            name = found["name"]
            sums[name] = sums.get(name, 0.0) + float(found["value"])
    fields: dict[str, Value] = {
        "running": _first(sums, ("num_requests_running", "num_running_reqs")),
        "waiting": _first(sums, ("num_requests_waiting", "num_queue_reqs")),
        "kv": _first(sums, ("kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage")),
        "preemptions": _first(sums, ("num_preemptions_total", "num_preemptions")),
        "hit": _share(_first(sums, _HITS), _first(sums, _QUERIES)),
    }
    for mean, names in _WAITS.items():
        total = _first(sums, tuple(f"{name}_sum" for name in names))
        fields[mean] = _share(total, _first(sums, tuple(f"{name}_count" for name in names)))
    fields["queue_share"] = _share(fields["queue_mean"], fields["ttft_mean"])
    if any(value is not None for value in fields.values()):
        yield make_event(
            "inference.metrics", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
        )


def _first(sums: dict[str, float], names: tuple[str, ...]) -> float | None:
    return next((sums[name] for name in names if name in sums), None)


def _share(part: Value, whole: Value) -> float | None:
    if not isinstance(part, int | float) or not isinstance(whole, int | float) or not whole:
        return None
    return round(part / whole, 4)


SCRAPE = BlockParser(
    name="serving-scrape",
    title="a scrape of /metrics of vLLM or SGLang",
    opens=("vllm:", "sglang:"),
    starts=lambda line: _SAMPLE.match(line.text.strip()) is not None,
    ends=lambda lines, following: (
        bool(following.text.strip())
        and not following.text.startswith(("#", "vllm:", "sglang:", "process_", "python_", "http_"))
    ),
    read=_read_scrape,
    emits=("inference.metrics",),
    sample=(
        'vllm:num_requests_running{model_name="a"} 16.0\n'
        'vllm:num_requests_waiting{model_name="a"} 31.0\n'
        'vllm:kv_cache_usage_perc{model_name="a"} 0.97\n'
    ),
    maximum=4_000,
)

PARSERS = (BENCHMARK, SCRAPE)
