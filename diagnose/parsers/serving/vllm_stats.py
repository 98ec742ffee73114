"""vLLM's statistics lines: queue, KV cache and throughput every five or ten seconds.

Printed by ``engine/metrics.py`` (V0) and ``v1/metrics/loggers.py`` (V1)::

    Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 1242.7 tokens/s, Running: 20 reqs, Waiting: 23 reqs, Deferred: 2 reqs, Preemptions: 7, GPU KV cache usage: 98.4%, Prefix cache hit rate: 12.1%, External prefix cache hit rate: 3.0%, MM cache hit rate: 60.0%

The optional parts stand there only when they are not zero, so a line is read as pairs of name and
value. *Empty*: the engine was idle; it then prints at DEBUG level, and silence behind two lines of
zeros is no hang. *Cut off*: a line cut before the number of running requests is no sample; later
parts may be missing.

The hit rate is a mean over the last thousand requests or so, not over the interval. ``N Engines
Aggregated`` sums the queues and averages the KV usage: one full engine can hide in it.
``Corrupted`` counts requests whose logits were not numbers.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement, Nature
from diagnose.parsers.base import BlockText, BulkParser, make_event
from diagnose.parsers.serving.samples import Sample, episodes

STATS = LazyPattern(
    rb"(?:Engine (\d+): |(\d+) Engines Aggregated: )?"
    rb"Avg prompt throughput: (\d+(?:\.\d+)?) tokens/s, +"
    rb"Avg generation throughput: (\d+(?:\.\d+)?) tokens/s, +Running: (\d+) reqs([^\r\n]{0,600})"
)
PART = LazyPattern(rb"([A-Z][A-Za-z ]+): (\d{1,15}(?:\.\d+)?)(%?)")
HIT_V0 = LazyPattern(rb"Prefix cache hit rate: GPU: (\d+(?:\.\d+)?)%")

COUNTS = {
    b"Waiting": "waiting",
    b"Pending": "waiting",
    b"Deferred": "deferred",
    b"Swapped": "swapped",
    b"Preemptions": "preemptions",
    b"Corrupted": "corrupted",
}
"""Counts behind the running requests; each but the first stands there only if it is not zero."""

SHARES = {
    b"GPU KV cache usage": "kv_cache_usage",
    b"CPU KV cache usage": "host_kv_cache_usage",
    b"Prefix cache hit rate": "prefix_cache_hit_rate",
    b"External prefix cache hit rate": "external_hit_rate",
    b"MM cache hit rate": "multimodal_hit_rate",
}
"""Parts in percent, read as shares; one cut before its sign may be cut within its number."""


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the statistics lines of a block."""
    samples: list[Sample] = []
    for found in STATS.finditer(block.data):
        values = {
            "prompt_tokens_per_s": float(found[3]),
            "generation_tokens_per_s": float(found[4]),
            "running": float(found[5]),
            "waiting": 0.0,
        }
        for name, number, percent in PART.findall(found[6]):
            if percent and name in SHARES:
                values[SHARES[name]] = float(number) / 100
            elif name in COUNTS:
                values[COUNTS[name]] = float(number)
        line = block.line_at(found.start())
        samples.append(
            Sample(
                line=line,
                engine=(found[1] or (found[2] and b"all") or b"0").decode(),
                engines=int(found[2] or 1),
                running=values["running"],
                waiting=values["waiting"],
                kv=values.get("kv_cache_usage"),
                prompt=values["prompt_tokens_per_s"],
                generated=values["generation_tokens_per_s"],
                hit=values.get("prefix_cache_hit_rate"),
                preempted=values.get("preemptions", values.get("swapped", 0.0)),
                corrupted=values.get("corrupted", 0.0),
            )
        )
        yield Measurement(line, None, values)
    samples = _with_hit_rates(block, samples)
    if samples:
        yield make_event(
            "inference.engine", Nature.SETTING, samples[0].line, {"value": "vllm"},
            fact="job.engine",
        )  # fmt: skip
    yield from episodes(samples)


def _with_hit_rates(block: BlockText, samples: list[Sample]) -> list[Sample]:
    """Give the V0 engine's separate line of hit rates to the sample before it."""
    numbers_of = [sample.line.number for sample in samples]
    for found in HIT_V0.finditer(block.data):
        at = bisect_left(numbers_of, block.line_at(found.start()).number) - 1
        if at >= 0 and samples[at].hit is None:
            samples[at] = replace(samples[at], hit=float(found[1]) / 100)
    return samples


PARSERS = (
    BulkParser(
        name="vllm-stats",
        title="vLLM's statistics lines of queue, KV cache and throughput",
        opens=("Avg prompt throughput: ",),
        read=read,
        emits=(
            "running", *dict.fromkeys(COUNTS.values()), *SHARES.values(),
            "prompt_tokens_per_s", "generation_tokens_per_s", "inference.engine",
            "inference.queue", "inference.stall", "inference.prefix_cache",
            "inference.preemptions", "inference.corrupted", "inference.pace", "inference.serving",
        ),
        sample="(APIServer pid=1) INFO 01-05 10:00:20 [loggers.py:271] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 1242.7 tokens/s, Running: 20 reqs, Waiting: 23 reqs, Deferred: 2 reqs, Preemptions: 7, GPU KV cache usage: 98.4%, Prefix cache hit rate: 12.1%, External prefix cache hit rate: 3.0%, MM cache hit rate: 60.0%\n",
    ),
)  # fmt: skip
