"""Means, quantiles and shares of a stretch of a server's time.

Not a parser: ``scrapes`` asks for the figures since the start of a server, the facts for those between two
scrapes. Times are in seconds, lengths in tokens, shares from 0 to 1:

``running``, ``waiting``, ``swapped``, ``kv``, ``kv_mean``, ``accept_length``, ``gpu_use``
    Levels at the end. ``kv`` is the fullest engine's share of its KV cache.
``X_mean`` and, of some, ``X_p50``, ``X_p90``, ``X_p99``
    ``ttft`` to the first token; ``queue`` waiting; ``prefill`` until the first token once it was begun;
    ``decode``; ``inference`` both; ``itl`` between tokens; ``tpot`` the same as a mean of each request;
    ``e2e``; and of ``prompt_length``, ``output_length``, ``computed`` (prompt tokens that were not
    cached), ``step_tokens``.
``rest_mean``
    ttft less queue and prefill: the front end, which takes requests apart and sends answers.
``queue_share``, ``prefill_share``, ``rest_share``
    Of the mean time to the first token.
``requests``, ``failures``, ``length_share``, ``abort_share``
    Requests that ended, failed ones, and shares of those that ended by length or were given up.
``preemptions``, ``preempted_share``, ``corrupted``
    Requests thrown out of the KV cache, over the requests; answers whose logits were no numbers.
``hit``, ``computed_share``, ``accept_rate``, ``batch_mean``
    Prompt tokens found in the prefix cache; computed ones over all; accepted of drafted tokens; requests
    in a batch of Triton.
``requests_per_s``, ``prompt_tokens_per_s``, ``output_tokens_per_s``, ``preemptions_per_s``, ``seconds``
    Rates, where it is known how long the stretch was.
"""

from diagnose.model.event import Value
from diagnose.parsers.serving.snapshots import Snapshot

LEVELS = ("running", "waiting", "swapped", "kv", "kv_mean", "accept_length", "gpu_use")
TIMES = ("ttft", "queue", "prefill", "decode", "inference", "itl", "tpot", "e2e")
LENGTHS = ("prompt_length", "output_length", "computed", "step_tokens")
WITH_QUANTILES = ("ttft", "queue", "prefill", "itl", "e2e", "prompt_length")
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def figures(over: Snapshot, seconds: float | None) -> dict[str, Value]:
    """Return what the sums and distributions of a stretch of time say, unknown figures None.

    Args:
        over: Of that time alone.
        seconds: How long it was, None if unknown.
    """
    found: dict[str, Value] = {name: over.gauges.get(name) for name in LEVELS}
    for name in (*TIMES, *LENGTHS):
        one = over.distributions.get(name)
        found[f"{name}_mean"] = one.mean() if one else None
    for name in WITH_QUANTILES:
        one = over.distributions.get(name)
        for label, share in QUANTILES.items():
            found[f"{name}_{label}"] = one.quantile(share) if one else None
    ttft, queue, prefill = (_known(found[f"{name}_mean"]) for name in ("ttft", "queue", "prefill"))
    rest = None
    if ttft is not None and queue is not None and prefill is not None:
        rest = round(max(0.0, ttft - queue - prefill), 6)
    found |= {
        "rest_mean": rest,
        "queue_share": _share(queue, ttft),
        "prefill_share": _share(prefill, ttft),
        "rest_share": _share(rest, ttft),
    }
    return found | _totals(over, seconds)


def _totals(over: Snapshot, seconds: float | None) -> dict[str, Value]:
    counters = over.counters
    finished = sum(over.finished.values()) or counters.get("requests")
    for counted in ("e2e", "queue", "ttft"):
        if not finished and counted in over.distributions:
            finished = over.distributions[counted].count
    prompt, computed = counters.get("prompt_tokens"), over.distributions.get("computed")
    hits, queries = counters.get("hits"), counters.get("queries")
    if queries is None and "cached_tokens" in counters:
        hits, queries = counters["cached_tokens"], prompt
    hit = _share(hits, queries)
    output = counters.get("output_tokens")
    return {
        "requests": finished,
        "failures": counters.get("failures"),
        "length_share": _share(over.finished.get("length"), finished),
        "abort_share": _share(over.finished.get("abort"), finished),
        "preemptions": counters.get("preemptions"),
        "preempted_share": _share(counters.get("preemptions"), finished),
        "hit": over.gauges.get("hit_rate") if hit is None else hit,
        "computed_share": _share(computed.total if computed else None, prompt),
        "accept_rate": _share(counters.get("accepted"), counters.get("drafted")),
        "corrupted": counters.get("corrupted"),
        "batch_mean": _share(counters.get("inferences"), counters.get("executions")),
        "requests_per_s": _share(finished, seconds),
        "prompt_tokens_per_s": _share(prompt, seconds),
        "output_tokens_per_s": _share(output, seconds),
        "preemptions_per_s": _share(counters.get("preemptions"), seconds),
        "seconds": seconds,
    }


def _known(value: Value) -> float | None:
    return value if isinstance(value, float) else None


def _share(part: float | None, whole: float | None) -> float | None:
    return round(part / whole, 6) if part is not None and whole else None
