"""SGLang's lines of prefill and decode batches: queue, token pool and throughput.

Printed by ``srt/managers/scheduler_metrics_mixin.py`` (0.3 to 0.5), each line behind
``[2026-01-05 10:00:00 TP0]``::

    Prefill batch, #new-seq: 3, #new-token: 8192, #cached-token: 1024, token usage: 0.41, #running-req: 57, #queue-req: 12,
    Decode batch, #running-req: 60, #token: 370959, token usage: 0.82, cuda graph: True, gen throughput (token/s): 4594.01, #queue-req: 12,

The order of the parts and the sign behind ``batch`` vary, and there are more of them with speculation,
with prefill and decode apart, and with sliding windows; so a line is read as pairs. All tensor-parallel
ranks may print; the statistics come from the first one. Of several pools the fullest counts.

What one batch finds in the cache says little: requests find all or nothing. The samples have the hit rate
over the last ``REQUESTS`` requests of an engine, once there are half as many; older versions print one.

``inference.decode_graphs``
    One for the decode lines of a block that tell whether a CUDA graph was used: ``samples``, of them
    ``without``, and the ``share`` of these; ``per_request`` is the median of the tokens a second that
    a running request gets.

*Empty*: no request came. *Cut off*: a line cut short is read up to the cut, without a queue length
it is no sample.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from statistics import median

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Measurement, Nature
from diagnose.parsers.base import BlockText, BulkParser, make_event
from diagnose.parsers.metric_names import numbers
from diagnose.parsers.serving.samples import Sample, episodes

BATCH = LazyPattern(rb"(Prefill|Decode) batch(?: \[\d+\])?[.,] ([^\r\n]{10,600})")
PART = LazyPattern(rb"(#?[A-Za-z][\w /()-]*?): ([\d.]+\d|\d|True|False)%?")
CUT_PREFIX = LazyPattern(r"[\d :.,-]{8,30}? ((?:(?:DP|PP|TP|EP|ATTN|MOE)\w* ?)+)\] ")

POOLS = (b"token usage", b"full token usage", b"swa token usage", b"mamba usage")
PREFILL = {"requests": b"#new-seq", "new": b"#new-token", "cached": b"#cached-token"}
GRAPHS = (b"cuda graph", b"cpu graph", b"npu graph")

REQUESTS = 200
"""Requests over which a hit rate is taken; vLLM takes a thousand."""

PARTS = {
    "running": b"#running-req",
    "waiting": b"#queue-req",
    "generation_tokens_per_s": b"gen throughput (token/s)",
    "prompt_tokens_per_s": b"input throughput (token/s)",
    "accept_length": b"accept len",
    "accept_rate": b"accept rate",
    "preemptions": b"#retracted-req",
    "preallocating": b"#prealloc-req",
    "transferring": b"#transfer-req",
    "in_flight": b"#inflight-req",
}


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the batch lines of a block."""
    samples: list[Sample] = []
    with_graph: list[bool] = []
    speeds: list[float] = []
    caches: dict[str, _Cache] = defaultdict(_Cache)
    for found in BATCH.finditer(block.data):
        parts = dict(PART.findall(found[2]))
        if b"#queue-req" not in parts:
            continue
        values = numbers({name: parts.get(part) for name, part in PARTS.items()})
        pools = numbers({pool.decode(): parts.get(pool) for pool in POOLS})
        if pools:
            values["kv_cache_usage"] = max(pools.values())
        tokens = numbers({name: parts.get(part) for name, part in PREFILL.items()})
        new, cached = tokens.get("new", 0.0), tokens.get("cached")
        if cached is not None and new + cached > 0:
            values["prefix_cache_hit_rate"] = cached / (new + cached)
        line = block.line_at(found.start())
        engine = line.stream or _named(line.raw) or "0"
        caches[engine].add(tokens.get("requests", 1.0), new, cached)
        yield Measurement(line, None, values)
        if found[1] == b"Decode":
            with_graph.extend(parts[graph] == b"True" for graph in GRAPHS if graph in parts)
            if values.get("running") and "generation_tokens_per_s" in values:
                speeds.append(values["generation_tokens_per_s"] / values["running"])
        stated = numbers({"hit": parts.get(b"cache hit rate")}).get("hit")
        hit = caches[engine].hit_rate() if stated is None else stated / 100
        samples.append(_sample(line, engine, values, tokens.get("new"), hit))
    if not samples:
        return
    yield make_event(
        "inference.engine", Nature.SETTING, samples[0].line, {"value": "sglang"}, fact="job.engine"
    )
    if with_graph:
        without = with_graph.count(False)
        yield make_event(
            "inference.decode_graphs",
            Nature.MEASUREMENT,
            samples[0].line,
            {
                "samples": len(with_graph),
                "without": without,
                "share": round(without / len(with_graph), 4),
                "per_request": round(median(speeds), 2) if speeds else None,
            },
            end_line=samples[-1].line.number,
        )
    yield from episodes(samples)


def _sample(
    line: Line, engine: str, values: Mapping[str, float], new: float | None, hit: float | None
) -> Sample:
    return Sample(
        line=line,
        engine=engine,
        running=values.get("running", 0.0),
        waiting=values["waiting"],
        kv=values.get("kv_cache_usage"),
        # A prefill batch states its tokens, and only newer versions their rate.
        prompt=values.get("prompt_tokens_per_s", new),
        generated=values.get("generation_tokens_per_s"),
        hit=hit,
        preempted=values.get("preemptions", 0.0),
    )


class _Cache:
    """What the last requests of an engine found in the cache."""

    def __init__(self) -> None:
        self._batches: deque[tuple[float, float, float]] = deque()
        self._requests = self._new = self._cached = 0.0

    def add(self, requests: float, new: float, cached: float | None) -> None:
        """Take a batch; one without a count of cached tokens is no prefill."""
        if cached is None:
            return
        self._batches.append((requests, new, cached))
        self._count(requests, new, cached)
        while self._requests - self._batches[0][0] >= REQUESTS:
            self._count(*(-number for number in self._batches.popleft()))

    def _count(self, requests: float, new: float, cached: float) -> None:
        self._requests += requests
        self._new += new
        self._cached += cached

    def hit_rate(self) -> float | None:
        """Return the share of their tokens that was cached, None while they are few."""
        total = self._new + self._cached
        return self._cached / total if self._requests >= REQUESTS / 2 and total else None


def _named(raw: str) -> str | None:
    """Return the engine in a prefix whose first sign was not copied, which is then no prefix."""
    found = CUT_PREFIX.match(raw)
    return found[1] if found else None


PARSERS = (
    BulkParser(
        name="sglang-batches",
        title="SGLang's lines of prefill and decode batches",
        opens=("Prefill batch", "Decode batch"),
        read=read,
        emits=(
            *PARTS, "kv_cache_usage", "prefix_cache_hit_rate", "inference.engine",
            "inference.queue", "inference.stall", "inference.prefix_cache",
            "inference.preemptions", "inference.pace", "inference.serving", "inference.decode_graphs",
        ),
        sample="[2026-01-05 10:00:01 TP0] Decode batch, #running-req: 60, #token: 370959, token usage: 0.82, cuda graph: True, gen throughput (token/s): 4594.01, #queue-req: 12,\n",
    ),
)  # fmt: skip
