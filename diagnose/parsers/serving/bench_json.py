"""Results of serving benchmarks as JSON: of vLLM, of SGLang (an object a line), of GenAI-Perf.

::

    {"request_rate": 4.0, "completed": 300, "duration": 733.1, "request_throughput": 0.41, "mean_ttft_ms": 1442.2, "p99_ttft_ms": 6637.9}
    {"request_throughput": {"unit": "requests/sec", "avg": 0.41}, "time_to_first_token": {"unit": "ms", "avg": 1442.2, "p99": 6637.9}}

GenAI-Perf's ``inter_token_latency`` is a mean of each request, what vLLM calls TPOT. Prompts and answers
that stand in a result are not read.

``inference.bench``
    The run, see ``bench_run``.

*Empty*: no figures. *Cut off*: an object cut short is none.
"""

import json
from collections.abc import Iterator, Mapping

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event
from diagnose.parsers.base import Document, FileParser, Note
from diagnose.parsers.gate import Gate
from diagnose.parsers.serving.bench_run import bench, number
from diagnose.parsers.serving.genai_statistics import of_genai_perf

NAMES = {
    "completed": "requests", "failed": "failed", "duration": "duration", "request_rate": "rate",
    "request_throughput": "throughput", "max_concurrency": "concurrency_limit",
    "concurrency": "concurrency", "total_input_tokens": "input_tokens",
    "total_output_tokens": "output_tokens",
    "total_output_tokens_retokenized": "retokenized_tokens", "output_throughput": "output_tps",
    "max_output_tokens_per_s": "output_tps_peak", "total_token_throughput": "total_tps",
    "total_throughput": "total_tps", "accept_length": "accept_length",
    "spec_decode_acceptance_length": "accept_length",
}  # fmt: skip

_TIME = LazyPattern(r"(mean|median|max|p\d\d)_(ttft|tpot|itl|e2el|e2e_latency)_ms")
_TIMES = {"e2el": "e2e", "e2e_latency": "e2e"}


def accepts(name: str, head: bytes) -> bool:
    """Decide whether a source is the result of a benchmark."""
    if head.lstrip()[:1] != b"{":
        return False
    is_genai = b'"time_to_first_token"' in head or b'"request_latency"' in head
    return b'"request_throughput"' in head and (
        is_genai or b'"completed"' in head or b'"mean_ttft_ms"' in head
    )


def read(document: Document) -> Iterator[Event]:
    """Read one object, or one on each line."""
    text = document.text()
    try:
        objects = [(next(document.lines()), json.loads(text))]
    except (ValueError, RecursionError):
        objects = []
        for line in document.lines():
            try:
                objects.append((line, json.loads(line.text)))
            except (ValueError, RecursionError):
                continue
        if not objects:
            raise Note("the JSON of a benchmark is cut off") from None
    for line, result in objects:
        if isinstance(result, dict):
            is_genai = isinstance(result.get("request_throughput"), dict)
            measured = of_genai_perf(result) if is_genai else _of_serving(result)
            program = "genai-perf" if is_genai else _program(result)
            unlimited = result.get("request_rate") in ("inf", float("inf"))
            event = bench([line], program, measured, unlimited=unlimited)
            if event is not None:
                yield event


def _program(result: Mapping[str, object]) -> str:
    return "sglang" if str(result.get("backend")).startswith("sglang") else "vllm"


def _of_serving(result: Mapping[str, object]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, value in result.items():
        known = number(value)
        if known is None:
            continue
        time = _TIME.fullmatch(key)
        if time is not None:
            found[f"{_TIMES.get(time[2], time[2])}_{time[1]}"] = round(known / 1e3, 9)
        elif key in NAMES:
            found[NAMES[key]] = known
    waits = [wait for one in _flat(result.get("itls")) if (wait := number(one)) is not None]
    if waits:
        found.setdefault("itl_max", max(waits))
    errors = result.get("errors")
    if isinstance(errors, list):
        found.setdefault("failed", float(sum(bool(one) for one in errors)))
    return found


def _flat(lists: object) -> Iterator[object]:
    for one in lists if isinstance(lists, list) else []:
        yield from one if isinstance(one, list) else (one,)


PARSERS = (
    FileParser(
        name="serving-benchmark-json",
        title="results of serving benchmarks as JSON",
        accepts=accepts,
        gate=Gate(starts=(b"{",), holds=(b'"request_throughput"',)),
        read=read,
        emits=("inference.bench",),
        sample='{"backend": "vllm", "request_rate": 4.0, "completed": 300, "duration": 733.1, "request_throughput": 0.41, "mean_ttft_ms": 1442.2, "p99_ttft_ms": 6637.9}\n',
    ),
)
