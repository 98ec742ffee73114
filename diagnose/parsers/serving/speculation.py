"""How many of the tokens that a small model drafts the large one accepts.

Printed by vLLM beside its statistics lines, and by llama.cpp at the end of a request::

    SpecDecoding metrics: Mean acceptance length: 2.31, Accepted throughput: 80.10 tokens/s, Drafted throughput: 183.40 tokens/s, Accepted: 801 tokens, Drafted: 1834 tokens, Per-position acceptance rate: 0.830, 0.412, Avg Draft acceptance rate: 43.7%
    Speculative metrics: Draft acceptance rate: 0.512, System efficiency: 0.401, Number of speculative tokens: 4, Number of accepted tokens: 512, Number of draft tokens: 1000, Number of emitted tokens: 812.
    draft acceptance rate = 0.57576 (  171 accepted /   297 generated)

Early V1 printed the rate and the two counts alone; V0's counts are those since the start. The acceptance length is the tokens a step of the
large model yields, 1 + accepted / drafts; where it stays near 1, drafting costs more than it gives.

``inference.speculation``
    One for the lines of a block: medians of ``accept_length`` (tokens) and ``accept_rate`` (0 to 1),
    the lowest of both, and the sums of ``accepted`` and ``drafted`` (tokens) where they are printed for the interval.

*Empty*: no drafts in that time; the line is then left out. *Cut off*: parts behind the cut are
unknown.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Measurement, Nature
from diagnose.parsers.base import BlockText, BulkParser, make_event

LINE = LazyPattern(
    rb"(?:SpecDecoding metrics|Speculative metrics): ([^\r\n]{10,600})"
    rb"|draft acceptance rate = (\d+(?:\.\d+)?) \( *(\d+) accepted / *(\d+) generated"
)
RATES: tuple[str, ...] = ("accept_length", "accept_rate")
PART = LazyPattern(rb"([A-Za-z][A-Za-z -]+): (\d+(?:\.\d+)?)")


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the lines of a block."""
    lines: list[Line] = []
    found: dict[str, list[float]] = {
        "accept_length": [], "accept_rate": [], "accepted": [], "drafted": [],
    }  # fmt: skip
    for match in LINE.finditer(block.data):
        values = _of_parts(match[1]) if match[1] else _of_llama(match.groups()[1:])
        if not values:
            continue
        line = block.line_at(match.start())
        lines.append(line)
        for name, value in values.items():
            found[name].append(value)
        yield Measurement(line, None, {name: values[name] for name in RATES if name in values})
    if lines:
        yield make_event(
            "inference.speculation",
            Nature.MEASUREMENT,
            lines[0],
            {
                "samples": len(lines),
                "accept_length": _rounded(found["accept_length"], median),
                "accept_length_lowest": _rounded(found["accept_length"], min),
                "accept_rate": _rounded(found["accept_rate"], median),
                "accept_rate_lowest": _rounded(found["accept_rate"], min),
                "accepted": _rounded(found["accepted"], sum),
                "drafted": _rounded(found["drafted"], sum),
            },
            end_line=lines[-1].number,
        )


def _of_parts(text: bytes) -> dict[str, float]:
    parts = {name.strip().lower(): float(value) for name, value in PART.findall(text)}
    values = {
        "accept_length": parts.get(b"mean acceptance length"),
        "accept_rate": parts.get(b"avg draft acceptance rate", parts.get(b"draft acceptance rate")),
        "accepted": parts.get(b"accepted"),
        "drafted": parts.get(b"drafted"),
    }
    known = {name: value for name, value in values.items() if value is not None}
    if "accept_rate" in known and b"%" in text:
        known["accept_rate"] /= 100
    return known


def _of_llama(groups: tuple[bytes, ...]) -> dict[str, float]:
    rate, accepted, drafted = map(float, groups)
    return {"accept_rate": rate, "accepted": accepted, "drafted": drafted}


def _rounded(
    values: Sequence[float], statistic: Callable[[Sequence[float]], float]
) -> float | None:
    return round(statistic(values), 4) if values else None


PARSERS = (
    BulkParser(
        name="speculative-decoding",
        title="how many drafted tokens are accepted, by vLLM and llama.cpp",
        opens=("SpecDecoding metrics: ", "Speculative metrics: ", "draft acceptance rate = "),
        read=read,
        emits=(*RATES, "inference.speculation"),
        sample="INFO 01-05 10:00:10 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 2.31, Accepted throughput: 80.10 tokens/s, Drafted throughput: 183.40 tokens/s, Accepted: 801 tokens, Drafted: 1834 tokens, Per-position acceptance rate: 0.830, 0.412, Avg Draft acceptance rate: 43.7%\n",
    ),
)  # fmt: skip
