"""What the requests of a server need of its KV cache, against what it holds.

``inference.kv_demand``
    One for each scrape that tells the mean lengths of prompts and answers, where the size of the
    cache is known, from the same scrape or from the start of the engine: ``requests`` running and
    waiting, ``each`` tokens of a mean one at its end, ``needed`` of all and ``tokens`` there are;
    ``kv`` and ``preemptions`` of the scrape.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.model.event import Event

EVENTS = ("inference.kv_demand",)


def derive(events: Sequence[Event], plans: Sequence[Event]) -> Iterator[Event]:
    """Yield the demand at each scrape.

    Args:
        events: All that was read, in the order of sources and lines.
        plans: ``inference.memory_plan`` events.
    """
    planned = {size for plan in plans if (size := plan.number("kv_tokens")) is not None}
    scraped = {
        event.file: event.number("tokens")
        for event in events
        if event.name == "inference.cache_config"
    }
    for event in events:
        if event.name != "inference.metrics":
            continue
        # Plans of different sizes are different servers, of which the scrape is one.
        tokens = scraped.get(event.file) or (min(planned) if len(planned) == 1 else None)
        running, waiting = event.number("running"), event.number("waiting")
        prompt, output = event.number("prompt_length_mean"), event.number("output_length_mean")
        if not tokens or running is None or prompt is None or output is None:
            continue
        requests = running + (waiting or 0)
        fields = {
            "engine": event.fields.get("engine"),
            "requests": int(requests),
            "each": round(prompt + output),
            "needed": round(requests * (prompt + output)),
            "tokens": int(tokens),
            "kv": event.fields.get("kv"),
            "preemptions": event.fields.get("preemptions"),
        }
        yield replace(event, name=EVENTS[0], fields=fields, fact=None)
