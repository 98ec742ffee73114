"""One link as ``mlxlink -d DEVICE [-m -c -e]`` prints it: state, advice, error rates.

::

    $ mlxlink -d mlx5_3 -m -c
    Operational Info
    ----------------
    State                              : Active
    Physical state                     : LinkUp
    Speed                              : IB-NDR
    Width                              : 4x

    Supported Info
    --------------
    Enabled Link Speed                 : 0x000000f1 (NDR,HDR,EDR,FDR,SDR)
    Supported Cable Speed              : 0x000000f1 (NDR,HDR,EDR,FDR,SDR)

    Troubleshooting Info
    --------------------
    Recommendation                     : No issue was observed

    Physical Counters and BER Info
    ------------------------------
    Symbol BER                         : 15E-255

Each run is one ``ib.link_health`` with ``device`` (of the command above it, None without one), ``state``,
``phys_state``, ``lanes``, ``speed`` as printed, ``recommendation`` (None where no issue was observed),
``ber`` and ``raw_ber``, ``symbol_errors``, ``link_downed``, ``minutes`` since the counters were cleared, and
three speeds in Gb/s, of a lane on InfiniBand and of the port on Ethernet: ``speed_gbps``, ``enabled_gbps``
and ``cable_gbps``, the last two the best that the port and the cable allow.

``ber`` is the error rate that counts: behind the correction of errors, so ``symbol`` of HDR and later and
``effective`` of what is older (``ber_kind``). The raw rate of these is never 0. ``15E-255`` is none.

*Empty*: sections that were not asked for are missing. *Cut off*: so are those behind the cut.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.fabric.port import LANE_GBPS, physical_of

_COMMAND = LazyPattern(r"\bmlxlink\b.*?\s(?:-d|--device)[ =]?\s*([\w./:-]+)")
_OPENING = LazyPattern(r"^\s*Operational Info\s*$")
_ROW = LazyPattern(
    r"^\s*([A-Z][\w .,()\[\]/-]*?)\s*:\s(.*?)\s*$|^\s*([A-Z][\w ()\[\]/-]*?)\s*:\s*$"
)
_OTHER = LazyPattern(r"^\s*(?:-{4,}|[A-Z][\w ,/-]* Info|)\s*$")
_ETHERNET = LazyPattern(r"([\d.]+)G")
_NO_ISSUE = ("No issue was observed", "N/A", "")
_COUNTED_BY_SYMBOL = ("HDR", "NDR", "XDR")


def _starts(line: Line) -> bool:
    return bool(_OPENING.match(line.text) or _COMMAND.search(line.text))


def _ends(lines: list[Line], following: Line) -> bool:
    if _OPENING.match(following.text):
        return any(_OPENING.match(line.text) for line in lines)
    return not (_ROW.match(following.text) or _OTHER.match(following.text))


def _read(lines: list[Line]) -> Iterator[Event]:
    command = _COMMAND.search(lines[0].text)
    rows: dict[str, str] = {}
    places: dict[str, Line] = {}
    for line in lines:
        if row := _ROW.match(line.text):
            key = (row[1] or row[3]).lower()
            rows.setdefault(key, row[2] or "")
            places.setdefault(key, line)
    if "state" not in rows and "recommendation" not in rows:
        return
    speed, lanes = rows.get("speed", ""), re.match(r"(\d+)x", rows.get("width", ""))
    kind = "symbol" if speed.endswith(_COUNTED_BY_SYMBOL) or "G" in speed else "effective"
    ber = rows.get(f"{kind} ber" if kind == "symbol" else "effective physical ber")
    advice = rows.get("recommendation", "")
    fields: dict[str, Value] = {
        "device": command[1] if command else None,
        "nic": command[1] if command else None,
        "state": rows.get("state"),
        "phys_state": physical_of(rows.get("physical state")),
        "lanes": int(lanes[1]) if lanes else None,
        "speed": speed or None,
        "speed_gbps": _fastest(speed.removeprefix("IB-")),
        "enabled_gbps": _best(rows, "enabled link speed"),
        "cable_gbps": _best(rows, "supported cable speed"),
        "recommendation": advice if advice not in _NO_ISSUE else None,
        "ber": _number(ber),
        "ber_kind": kind if ber is not None else None,
        "raw_ber": _number(rows.get("raw physical ber")),
        "symbol_errors": _number(rows.get("symbol errors")),
        "link_downed": _number(rows.get("link down counter")),
        "minutes": _number(rows.get("time since last clear [min]")),
    }
    telling = places.get("recommendation" if fields["recommendation"] else "state", lines[0])
    yield make_event(
        "ib.link_health", Nature.MEASUREMENT, telling, fields, end_line=lines[-1].number
    )


def _best(rows: dict[str, str], key: str) -> float | None:
    text = next((value for name, value in rows.items() if name.startswith(key)), "")
    return _fastest(text.partition("(")[2])


def _fastest(text: str) -> float | None:
    """Return the highest speed in a list such as ``NDR,HDR,EDR`` or ``400G_4X,200G_4X``."""
    words = re.findall(r"[\w.]+", text)
    speeds = [LANE_GBPS[word] for word in words if word in LANE_GBPS]
    speeds += [float(found[1]) for word in words if (found := _ETHERNET.match(word))]
    return max(speeds, default=None)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if value > 1e-250 else 0.0


MLXLINK = BlockParser(
    name="mlxlink",
    title="mlxlink: state, advice and error rates of one link",
    opens=("Operational Info", "mlxlink "),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("ib.link_health",),
    sample=(
        "$ mlxlink -d mlx5_3 -m -c\n"
        "Operational Info\n"
        "----------------\n"
        "State                              : Active\n"
        "Physical state                     : LinkUp\n"
        "Speed                              : IB-NDR\n"
        "Width                              : 4x\n"
        "\n"
        "Troubleshooting Info\n"
        "--------------------\n"
        "Recommendation                     : No issue was observed\n"
    ),
    maximum=120,
)

PARSERS = (MLXLINK,)
