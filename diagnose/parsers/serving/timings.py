"""What a server says of one request: the record that all of its readers fill.

Not a parser. ``inference.timing`` has every field, None where the server does not tell:

``total``
    Seconds from arrival to the end of the answer.
``validation``, ``queue``, ``prefill``, ``decode``, ``load``
    Seconds of checking, of waiting, until the first token once it was begun, of all further tokens,
    and of bringing the model into memory.
``inference``
    Seconds of work, prefill and decode together.
``ttft``, ``itl``
    Seconds from arrival to the first token, and the mean between two further ones.
``prompt_tokens``, ``cached_tokens``, ``output_tokens``
    Of the prompt, of it found in a cache, and of the answer.
``finish_reason``
    ``stop``, ``length``, ``abort`` or ``error``, in the server's word.
"""

from collections.abc import Mapping

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import make_event

FIELDS = (
    "total", "validation", "queue", "prefill", "decode", "load", "inference", "ttft", "itl",
    "prompt_tokens", "cached_tokens", "output_tokens", "finish_reason",
)  # fmt: skip


def timing(engine: str, known: Mapping[str, Value]) -> dict[str, Value]:
    """Return the fields of a request's record.

    Args:
        engine: Which server says so.
        known: The fields it tells, in seconds and tokens.
    """
    return {"engine": engine, **{name: known.get(name) for name in FIELDS}}


def timing_event(lines: list[Line], engine: str, known: Mapping[str, Value]) -> Event:
    """Return the record of a request that some lines speak of."""
    return make_event(
        "inference.timing",
        Nature.MEASUREMENT,
        lines[0],
        timing(engine, known),
        end_line=lines[-1].number,
    )
