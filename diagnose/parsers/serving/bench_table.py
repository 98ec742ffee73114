"""The result table of serving benchmarks: ``vllm bench serve``, ``benchmark_serving``, ``bench_serving``.

::

    ============ Serving Benchmark Result ============
    Successful requests:                     300
    Request rate configured (RPS):           1.50
    Request throughput (req/s):              0.41
    ---------------Time to First Token----------------
    Mean TTFT (ms):                          1442.20
    P99 TTFT (ms):                           6637.90
    ==================================================

Capital letters vary, and SGLang adds rows of its own.

``inference.bench``
    The run, see ``bench_run``.

*Empty*: the benchmark did not end. *Cut off*: the rows that stand there are read.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser
from diagnose.parsers.serving.bench_run import bench

_TITLE = "Serving Benchmark Result"
_ROW = LazyPattern(
    r"^(?P<label>[A-Za-z][\w ().%/,-]*?):\s*(?P<value>-?\d[\d.,]*(?:e[+-]?\d+)?|inf|not set|N/A|[a-z][\w-]*)$"
)
_TIME = LazyPattern(r"^(mean|median|max|p\d\d) (ttft|tpot|itl|e2el|e2e latency) \(ms\)$")
_TIMES = {"e2el": "e2e", "e2e latency": "e2e"}
_ROWS = {
    "successful requests": "requests",
    "failed requests": "failed",
    "benchmark duration (s)": "duration",
    "request rate configured (rps)": "rate",
    "traffic request rate": "rate",
    "request throughput (req/s)": "throughput",
    "maximum request concurrency": "concurrency_limit",
    "max request concurrency": "concurrency_limit",
    "concurrency": "concurrency",
    "total input tokens": "input_tokens",
    "total generated tokens": "output_tokens",
    "total generated tokens (retokenized)": "retokenized_tokens",
    "output token throughput (tok/s)": "output_tps",
    "peak output token throughput (tok/s)": "output_tps_peak",
    "total token throughput (tok/s)": "total_tps",
    "accept length": "accept_length",
    "acceptance length": "accept_length",
    "acceptance rate (%)": "accept_percent",
}


def read(lines: list[Line]) -> Iterator[Event]:
    """Read a table."""
    measured: dict[str, float] = {}
    unlimited, program = False, "vllm"
    for line in lines:
        row = _ROW.match(line.text.strip())
        if row is None:
            continue
        label, text = row["label"].lower(), row["value"]
        if label in ("backend", "max request concurrency"):
            program = "sglang"
        time = _TIME.match(label)
        if time is not None:
            name = f"{_TIMES.get(time[2], time[2])}_{time[1]}"
        elif label in _ROWS:
            name = _ROWS[label]
        else:
            continue
        unlimited = unlimited or (name == "rate" and text == "inf")
        value = _number(text)
        if value is not None:
            measured[name] = round(value / 1e3, 9) if time is not None else value
    if "accept_percent" in measured:
        measured["accept_rate"] = measured.pop("accept_percent") / 100
    event = bench(lines, program, measured, unlimited=unlimited)
    if event is not None:
        yield event


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if value != float("inf") else None


PARSERS = (
    BlockParser(
        name="serving-benchmark",
        title="the result table of vLLM's and SGLang's serving benchmarks",
        opens=(_TITLE,),
        starts=lambda line: _TITLE in line.text,
        ends=lambda lines, following: (
            len(lines) > 1 and bool(re.match(r"={40,}\s*$", lines[-1].text.strip()))
        ),
        read=read,
        emits=("inference.bench",),
        sample=(
            "============ Serving Benchmark Result ============\n"
            "Request rate configured (RPS):           4.00      \n"
            "Request throughput (req/s):              0.41      \n"
            "Mean TTFT (ms):                          1442.20   \n"
            "==================================================\n"
        ),
        maximum=80,
    ),
)
