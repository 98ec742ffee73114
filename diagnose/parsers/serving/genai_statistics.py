"""What GenAI-Perf's statistics are called in a benchmark's record.

Not a parser: the readers of its JSON, CSV and table share it. Its ``inter_token_latency`` is a mean of
each request, what vLLM calls TPOT.
"""

from collections.abc import Mapping

from diagnose.parsers.serving.bench_run import number

TIMES = {
    "time_to_first_token": "ttft", "inter_token_latency": "tpot", "request_latency": "e2e",
}  # fmt: skip
TOTALS = {
    "request_throughput": "throughput", "output_token_throughput": "output_tps",
    "request_count": "requests", "input_sequence_length": "input_mean",
    "output_sequence_length": "output_mean",
}  # fmt: skip
STATISTICS = {
    "avg": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99", "max": "max",
}  # fmt: skip

_SECONDS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "s": 1.0, "sec": 1.0}


def of_genai_perf(result: Mapping[str, object]) -> dict[str, float]:
    """Return the fields of GenAI-Perf's statistics.

    Args:
        result: Name to its statistics with their ``unit``.
    """
    found: dict[str, float] = {}
    for key, statistics in result.items():
        if not isinstance(statistics, Mapping):
            continue
        if key in TOTALS:
            average = number(statistics.get("avg"))
            if average is not None:
                found[TOTALS[key]] = average
        elif key in TIMES:
            factor = _SECONDS.get(str(statistics.get("unit")), 1e-3)
            for statistic, name in STATISTICS.items():
                value = number(statistics.get(statistic))
                if value is not None:
                    found[f"{TIMES[key]}_{name}"] = round(value * factor, 9)
    return found
