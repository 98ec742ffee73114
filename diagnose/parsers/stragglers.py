"""Reports of slow ranks by detectors inside the training: Megatron-LM's and NVIDIA's resiliency extension.

Megatron-LM (``--log-straggler``, ``core/utils.py`` StragglerDetector) prints the least and the largest
value of each quantity with the rank that had it, and below it the ranks with the least throughput::

    [2026-01-05 10:20:00] | MnRtt/Rnk: 6102.33ms/8 | MxRtt/Rnk: 6155.90ms/41 | ... | MnEtpt/Rnk: 331.02TF/41 | ...
    ^^^^ Bottom 4 Ranks with lowest  Etpt(TF): 331.02TF/41, 398.11TF/40, 398.30TF/44, 398.40TF/47,

It becomes ``train.straggler_report`` of the rank with the least throughput: ``ratio`` is its throughput
over the best, ``next_ratio`` over the next slowest one, where the list is there. ``clock_rank``,
``heat_rank`` and ``batch_rank`` had the lowest clock, the highest temperature and the slowest data;
``clock_ratio`` is the lowest clock over the highest, ``batch_share`` how much longer the slowest data took
than the fastest, as a share of the shortest step. Power is in mW under the unit W in some versions and is
not read.

The extension's scores (``nvidia_resiliency_ext``, straggler callback, 2024 to 2026) are reference time over
own time, 1 is the best: ``train.straggler`` with ``score``, or without one where the warning alone is there.

*Empty*: the detector is off. *Cut off*: a report gives the quantities before the cut.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, Record, make_event
from diagnose.parsers.convert import short_host

QUANTITY = LazyPattern(r"\b(M[nx])(Rtt|Tmp|Clk|DRtt|Etpt)/Rnk: ([\d.]+)[A-Za-z%]+/(\d+)")
SLOWEST = LazyPattern(r"Bottom \d+ Ranks with lowest +Etpt\(TF\): ([\d.]+)TF/\d+, ([\d.]+)TF/\d+")
WARNED = LazyPattern(
    r"Some GPUs (?:have worse relative performance|performance dropped)\. Affected ranks: (.*)"
)
MEMBER = LazyPattern(r"\brank=(\d+)(?:, node='?([\w.-]+))?|(?<![\w=.-])(\d+)(?=[,\]}]|$)")

MILLISECOND = 1e-3


def read_report(lines: list[Line]) -> Iterator[Record]:
    """Read a report of Megatron-LM with the list below it."""
    found = {
        (end, name): (float(value), int(rank))
        for end, name, value, rank in QUANTITY.compiled.findall(lines[0].text)
    }
    fields: dict[str, Value] = {}
    low, high = found.get(("Mn", "Etpt")), found.get(("Mx", "Etpt"))
    if low and high:
        fields |= {"rank": low[1], "throughput_low": low[0], "throughput_high": high[0]}
        fields["ratio"] = _ratio(low[0], high[0])
    low, high = found.get(("Mn", "Clk")), found.get(("Mx", "Clk"))
    if low and high:
        fields |= {"clock_rank": low[1], "clock_low": low[0], "clock_high": high[0]}
        fields["clock_ratio"] = _ratio(low[0], high[0])
    if hottest := found.get(("Mx", "Tmp")):
        fields |= {"heat_rank": hottest[1], "temperature": hottest[0]}
    low, high, step = found.get(("Mn", "DRtt")), found.get(("Mx", "DRtt")), found.get(("Mn", "Rtt"))
    if low and high:
        fields |= {"batch_rank": high[1], "batch_low": low[0] * MILLISECOND}
        fields["batch_high"] = high[0] * MILLISECOND
        fields["batch_share"] = _ratio(high[0] - low[0], step[0]) if step else None
    if listed := SLOWEST.search("\n".join(line.text for line in lines[1:])):
        fields["next_ratio"] = _ratio(float(listed[1]), float(listed[2]))
    yield make_event("train.straggler_report", Nature.MEASUREMENT, lines[0], fields)


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def read_warning(lines: list[Line]) -> Iterator[Event]:
    """Read the ranks that a warning names, one event each."""
    found = WARNED.search(lines[0].text)
    for rank, node, bare in MEMBER.compiled.findall(found[1]) if found else ():
        fields: dict[str, Value] = {"rank": int(rank or bare), "host": short_host(node) or None}
        yield make_event("train.straggler", Nature.MEASUREMENT, lines[0], fields)


PARSERS = (
    BlockParser(
        name="megatron-straggler-report",
        title="Megatron-LM's straggler detector: slowest ranks, clocks, heat and data",
        opens=("/Rnk: ",),
        starts=lambda line: QUANTITY.search(line.text) is not None,
        ends=lambda lines, line: not line.text.lstrip().startswith("^^^^"),
        read=read_report,
        emits=("train.straggler_report",),
        sample="[2026-01-05 10:20:00] | MnRtt/Rnk: 6102.33ms/8 | MxRtt/Rnk: 6155.90ms/41 | MnTmp/Rnk: 49.00C/2 | MxTmp/Rnk: 83.00C/41 | MnClk/Rnk: 1215.00MHz/41 | MxClk/Rnk: 1980.00MHz/0 | MnDRtt/Rnk: 9.10ms/5 | MxDRtt/Rnk: 31.40ms/17 | MnEtpt/Rnk: 331.02TF/41 | MxEtpt/Rnk: 402.71TF/8\n^^^^ Bottom 4 Ranks with lowest  Etpt(TF): 331.02TF/41, 398.11TF/40, 398.30TF/44, 398.40TF/47,\n",
        maximum=4,
    ),
    BlockParser(
        name="nvrx-straggler-warning",
        title="Ranks that NVIDIA's resiliency extension calls stragglers",
        opens=("Affected ranks: ",),
        starts=lambda line: WARNED.search(line.text) is not None,
        ends=lambda lines, line: True,
        read=read_warning,
        emits=("train.straggler",),
        sample="STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {StragglerId(rank=41, node='node-07')}\n",
        maximum=1,
    ),
    LineParser(
        name="nvrx-scores",
        title="Scores of ranks by NVIDIA's resiliency extension",
        patterns=(
            Pattern(
                event="train.straggler",
                regex=r"^\s*Rank=(?P<rank>\d+) Node=(?P<host>[\w.-]+) Score=(?P<score>\d+\.\d+)",
                nature=Nature.MEASUREMENT,
                source="nvidia_resiliency_ext, straggler callbacks, 2024 to 2026",
                sample="  Rank=41 Node=node-07 Score=0.61",
                types={"host": short_host, "score": float},
            ),
        ),
    ),
)
