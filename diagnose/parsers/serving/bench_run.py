"""What a benchmark of a serving engine measured: the record that all of its readers fill.

Not a parser. ``inference.bench`` has every field, None where the output does not tell. Times are in
seconds, rates per second:

``requests``, ``failed``, ``duration``
    Requests that succeeded and failed, and how long the run was.
``rate``, ``unlimited``, ``throughput``, ``served_of_rate``
    Requests per second that were to be sent, whether they were sent all at once, the rate that was
    served, and its share of the first.
``concurrency_limit``, ``concurrency``
    Requests at a time that were allowed, and their mean.
``input_tokens``, ``output_tokens``, ``retokenized_tokens``, ``input_mean``, ``output_mean``
    Tokens in all, those counted again in the text, and the means of a request.
``output_tps``, ``output_tps_peak``, ``total_tps``
    Tokens per second.
``ttft_*``, ``tpot_*``, ``itl_*``, ``e2e_*``
    ``mean``, ``median``, ``p90``, ``p95``, ``p99`` and ``max`` of the time to the first token, the mean
    time per further token of each request, the time between two tokens, and the whole request.
``accept_length``, ``accept_rate``
    Of speculative decoding.
"""

import math
from collections.abc import Mapping

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import make_event

COUNTS = (
    "requests", "failed", "duration", "rate", "throughput", "concurrency_limit", "concurrency",
    "input_tokens", "output_tokens", "retokenized_tokens", "input_mean", "output_mean",
    "output_tps", "output_tps_peak", "total_tps", "accept_length", "accept_rate",
)  # fmt: skip
TIMES = ("ttft", "tpot", "itl", "e2e")
STATISTICS = ("mean", "median", "p90", "p95", "p99", "max")


def bench(
    lines: list[Line], program: str, measured: Mapping[str, float], *, unlimited: bool = False
) -> Event | None:
    """Return the record of a run, None where neither a rate nor a time to the first token is known.

    Args:
        lines: First and last, or the only one.
        program: Which benchmark printed it.
        measured: Fields by name.
        unlimited: All requests were sent at once.
    """
    if "throughput" not in measured and "ttft_mean" not in measured:
        return None
    served, rate = measured.get("throughput"), measured.get("rate")
    fields: dict[str, Value] = {
        "program": program,
        "unlimited": unlimited,
        **{name: measured.get(name) for name in COUNTS},
        **{f"{time}_{one}": measured.get(f"{time}_{one}") for time in TIMES for one in STATISTICS},
        "served_of_rate": round(served / rate, 4) if served is not None and rate else None,
    }
    return make_event(
        "inference.bench", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )


def number(value: object) -> float | None:
    """Return a finite number of JSON, None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]
