"""Prometheus' text: the samples of serving engines in it, scrape by scrape.

Not a parser: ``scrapes`` uses it. A series that comes again begins the next scrape. The moment of a scrape
is that of its samples (milliseconds behind the value), a stamp in a line above, or one in the name of the
file.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from re import Match

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.stamp import find_stamp
from diagnose.model.event import Clock, Line
from diagnose.parsers.base import Document

Sample = tuple[str, dict[str, str], float]
"""Name without the engine's prefix, labels, value."""

Moment = tuple[float, Clock]

SEEN = LazyPattern(
    rb"(?m)^[ \t]*(?:vllm[:_]|sglang[:_]|trtllm_|tgi_|nv_(?:inference|gpu|trt)_)\w+(?:\{[^\n]*\})?[ \t]+[-+\d.]"
)
"""A sample of an engine."""

SERIES = (b"vllm:", b"vllm_", b"sglang:", b"sglang_", b"trtllm_", b"tgi_", b"nv_")
"""How the names of its series begin."""

_SAMPLE = LazyPattern(
    r"^(?:(?P<engine>vllm[:_]|sglang[:_]|trtllm_|tgi_|nv_)(?P<name>\w+)|process_start_time_seconds)"
    r"(?P<labels>\{.*\})?[ \t]+"
    r"(?P<value>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[Ii]nf|NaN))(?:[ \t]+(?P<stamp>\d{13}))?$"
)
_LABEL = LazyPattern(r"(\w+)=\"((?:[^\"\\]|\\.)*)\"")
_PROGRAMS = {
    "vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm", "tgi": "tgi", "nv": "triton",
}  # fmt: skip
_SERVERS = ("instance", "pod", "kubernetes_pod_name")
"""Labels that name a server, the most direct first."""

_STAMP = LazyPattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_NAME_STAMP = LazyPattern(r"(20\d\d)-?(\d\d)-?(\d\d)[T_ -]?(\d\d)[:_-]?(\d\d)[:_-]?(\d\d)(Z?)")
_NAME_EPOCH = LazyPattern(r"(?<!\d)(1[5-9]\d{8})(?!\d)")


@dataclass(slots=True)
class Scrape:
    """The samples of one scrape.

    Args:
        first: Its first line.
        last: Its last line.
        moment: When it was made.
        began: When the process began, seconds since 1970.
        samples: By program and server, the server None where no label names it.
    """

    first: Line
    last: Line
    moment: Moment | None = None
    began: float | None = None
    samples: dict[tuple[str, str | None], list[Sample]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, found: Match[str]) -> None:
        """Take a sample as ``_SAMPLE`` found it."""
        value = float(found["value"])
        if found["stamp"]:
            self.moment = (int(found["stamp"]) / 1e3, Clock.UTC)
        if found["engine"] is None:
            self.began = value
        elif value == value:
            labels = dict(_LABEL.findall(found["labels"] or ""))
            server = next((labels[name] for name in _SERVERS if name in labels), None)
            program = _PROGRAMS[found["engine"][:-1]]
            self.samples[program, server].append((found["name"], labels, value))


def scrapes(document: Document) -> Iterator[Scrape]:
    """Yield the scrapes of a source, in order."""
    named = moment_of_name(document.name)
    above: Moment | None = None
    scrape: Scrape | None = None
    seen: set[str] = set()
    for line in document.lines():
        text = line.text.strip()
        found = _SAMPLE.match(text)
        if found is None:
            above = _moment_in(text) or above
            continue
        series = text[: found.start("value")]
        if scrape is not None and series in seen:
            yield scrape
            scrape = None
            seen.clear()
        if scrape is None:
            scrape, above = Scrape(line, line, above or named), None
        seen.add(series)
        scrape.last = line
        scrape.add(found)
    if scrape is not None:
        yield scrape


def _moment_in(text: str) -> Moment | None:
    found = _STAMP.search(text)
    stamp = find_stamp(found[0]) if found else None
    return (stamp[0], stamp[1]) if stamp else None


def moment_of_name(name: str) -> Moment | None:
    """Return the moment in the name of a file: a date with a time of day, or seconds since 1970."""
    epoch = _NAME_EPOCH.search(name)
    if epoch is not None:
        return float(epoch[1]), Clock.UTC
    found = _NAME_STAMP.search(name)
    if found is None:
        return None
    year, month, day, hour, minute, second, zone = found.groups()
    return _moment_in(f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone}")
