r"""JSON lines of log collectors, turned into the form a container runtime writes.

``{"log":"text\n","stream":"stderr","time":"2025-07-04T11:22:33Z"}`` (docker), Loki's ``line``,
CloudWatch's ``message`` and Google's ``textPayload`` all become
``2025-07-04T11:22:33Z stderr F text``. An object with numbers of its own is a record of metrics
and stays as it is.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

TEXT_KEYS = ("log", "message", "line", "textPayload", "msg")
TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "receiveTimestamp", "eventTime")
STREAM_KEYS = ("stream", "logtag", "source")
STREAMS = frozenset({"stdout", "stderr"})

PLAIN_NUMBERS = frozenset(
    {*TIME_KEYS, "pid", "tid", "process", "thread", "lineno", "severity", "level", "priority"}
    | {"ingestionTime", "observedTimestamp", "seq", "sequence", "offset", "version", "v"}
)
"""Keys whose numbers collectors add; any other number makes the object a record of metrics."""

DOCKER_CUT = 16_000
"""Bytes from which a docker record without a line end is the piece of a longer line (16 KiB)."""


def envelope_lines(data: bytes) -> tuple[bytes, list[int] | None]:
    """Return the texts in JSON envelopes as plain lines, other lines unchanged.

    Returns:
        The bytes, and for each line the number, from 0, of the line it came from; None where
        they agree line by line.
    """
    kept: list[bytes] = []
    numbers: list[int] = []
    for number, line in enumerate(data.split(b"\n")):
        # The parser costs microseconds a line, also for one that is only the start of an object.
        whole = line.startswith(b"{") and line.endswith((b"}", b"}\r"))
        texts = _texts(line) if whole else None
        kept.extend([line] if texts is None else texts)
        numbers.extend([number] * (1 if texts is None else len(texts)))
    if not kept[-1]:
        numbers.pop()
    one_to_one = numbers == list(range(len(numbers)))
    return b"\n".join(kept), None if one_to_one else numbers


def _texts(line: bytes) -> list[bytes] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    key = next((key for key in TEXT_KEYS if isinstance(record.get(key), str)), None)
    time = _time(record)
    stream = next((record[key] for key in STREAM_KEYS if record.get(key) in STREAMS), None)
    if key is None or (time is None and stream is None) or _has_metrics(record):
        return None
    text: str = record[key]
    tag = "P" if key == "log" and len(text) >= DOCKER_CUT and not text.endswith("\n") else "F"
    head = f"{time} {stream or 'stdout'} {tag} " if time else ""
    lines = text.removesuffix("\n").split("\n")
    return [(head + part).encode("utf-8", "replace") for part in lines]


def _has_metrics(record: Mapping[str, Any]) -> bool:
    return any(
        isinstance(value, int | float) and not isinstance(value, bool) and key not in PLAIN_NUMBERS
        for key, value in record.items()
    )


def _time(record: Mapping[str, Any]) -> str | None:
    value = next((record[key] for key in TIME_KEYS if record.get(key) not in (None, "")), None)
    if isinstance(value, str) and not value.isdecimal():
        return value.strip().replace(" ", "T") if value[:4].isdecimal() else None
    try:
        seconds = float(value)  # type: ignore[arg-type]
        # Collectors count seconds, milliseconds, microseconds or nanoseconds.
        while seconds > 1e11:
            seconds /= 1000
        stamp = datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return stamp.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
