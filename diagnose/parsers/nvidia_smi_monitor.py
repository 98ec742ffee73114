"""Samples over time: ``nvidia-smi dmon``, ``--query-gpu=... --format=csv -l``, and ``dcgmi dmon``.

::

    # gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk
    # Idx      W      C      C      %      %      %      %    MHz    MHz
        0    688     61     78     99     71      0      0   2619   1965
        3    121     47     60    100      3      0      0   2619   1980

    timestamp, index, utilization.gpu [%], power.draw [W], clocks.current.sm [MHz], temperature.gpu
    2026/03/09 04:48:45.120, 3, 100 %, 312.40 W, 1035 MHz, 86

    #Entity           GPUTL     MCUTL     TMPTR     POWER     XIDER     GRACT     SMACT     TENSO
    ID                                        C         W
    GPU 3             100       2         47        121.3     0         0.998     0.124     0.000

Columns are taken from the heading, which dmon prints again every few lines. The samples of a piece of
output become one event a GPU, ``nvidia_smi.monitor``, at its last sample: ``index``, ``samples``,
``use`` (median of the time in which any kernel ran, per cent), ``use_low`` and ``use_high`` (share of the
samples under 30 and over 70 per cent), ``power`` (W), ``clock`` (MHz of the multiprocessors, median),
``temperature`` (highest), ``thermal_violation`` and ``power_violation`` (highest, per cent), ``sm_active`` and
``tensor_active`` (median shares), ``pcie_width``, ``pcie_width_max`` and ``pcie_generation`` (lowest),
``ecc_volatile`` (highest), ``memory_used`` and ``memory_total`` (bytes, highest), ``xid`` (the last one that is
not 0; a gauge, which keeps its value until the driver restarts) and ``slowdown`` (clock event reasons
that mean harm and were active in at least half of the samples, in words; None without any).

A GPU that waits in a collective spins: 100 % of use with little power and an idle memory bus.

*Empty*: ``-`` and ``[N/A]`` are unknown. *Cut off*: a row with fewer cells than the heading is left out.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser
from diagnose.parsers.gpu_samples import Samples, monitored

COLUMNS = {
    "gpu": "index", "index": "index", "entity": "index", "pwr": "power", "power": "power", "sm": "use", "pclk": "clock", "temp": "temperature",
    "gtemp": "temperature", "pviol": "power_violation", "tviol": "thermal_violation",
    "pci.bus_id": "gpu", "gpu_bus_id": "gpu", "utilization.gpu": "use", "power.draw": "power",
    "power.draw.instant": "power", "power.draw.average": "power", "clocks.current.sm": "clock",
    "clocks.sm": "clock", "temperature.gpu": "temperature",
    "pcie.link.width.current": "pcie_width", "pcie.link.width.max": "pcie_width_max",
    "pcie.link.gen.current": "pcie_generation", "pcie.link.gen.gpucurrent": "pcie_generation",
    "ecc.errors.uncorrected.volatile.total": "ecc_volatile", "dbecc": "ecc_volatile",
    "memory.used": "memory_used", "memory.total": "memory_total",
    "clocks_event_reasons.active": "reasons", "clocks_throttle_reasons.active": "reasons",
    "gputl": "use", "tmptr": "temperature", "smclk": "clock", "xider": "xid", "smact": "sm_active",
    "tenso": "tensor_active", "dvcctr": "reasons", "pcilw": "pcie_width", "pcilg": "pcie_generation",
}  # fmt: skip
"""Names of the columns of dmon, of the query and of DCGM (``dcgm_fields.cpp``), and what they are here."""

REASONS = {
    0x8: "HW Slowdown",
    0x20: "SW Thermal Slowdown",
    0x40: "HW Thermal Slowdown",
    0x80: "HW Power Brake Slowdown",
}
"""Bits of the clock event reasons that mean harm (nvml.h); 0x4, the power cap, is normal under load."""

REASON_COLUMNS = {
    f"clocks_{word}_reasons.{name}": bit
    for word in ("event", "throttle")
    for name, bit in (
        ("hw_slowdown", 0x8), ("sw_thermal_slowdown", 0x20),
        ("hw_thermal_slowdown", 0x40), ("hw_power_brake_slowdown", 0x80),
    )
}  # fmt: skip
"""The same as columns of their own, ``Active`` or ``Not Active``."""

TIMES = frozenset({"timestamp", "date", "time"})

_DMON = LazyPattern(r"^\s*#(?:(?:Date\s+Time\s+|\s*Date,\s*Time,)?\s*gpu[\s,]|Entity\s)")
_UNITS = LazyPattern(r"^\s*(?:#\s*(?:YYYYMMDD|Idx)|ID(?:\s+\S+)*\s*$)")
_ENTITY = LazyPattern(r"^\s*GPU (?=\d)")
"""dcgmi writes ``GPU 3`` into one column."""
_QUERY = LazyPattern(
    r"(?:^|, )(?:utilization\.gpu|clocks\.(?:current\.)?sm|power\.draw)(?: \[|,|$)"
)
_NUMBER = LazyPattern(r"-?\d+(?:\.\d+)?")


def _starts(line: Line) -> bool:
    return _DMON.match(line.text) is not None or _is_query(line.text)


def _is_query(text: str) -> bool:
    return ", " in text and _QUERY.search(text) is not None


def _cells(text: str) -> list[str]:
    body = _ENTITY.sub("", text).strip().lstrip("# ")
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
    known = [COLUMNS.get(name, name if name in REASON_COLUMNS else None) for name in names]
    by_gpu: dict[str, Samples] = {}
    for line in lines[1:]:
        cells = _row(line.text, names, times)
        if cells is None or _is_query(line.text):
            continue
        row = {name: cell for name, cell in zip(known, cells, strict=True) if name}
        which = row.get("index", row.get("gpu", "0"))
        _add(by_gpu.setdefault(which, Samples(line)), line, row)
    for which, samples in by_gpu.items():
        yield monitored(which, samples)


def _add(samples: Samples, line: Line, row: dict[str, str]) -> None:
    samples.last = line
    samples.count += 1
    harm = 0
    for name, cell in row.items():
        if name == "gpu":
            samples.gpu = cell
        elif name == "reasons":
            harm |= _bits(cell)
        elif name in REASON_COLUMNS:
            harm |= REASON_COLUMNS[name] if cell == "Active" else 0
        elif found := _NUMBER.match(cell):
            samples.values.setdefault(name, []).append(float(found[0]))
    samples.reasons.update(words for bit, words in REASONS.items() if harm & bit)


def _bits(cell: str) -> int:
    """Return a mask, hexadecimal from nvidia-smi and decimal from DCGM; 0 for ``[N/A]``."""
    try:
        return int(cell, 0)
    except ValueError:
        return 0


MONITOR = BlockParser(
    name="nvidia-smi-monitor",
    title="nvidia-smi dmon, --query-gpu and dcgmi dmon: use, power and clock of each GPU over time",
    opens=(
        "# gpu ",
        "#Date ",
        "#Date,",
        "#gpu,",
        "#Entity ",
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
