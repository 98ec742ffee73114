"""Samples over time: ``nvidia-smi dmon``, and ``nvidia-smi --query-gpu=... --format=csv -l``.

::

    # gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk
    # Idx      W      C      C      %      %      %      %    MHz    MHz
        0    688     61     78     99     71      0      0   2619   1965
        3    121     47     60    100      3      0      0   2619   1980

    timestamp, index, utilization.gpu [%], power.draw [W], clocks.current.sm [MHz], temperature.gpu
    2026/03/09 04:48:45.120, 3, 100 %, 312.40 W, 1035 MHz, 86

Columns are taken from the heading, which dmon prints again every few lines. The samples of a piece of
output become one event a GPU, ``nvidia_smi.monitor``, at its last sample: ``index``, ``samples``,
``use`` (median of the time in which any kernel ran, per cent), ``use_low`` and ``use_high`` (share of the
samples under 30 and over 70 per cent), ``power`` (W), ``clock`` (MHz of the multiprocessors, median),
``temperature`` (highest), ``thermal_violation`` and ``power_violation`` (highest, per cent).

A GPU that waits in a collective spins: 100 % of use with little power and an idle memory bus.

*Empty*: ``-`` and ``[N/A]`` are unknown. *Cut off*: a row with fewer cells than the heading is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import pci

LOW, HIGH = 30, 70
"""Per cent of use under and over which a sample is idle or busy."""

COLUMNS = {
    "gpu": "index", "index": "index", "pwr": "power", "sm": "use", "pclk": "clock", "temp": "temperature",
    "gtemp": "temperature", "pviol": "power_violation", "tviol": "thermal_violation",
    "pci.bus_id": "gpu", "gpu_bus_id": "gpu", "utilization.gpu": "use", "power.draw": "power",
    "power.draw.instant": "power", "power.draw.average": "power", "clocks.current.sm": "clock",
    "clocks.sm": "clock", "temperature.gpu": "temperature",
}  # fmt: skip
"""Names of dmon's and of the query's columns, and what they are here."""

TIMES = frozenset({"timestamp", "date", "time"})

_DMON = LazyPattern(r"^\s*#(?:Date\s+Time\s+|\s*Date,\s*Time,)?\s*gpu[\s,]")
_UNITS = LazyPattern(r"^\s*#\s*(?:YYYYMMDD|Idx)")
_QUERY = LazyPattern(
    r"(?:^|, )(?:utilization\.gpu|clocks\.(?:current\.)?sm|power\.draw)(?: \[|,|$)"
)
_NUMBER = LazyPattern(r"-?\d+(?:\.\d+)?")


@dataclass(slots=True)
class _Samples:
    last: Line
    gpu: str | None = None
    values: dict[str, list[float]] = field(default_factory=dict)
    count: int = 0


def _starts(line: Line) -> bool:
    return _DMON.match(line.text) is not None or _is_query(line.text)


def _is_query(text: str) -> bool:
    return ", " in text and _QUERY.search(text) is not None


def _cells(text: str) -> list[str]:
    body = text.strip().lstrip("# ")
    return [cell.strip() for cell in body.split(",")] if "," in body else body.split()


def _names(heading: str) -> tuple[list[str], int]:
    """Return the names of a heading without its columns of time, and how many those are."""
    names = [cell.split(" [")[0].lower() for cell in _cells(heading)]
    kept = [name for name in names if name not in TIMES]
    return kept, len(names) - len(kept)


def _row(text: str, names: list[str], times: int) -> list[str] | None:
    """Return the cells below the names, None for another line.

    The stamp in front is gone where it was taken for a prefix of the line.
    """
    cells = [cell for cell in _cells(text) if cell]
    if text.lstrip().startswith("#") or not 0 <= len(cells) - len(names) <= times:
        return None
    return cells[-len(names) :]


def _ends(lines: list[Line], following: Line) -> bool:
    text = following.text
    if not text.strip() or _DMON.match(text) or _UNITS.match(text):
        return False
    names, times = _names(lines[0].text)
    if _is_query(text):
        return _names(text)[0] != names
    row = _row(text, names, times)
    return row is None or not row[0][0].isdigit()


def _read(lines: list[Line]) -> Iterator[Event]:
    names, times = _names(lines[0].text)
    known = [COLUMNS.get(name) for name in names]
    by_gpu: dict[str, _Samples] = {}
    for line in lines[1:]:
        cells = _row(line.text, names, times)
        if cells is None or _is_query(line.text):
            continue
        row = {name: cell for name, cell in zip(known, cells, strict=True) if name}
        which = row.get("index", row.get("gpu", "0"))
        _add(by_gpu.setdefault(which, _Samples(line)), line, row)
    for which, samples in by_gpu.items():
        yield _event(which, samples)


def _add(samples: _Samples, line: Line, row: dict[str, str]) -> None:
    samples.last = line
    samples.count += 1
    for name, cell in row.items():
        if name == "gpu":
            samples.gpu = cell
        elif found := _NUMBER.match(cell):
            samples.values.setdefault(name, []).append(float(found[0]))


def _event(which: str, samples: _Samples) -> Event:
    values = samples.values
    use = values.get("use", [])
    fields: dict[str, Value] = {
        "index": int(which) if which.isdigit() else None,
        "samples": samples.count,
        "use": median(use) if use else None,
        "use_low": sum(1 for one in use if one < LOW) / len(use) if use else None,
        "use_high": sum(1 for one in use if one > HIGH) / len(use) if use else None,
        "power": median(values["power"]) if "power" in values else None,
        "clock": median(values["clock"]) if "clock" in values else None,
        "temperature": max(values.get("temperature", []), default=None),
        "thermal_violation": max(values.get("thermal_violation", []), default=None),
        "power_violation": max(values.get("power_violation", []), default=None),
    }
    fields["gpu"] = pci(samples.gpu) if samples.gpu else (which if which.isdigit() else None)
    return make_event("nvidia_smi.monitor", Nature.MEASUREMENT, samples.last, fields)


MONITOR = BlockParser(
    name="nvidia-smi-monitor",
    title="nvidia-smi dmon and --query-gpu: use, power and clock of each GPU over time",
    opens=(
        "# gpu ",
        "#Date ",
        "#Date,",
        "#gpu,",
        "utilization.gpu",
        "clocks.current.sm",
        "power.draw",
    ),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("nvidia_smi.monitor",),
    sample=(
        "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n"
        "# Idx      W      C      C      %      %      %      %    MHz    MHz\n"
        "    0    688     61     78     99     71      0      0   2619   1965\n"
        "    3    121     47     60    100      3      0      0   2619   1980\n"
    ),
    maximum=20_000,
)

PARSERS = (MONITOR,)
