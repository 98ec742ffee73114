"""How the first requests of a server fared against later ones.

``inference.first_minutes``
    One for each server whose age is known: the mean ``ttft`` (seconds) of ``requests`` that ended
    before it was ``life`` seconds old, the shares of it that were ``queue_share`` and
    ``prefill_share``, and ``ttft_later``, the median of the intervals after that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from diagnose.facts.serving.intervals import by_server
from diagnose.model.event import Event

EVENTS = ("inference.first_minutes",)

FEWEST = 5
"""Requests of which a mean is taken."""


def derive(intervals: Sequence[Event], events: Sequence[Event]) -> Iterator[Event]:
    """Yield the first minutes of each server.

    Args:
        intervals: What happened between scrapes.
        events: All that was read, in the order of sources and lines.
    """
    between = by_server(intervals)
    for server, scrapes in by_server(
        one for one in events if one.name == "inference.metrics"
    ).items():
        stretches = [
            one
            for one in (scrapes[0], *between.get(server, []))
            if (one.number("requests") or 0) >= FEWEST and one.number("ttft_mean") is not None
        ]
        if len(stretches) < 2 or stretches[0].number("life") is None:
            continue
        first, *later = stretches
        names = ("engine", "server", "life", "requests", "queue_share", "prefill_share")
        yield replace(
            first,
            name=EVENTS[0],
            fields={name: first.fields.get(name) for name in names}
            | {
                "ttft": first.number("ttft_mean"),
                "ttft_later": median(one.number("ttft_mean") or 0.0 for one in later),
            },
            fact=None,
        )
