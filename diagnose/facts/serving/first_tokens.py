"""Where the time to the first token goes, by the best evidence there is.

``inference.first_tokens``
    One for each server, of the stretch in which first tokens came latest. ``source`` tells what it
    is taken from: ``interval``, the difference of two scrapes; ``scrape``, one scrape, with the
    means since the start; ``requests``, what the server says of each request. Means in seconds:
    ``ttft`` to the first token, of it ``queue`` waiting, ``prefill``, ``load`` of the model and
    ``rest``, the front end; ``work`` is prefill and decode. ``queue_share``, ``prefill_share``,
    ``load_share``, ``rest_share`` are of ``ttft``, or of queue and work where ``ttft`` is not told;
    ``load_median`` is what half of the requests exceed.
    ``X_other`` is the level of ``X``
    outside of it: the median of the other intervals, or the life of the server before the first;
    ``hit_fall`` is how far the hit rate of the prefix cache lies below that.
    Of the queue: ``running``, ``waiting``, ``waiting_before``, ``growth_per_s``, ``kv``,
    ``arrivals_per_served`` (over 1 the queue grows), and ``waiting_expected``, the arrivals times
    the time in the queue (Little's law). ``slots`` is how many requests may run by the
    configuration, ``slot_share`` how many of them do. The other figures are those of an interval
    (``parsers.serving.figures``).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import mean, median

from diagnose.facts.serving.intervals import Server, by_server
from diagnose.facts.serving.saturation import stated_limit
from diagnose.model.event import Event, Nature, Value

EVENTS = ("inference.first_tokens",)

FEWEST = 5
"""Requests of an interval of which a mean is taken."""

FEWEST_TIMINGS = 3
"""Requests that are told one by one."""

MEANS = {
    "ttft": "ttft_mean", "queue": "queue_mean", "prefill": "prefill_mean", "rest": "rest_mean",
    "work": "inference_mean", "prompt_length": "prompt_length_mean", "itl": "itl_mean",
}  # fmt: skip
"""Fields to the figures that they are."""

COPIED = (
    "requests", "seconds", "ttft_p99", "queue_share", "prefill_share", "rest_share", "running",
    "waiting", "waiting_before", "kv", "preemptions", "preempted_share", "preemptions_per_s", "hit",
    "computed_share", "requests_per_s", "prompt_tokens_per_s", "itl_p50", "itl_p99", "gpu_use",
)  # fmt: skip

COMPARED = ("ttft", "prompt_length", "hit", "computed_share", "itl")

PARTS = ("queue", "prefill", "load")

FIELDS = (
    "engine", "server", "source", *MEANS, "load", "load_share", "load_median", *COPIED,
    *(f"{name}_other" for name in COMPARED), "hit_fall", "growth_per_s", "arrivals_per_served",
    "waiting_expected", "slots", "slot_share",
)  # fmt: skip


def derive(intervals: Sequence[Event], events: Sequence[Event]) -> Iterator[Event]:
    """Yield the split of each server.

    Args:
        intervals: What happened between scrapes.
        events: All that was read, in the order of sources and lines.
    """
    slots = stated_limit(events, "max_num_seqs")
    scrapes = by_server(one for one in events if one.name == "inference.metrics")
    between = by_server(one for one in intervals if (one.number("requests") or 0) >= FEWEST)
    for server, found in scrapes.items():
        split = _of_intervals(between.get(server, []), found) or _of_scrapes(found)
        if split is not None:
            yield _told(*split, slots)
    measured = {engine for engine, _ in scrapes}
    timings: dict[Server, list[Event]] = defaultdict(list)
    for event in events:
        if event.name == "inference.timing" and event.fields["engine"] not in measured:
            timings[event.fields["engine"], event.file].append(event)
    for own in timings.values():
        if len(own) >= FEWEST_TIMINGS:
            yield _told(own[0], _of_requests(own), slots, end_line=own[-1].end_line)


def _of_intervals(
    between: Sequence[Event], scrapes: Sequence[Event]
) -> tuple[Event, dict[str, Value]] | None:
    if not between:
        return None
    latest = max(between, key=_lateness)
    figures = _means(latest.fields)
    others = [one.fields for one in between if one is not latest]
    if not others and (scrapes[0].number("requests") or 0) >= FEWEST:
        others = [scrapes[0].fields]
    levels = [_means(fields) for fields in others]
    figures |= {f"{name}_other": _middle(levels, name) for name in COMPARED}
    return latest, {**figures, "hit_fall": _fall(figures), "source": "interval"}


def _of_scrapes(scrapes: Sequence[Event]) -> tuple[Event, dict[str, Value]] | None:
    for last in reversed(scrapes):
        if (last.number("requests") or 0) >= FEWEST:
            return last, {**_means(last.fields), "source": "scrape"}
    return None


def _lateness(interval: Event) -> float:
    return max(interval.number("ttft_mean") or 0.0, interval.number("queue_mean") or 0.0)


def _means(fields: Mapping[str, Value]) -> dict[str, Value]:
    found: dict[str, Value] = {name: fields.get(figure) for name, figure in MEANS.items()}
    return found | {name: fields.get(name) for name in COPIED}


def _middle(levels: Sequence[Mapping[str, Value]], name: str) -> float | None:
    known = [value for one in levels if (value := _number(one, name)) is not None]
    return median(known) if known else None


def _fall(figures: Mapping[str, Value]) -> float | None:
    hit, other = _number(figures, "hit"), _number(figures, "hit_other")
    return round(other - hit, 4) if hit is not None and other is not None else None


def _of_requests(timings: Sequence[Event]) -> dict[str, Value]:
    rows = [_request(event) for event in timings]
    known = {
        name: mean(values) if (values := [row[name] for row in rows if name in row]) else None
        for name in ("ttft", "queue", "prefill", "load", "rest", "work", "prompt_length", "itl")
    }
    shares: dict[str, Value] = {
        f"{name}_share": _share(known[name], known["ttft"]) for name in ("prefill", "load", "rest")
    }
    loads = [row["load"] for row in rows if "load" in row]
    return {
        **known,
        **shares,
        "queue_share": _share(known["queue"], known["ttft"]),
        "load_median": median(loads) if loads else None,
        "source": "requests",
        "requests": len(rows),
    }


def _request(event: Event) -> dict[str, float]:
    """Return the seconds of one request; what a server says of a cached prompt is no prefill."""
    told = {
        name: value
        for name in ("ttft", "queue", "prefill", "load", "itl")
        if (value := event.number(name)) is not None
    }
    parts = [told[name] for name in PARTS if name in told]
    if "ttft" in told:
        # vLLM counts from the moment at which a request is scheduled.
        told["ttft"] += told.get("queue", 0.0) if event.fields["engine"] == "vllm" else 0.0
        if "prefill" in told:
            told["rest"] = max(0.0, told["ttft"] - sum(parts))
    elif "prefill" in told:
        told["ttft"] = sum(parts)
    work, tokens = event.number("inference"), event.number("prompt_tokens")
    if work is not None:
        told["work"] = work
    if tokens is not None:
        told["prompt_length"] = tokens
    return told


def _told(
    at: Event, figures: dict[str, Value], slots: float | None, end_line: int | None = None
) -> Event:
    queue, work = _number(figures, "queue"), _number(figures, "work")
    if figures.get("queue_share") is None and queue is not None and work is not None:
        figures["queue_share"] = _share(queue, queue + work)
    running, waiting = _number(figures, "running"), _number(figures, "waiting")
    before, seconds = _number(figures, "waiting_before"), _number(figures, "seconds")
    served = _number(figures, "requests_per_s")
    if waiting is not None and before is not None and seconds:
        figures["growth_per_s"] = growth = round((waiting - before) / seconds, 4)
        if served:
            figures["arrivals_per_served"] = round((served + growth) / served, 4)
    if served and queue is not None:
        figures["waiting_expected"] = round(served * queue, 2)
    if slots and running is not None:
        figures["slot_share"] = _share(running, slots)
    figures |= {
        "engine": at.fields.get("engine"), "server": at.fields.get("server"), "slots": slots,
    }  # fmt: skip
    return replace(
        at,
        name=EVENTS[0],
        nature=Nature.MEASUREMENT,
        end_line=end_line or at.end_line,
        fields={name: figures.get(name) for name in FIELDS},
        fact=None,
    )


def _number(figures: Mapping[str, Value], name: str) -> float | None:
    value = figures.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _share(part: float | None, whole: float | None) -> float | None:
    return round(part / whole, 4) if part is not None and whole else None
