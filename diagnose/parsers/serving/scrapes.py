"""Scrapes of ``/metrics`` of serving engines: Prometheus' text, one or several of them in a file.

::

    # HELP vllm:num_requests_running Number of requests in model execution batches.
    # TYPE vllm:num_requests_running gauge
    vllm:num_requests_running{engine="0",model_name="a-7b"} 16.0
    vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5",model_name="a-7b"} 12.0

Engines of one server are summed up; ``instance`` and ``pod`` tell servers apart.

``inference.metrics``
    One for each scrape and server: the levels, and the figures over the life of the server
    (``figures``). ``life`` is how long it has run, in seconds, where both moments are known; ``snapshot``
    is what two scrapes are compared by, in ``facts.serving.intervals``.
``inference.cache_config``
    Block size, blocks, ``tokens`` and memory fraction that vLLM exports as labels.

*Empty*: no series of an engine. *Cut off*: what stands there is read; a histogram without its sum has no
mean.
"""

from collections.abc import Iterator
from dataclasses import replace

from diagnose.model.event import Clock, Event, Nature, Value
from diagnose.parsers.base import Document, FileParser, make_event
from diagnose.parsers.gate import Gate
from diagnose.parsers.serving.exposition import SEEN, SERIES, Sample, Scrape, scrapes
from diagnose.parsers.serving.figures import figures
from diagnose.parsers.serving.metric_series import snapshot_of


def accepts(name: str, head: bytes) -> bool:
    """Decide whether a source holds series of an engine."""
    return SEEN.search(head) is not None


def read(document: Document) -> Iterator[Event]:
    """Read the scrapes of a source."""
    for scrape in scrapes(document):
        for (program, server), samples in scrape.samples.items():
            yield from _told(scrape, program, server, samples)


def _told(
    scrape: Scrape, program: str, server: str | None, samples: list[Sample]
) -> Iterator[Event]:
    first, life = scrape.first, None
    if scrape.moment is not None:
        time, clock = scrape.moment
        first = replace(first, time=time, clock=clock)
        if scrape.began is not None and clock is Clock.UTC:
            life = time - scrape.began
    for name, labels, _ in samples:
        if name == "cache_config_info":
            yield make_event("inference.cache_config", Nature.SETTING, first, _cache(labels))
    snapshot = snapshot_of(samples)
    snapshot.began = scrape.began
    told = figures(snapshot, None)
    if all(value is None for value in told.values()):
        return
    fields: dict[str, Value] = {
        "engine": program, "server": server, "life": life, **told, "snapshot": snapshot.packed(),
    }  # fmt: skip
    yield make_event(
        "inference.metrics", Nature.MEASUREMENT, first, fields, end_line=scrape.last.number
    )


def _cache(labels: dict[str, str]) -> dict[str, Value]:
    size, blocks, share = (
        _number(labels.get(name, ""))
        for name in ("block_size", "num_gpu_blocks", "gpu_memory_utilization")
    )
    tokens = None if size is None or blocks is None else int(size * blocks)
    return {"block_size": size, "blocks": blocks, "utilization": share, "tokens": tokens}


def _number(text: str) -> float | None:
    return float(text) if len(text) < 20 and text.replace(".", "", 1).isdecimal() else None


PARSERS = (
    FileParser(
        name="serving-scrapes",
        title="scrapes of /metrics of vLLM, SGLang, TensorRT-LLM, TGI and Triton",
        accepts=accepts,
        gate=Gate(holds=SERIES),
        read=read,
        emits=("inference.metrics", "inference.cache_config"),
        sample=(
            'vllm:num_requests_running{model_name="a"} 16.0\n'
            'vllm:num_requests_waiting{model_name="a"} 31.0\n'
            'vllm:kv_cache_usage_perc{model_name="a"} 0.97\n'
        ),
    ),
)
