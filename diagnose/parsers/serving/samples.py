"""What a run of statistics lines of a serving engine shows.

Not a parser: the readers of vLLM and SGLang share it. A statistics line is a ``Sample``; runs of
them give records that say what happened, without a judgement:

``inference.queue``
    The longest waits of one engine: samples in a row with requests waiting, with the levels of
    queue, KV cache and throughput in it. ``waiting_per_running`` is the median of the ratios;
    ``running_range`` is what separates the busiest from the emptiest sample; ``prompt_spread`` is
    the same for the prompt throughput, over its maximum; ``drained`` tells that the queue became
    empty in a later sample.
``inference.stall``
    Samples in a row with requests running and not one token in or out.
``inference.prefix_cache``
    The deepest fall of the hit rate, from its level before to its lowest after.
``inference.preemptions``
    Requests that were thrown out of the KV cache, summed over the samples.
``inference.corrupted``
    Requests whose logits were not numbers, summed over the samples.
``inference.pace``
    How fast one engine answers: ``per_request``, the median of the tokens a second that each running
    request gets, ``running``, their median number, and ``samples``.
``inference.serving``
    Tokens were generated; the last such sample.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import make_event

SETTLED = 2
"""Samples that make a level of the hit rate: the first few requests may all hit or all miss."""

QUEUES = 3
"""Runs of waiting samples that are told of one engine and block, the longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One statistics line.

    Args:
        line: Where it stands.
        engine: Which engine of the server, as printed.
        running: Requests being worked on.
        waiting: Requests in the queue.
        kv: Share of the KV cache in use, 0 to 1.
        prompt: Prompt tokens per second, None where the line has none.
        generated: Tokens generated per second, None where the line has none.
        hit: Share of prompt tokens found in the prefix cache, 0 to 1.
        preempted: Requests thrown out since the sample before.
        corrupted: Requests of that time whose logits were not numbers.
        engines: How many engines the line speaks of.
    """

    line: Line
    engine: str
    running: float
    waiting: float
    kv: float | None
    prompt: float | None
    generated: float | None
    hit: float | None
    preempted: float = 0.0
    corrupted: float = 0.0
    engines: int = 1


def episodes(samples: Sequence[Sample]) -> Iterator[Event]:
    """Yield what the samples of one block show, engine by engine."""
    for engine in dict.fromkeys(sample.engine for sample in samples):
        own = [sample for sample in samples if sample.engine == engine]
        yield from _queues(own)
        yield from _stalls(own)
        yield from _prefix_cache(own)
        preempted = [sample for sample in own if sample.preempted > 0]
        if preempted:
            total = sum(sample.preempted for sample in preempted)
            fields: dict[str, Value] = {
                "engine": engine, "count": int(total), "samples": len(preempted),
                "kv": _highest([sample.kv for sample in preempted]),
                "per_running": _rounded(total / max(_peak(own), 1)),
            }  # fmt: skip
            yield _record("inference.preemptions", Nature.MEASUREMENT, preempted, fields)
        broken = [sample for sample in own if sample.corrupted > 0]
        if broken:
            count = int(sum(sample.corrupted for sample in broken))
            share: dict[str, Value] = {"engine": engine, "count": count, "samples": len(broken)}
            yield _record("inference.corrupted", Nature.ERROR, broken, share)
        working = [sample for sample in own if sample.generated]
        if working:
            pace: dict[str, Value] = {
                "engine": engine, "samples": len(working),
                "running": median(sample.running for sample in working),
                "per_request": _middle([
                    (sample.generated or 0.0) / max(sample.running, 1) for sample in working
                ]),
            }  # fmt: skip
            yield _record("inference.pace", Nature.MEASUREMENT, working, pace)
            speed: dict[str, Value] = {"engine": engine, "generated": working[-1].generated}
            yield _record("inference.serving", Nature.PROGRESS, working[-1:], speed)


def _queues(own: list[Sample]) -> Iterator[Event]:
    runs = [list(run) for busy, run in groupby(own, lambda one: one.waiting > 0) if busy]
    runs = sorted(runs, key=len, reverse=True)[:QUEUES]
    peak = max((sample.prompt or 0.0 for sample in own), default=0.0)
    for run in sorted(runs, key=lambda run: run[0].line.number):
        running = [sample.running for sample in run]
        prompt = [sample.prompt for sample in run if sample.prompt is not None]
        top = max(prompt, default=0.0)
        ratios = [sample.waiting / max(sample.running, 1) for sample in run]
        yield _record(
            "inference.queue",
            Nature.MEASUREMENT,
            run,
            {
                "engine": run[0].engine,
                "engines": run[0].engines,
                "samples": len(run),
                "waiting_max": max(sample.waiting for sample in run),
                "waiting_median": median(sample.waiting for sample in run),
                "waiting_last": run[-1].waiting,
                "waiting_per_running": _rounded(median(ratios)),
                "running_median": median(running),
                "running_range": max(running) - min(running),
                "kv": _middle([sample.kv for sample in run]),
                "kv_max": _highest([sample.kv for sample in run]),
                "prompt": _middle(list(prompt)),
                "prompt_spread": _rounded((top - min(prompt)) / top) if top else None,
                "prompt_of_peak": _rounded(median(prompt) / peak) if prompt and peak else None,
                "generated": _middle([sample.generated for sample in run]),
                "hit": _middle([sample.hit for sample in run]),
                "preempted": sum(sample.preempted for sample in run),
                "drained": run[-1] is not own[-1],
            },
        )


def _stalls(own: list[Sample]) -> Iterator[Event]:
    for stuck, run in groupby(own, _is_stuck):
        samples = list(run)
        if stuck and len(samples) > 1:
            fields: dict[str, Value] = {
                "engine": samples[0].engine, "samples": len(samples),
                "running": samples[-1].running, "waiting": samples[-1].waiting,
                "kv": samples[-1].kv, "recovered": samples[-1] is not own[-1],
            }  # fmt: skip
            yield _record("inference.stall", Nature.MEASUREMENT, samples, fields)


def _is_stuck(sample: Sample) -> bool:
    return sample.running > 0 and sample.prompt == 0 and sample.generated == 0


def _prefix_cache(own: list[Sample]) -> Iterator[Event]:
    """Tell the deepest fall behind a level that was held for ``SETTLED`` samples."""
    rated = [sample for sample in own if sample.hit is not None and sample.running > 0]
    best: tuple[float, int, int, float] | None = None
    level, since = 0.0, 0
    for at in range(SETTLED, len(rated)):
        held = min(sample.hit or 0.0 for sample in rated[at - SETTLED : at])
        if held > level:
            level, since = held, at
        fall = level - (rated[at].hit or 0.0)
        if level and (best is None or fall > best[0]):
            best = (fall, since, at, level)
    if best is None or best[0] <= 0:
        return
    fall, since, at, level = best
    before = rated[:since]
    began = max(i for i in range(at) if (rated[i].hit or 0.0) >= level - fall / 10) + 1
    after = rated[began : at + 1]
    yield _record(
        "inference.prefix_cache",
        Nature.MEASUREMENT,
        after,
        {
            "engine": rated[at].engine,
            "before": _rounded(level),
            "after": rated[at].hit,
            "fall": _rounded(fall),
            "samples_before": len(before),
            "waiting_before": median(sample.waiting for sample in before),
            "waiting_after": max(sample.waiting for sample in rated[began:]),
            "prompt_before": _middle([sample.prompt for sample in before]),
            "prompt_after": _highest([sample.prompt for sample in after]),
            "kv": _middle([sample.kv for sample in after]),
        },
    )


def _record(name: str, nature: Nature, run: list[Sample], fields: dict[str, Value]) -> Event:
    return make_event(name, nature, run[0].line, fields, end_line=run[-1].line.number)


def _peak(own: list[Sample]) -> float:
    return max(sample.running for sample in own)


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _rounded(median(known)) if known else None


def _highest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _rounded(value: float) -> float:
    return round(value, 4)
