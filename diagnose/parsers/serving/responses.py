"""Answers of a server by their status, and how long they took where the log tells.

Printed by uvicorn (vLLM, SGLang; without time of day and duration), GIN (Ollama), nginx and Envoy::

    INFO:     10.0.0.7:58856 - "POST /v1/chat/completions HTTP/1.1" 200 OK
    [GIN] 2026/01/05 - 10:00:00 | 200 |  12.345678s |       10.0.0.7 | POST     "/api/generate"
    10.0.0.7 - - [05/Jan/2026:10:00:00 +0000] "POST /v1/completions HTTP/1.1" 200 512 "-" "app" rt=1.234 urt="1.201"
    [2026-01-05T10:00:00.123Z] "POST /v1/completions HTTP/1.1" 503 UO 0 81 12 - "-" "app" "7f" "model" "10.0.0.9:8000"

Only calls of models count, not health checks and metrics.

``inference.responses``
    One for the lines of a block: ``requests``, of them ``rejected`` (429, 503), ``client_errors`` (other
    4xx) and ``server_errors`` (other 5xx); median, 99th percentile and longest of the seconds, None where
    the log has no durations.
``inference.failed_responses``
    The same, at the first answer of a block that is 429 or 5xx: ``status`` is the most frequent of them.

*Empty*: nobody asked, or access logging is off. *Cut off*: each answer is one line.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median, quantiles

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement, Nature, Value
from diagnose.parsers.base import BlockText, BulkParser, make_event
from diagnose.parsers.convert import duration

CALL = (
    rb"/(?:[\w.~%-]{1,80}/){0,4}?(?:v1/(?:chat/completions|completions|embeddings|responses|messages"
    rb"|rerank|score|classify|pooling)|v2/models/[^\s\"]{1,100}/(?:infer|generate\w*)"
    rb"|api/(?:generate|chat|embed\w*)|generate(?:_stream)?|invocations|infer|completions)"
    rb"(?=[\s\"?])[^\s\"]{0,300}"
)
"""Paths that a model works for, behind whatever a gateway puts in front."""

HTTP = LazyPattern(rb"\"POST " + CALL + rb" HTTP/[\d.]+\" (\d{3})(?!\d)([^\r\n]{0,400})")
GIN = LazyPattern(
    rb"\[GIN\] [\d/]+ - [\d:]+ \|\s*(\d{3}) \|\s*([\dhmsn\xc2\xb5u.]+) \|\s*\S+ \|\s*POST\s+\""
    + CALL
    + rb"\""
)
NGINX_TIME = LazyPattern(rb"\b(?:rt|request_time)[=:]\"?(\d+\.\d+)")
ENVOY = LazyPattern(rb" (?:-|[A-Z,]{2,20}) \d+ \d+ (\d+) (?:-|\d+) \"")

BUSY = frozenset({429, 503})
"""Statuses by which a server or a balancer refuses what it could do later."""

FEWEST_FOR_P99 = 20


@dataclass(slots=True)
class _Answers:
    """What the answers of a block were."""

    first: int | None = None
    first_failed: int | None = None
    last: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def add(self, place: int, status: int) -> None:
        """Count the answer at a byte offset."""
        self.first = place if self.first is None else min(self.first, place)
        self.last = max(self.last, place)
        if _is_failed(status):
            known = self.first_failed
            self.first_failed = place if known is None else min(place, known)
        self.statuses[status] += 1


def _is_failed(status: int) -> bool:
    return status in BUSY or status >= 500


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the answers of a block."""
    answers = _Answers()
    found = [
        *((one, _seconds(one[2])) for one in HTTP.finditer(block.data)),
        *((one, _go_seconds(one[2])) for one in GIN.finditer(block.data)),
    ]
    for one, seconds in found:
        answers.add(one.start(), int(one[1]))
        if seconds is not None:
            answers.seconds.append(seconds)
            yield Measurement(block.line_at(one.start()), None, {"response_time": seconds})
    yield from _told(block, answers)


def _seconds(rest: bytes) -> float | None:
    named = NGINX_TIME.search(rest)
    if named is not None:
        return float(named[1])
    envoy = ENVOY.match(rest)
    return float(envoy[1]) / 1e3 if envoy is not None else None


def _go_seconds(text: bytes) -> float | None:
    try:
        return duration(text.decode())
    except ValueError:
        return None


def _told(block: BlockText, answers: _Answers) -> Iterator[Event]:
    if answers.first is None:
        return
    statuses = answers.statuses
    ordered = sorted(answers.seconds)
    fields: dict[str, Value] = {
        "requests": statuses.total(),
        "rejected": sum(n for code, n in statuses.items() if code in BUSY),
        "client_errors": sum(
            n for code, n in statuses.items() if 400 <= code < 500 and code != 429
        ),
        "server_errors": sum(n for code, n in statuses.items() if code >= 500 and code != 503),
        "seconds_median": median(ordered) if ordered else None,
        "seconds_p99": quantiles(ordered, n=100)[98] if len(ordered) >= FEWEST_FOR_P99 else None,
        "seconds_max": ordered[-1] if ordered else None,
    }
    yield make_event(
        "inference.responses",
        Nature.MEASUREMENT,
        block.line_at(answers.first),
        fields,
        end_line=block.line_at(answers.last).number,
    )
    if answers.first_failed is not None:
        failed = Counter({code: n for code, n in statuses.items() if _is_failed(code)})
        yield make_event(
            "inference.failed_responses",
            Nature.EFFECT,
            block.line_at(answers.first_failed),
            {"status": failed.most_common(1)[0][0], "count": failed.total(), **fields},
        )


PARSERS = (
    BulkParser(
        name="serving-responses",
        title="answers of serving engines and the proxies before them, by status and time",
        opens=(" HTTP/1.", " HTTP/2", "[GIN] "),
        read=read,
        emits=("response_time", "inference.responses", "inference.failed_responses"),
        sample='INFO:     10.0.0.7:58856 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
    ),
)
