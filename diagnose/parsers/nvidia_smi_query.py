"""The full report of ``nvidia-smi -q``, whole or the sections that somebody cut out.

::

    GPU 00000000:5D:00.0
        Product Name                          : NVIDIA H100 80GB HBM3
        Clocks Event Reasons
            HW Slowdown                       : Active
                HW Thermal Slowdown           : Active
        Remapped Rows
            Pending                           : Yes

Keys such as ``Current``, ``Max`` and ``Pending`` repeat under many headings, so a key is known by the
headings above it, which the indentation tells; a paste without any is read heading by heading.
Each GPU, or each piece without a GPU line, is one event ``nvidia_smi.query``; what is not printed or
``N/A`` is None:

``gpu``, ``name``
    PCI address (attribute) and model.
``reset_required``, ``recovery_action``
    Whether the driver wants a reset; ``None`` as text is the healthy action.
``pcie_generation``, ``pcie_generation_max``, ``pcie_width``, ``pcie_width_max``, ``pcie_replays``
    An idle card lowers its generation, never its width.
``slowdown``
    Clock event reasons that are active and mean harm: ``HW Slowdown``, ``HW Thermal Slowdown``, ``HW
    Power Brake Slowdown``, ``SW Thermal Slowdown``. ``SW Power Cap`` under load and ``Idle`` are
    normal. The counters of the same names (``0 us``) are sums since the driver was loaded.
``ecc_volatile``, ``ecc_aggregate``, ``sram_threshold``
    Uncorrectable errors since the last reset and ever, and whether the chip is worn out.
``remap_correctable``, ``remap_uncorrectable``, ``remap_pending``, ``remap_failed``
    Rows of memory that were replaced, replacements that wait for a reset, and failed ones.
``banks_exhausted``
    Banks without any spare row left.
``retired_single``, ``retired_double``, ``retired_pending``
    Retired pages of GPUs before Ampere.
``temperature``, ``temperature_margin``, ``memory_temperature``
    Degrees Celsius; the margin is how far it is from throttling.
``power``, ``power_limit``, ``power_default``, ``sm_clock``, ``sm_clock_max``, ``utilisation``
    Watts, MHz and per cent.
``memory_used``, ``memory_total``, ``fabric_state``, ``fabric_status``
    Bytes, and how far the NVSwitch fabric is set up.

What the report itself marks as wrong is one ``nvidia_smi.alarm`` each, at its own line, with ``what`` (a
field above, or ``slowdown``, ``ecc_volatile``, ``pcie_width``), ``key`` and ``value`` as printed, ``name`` and
``gpu``.

*Empty*: ``Attached GPUs : 0``. *Cut off*: the keys behind the cut are None.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import pci, size

Report = dict[tuple[str, ...], str]
"""Values by heading path."""

Places = dict[tuple[str, ...], Line]
"""Lines of the same paths."""

_GPU = LazyPattern(r"^\s*GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_KEY = LazyPattern(r"^(\s*)(\S.*?)\s*(?: : (.*)| :)?$")
_NUMBER = LazyPattern(r"-?\d+(?:\.\d+)?")

SECTIONS = frozenset({
    "GPU Reset Status", "GPU Link Info", "PCIe Generation", "Link Width", "Clocks Event Reasons",
    "Clocks Throttle Reasons", "ECC Errors", "Retired Pages", "Remapped Rows", "FB Memory Usage",
    "GPU Power Readings", "Fabric",
})  # fmt: skip
"""Headings that open a record where the line of the GPU is missing."""

TELLING = (
    "Reset Required", "HW Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown",
    "SW Thermal Slowdown", "Pending Page Blacklist", "Remapping Failure Occurred",
    "SRAM Threshold Exceeded", "GPU Recovery Action",
)  # fmt: skip
"""Keys that say enough without their heading; they open a record too."""

EVENT_REASONS = ("Clocks Event Reasons", "Clocks Throttle Reasons")
"""Heading from driver 535 on, and before."""

HARMFUL = ("HW Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown", "SW Thermal Slowdown")

UNCORRECTABLE = (
    "SRAM Uncorrectable", "SRAM Uncorrectable Parity", "SRAM Uncorrectable SEC-DED",
    "DRAM Uncorrectable",
)  # fmt: skip
"""From Turing on; earlier GPUs print ``Double Bit`` with a total."""


def _starts(line: Line) -> bool:
    text = line.text.strip()
    if text in SECTIONS or _GPU.match(line.text) is not None:
        return True
    return " : " in text and text.startswith(TELLING)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _ends(lines: list[Line], following: Line) -> bool:
    text = following.text
    if not text.strip():
        return False
    if _GPU.match(text) or "NVSMI LOG" in text:
        return True
    if _GPU.match(lines[0].text):
        flat = any(_indent(line.text) == 0 for line in lines[1:] if line.text.strip())
        return _indent(text) == 0 and len(lines) > 1 and not flat
    return _indent(text) < _indent(lines[0].text) and _indent(lines[0].text) > 0


def _report(lines: list[Line]) -> tuple[Report, Places]:
    """Return the values by path, and where they stand, in the order of the lines."""
    found: Report = {}
    places: Places = {}
    above: list[tuple[int, str]] = []
    heading: tuple[int, str] | None = None
    for line in lines:
        key = _KEY.match(line.text)
        if key is None or not line.text.strip() or _GPU.match(line.text):
            continue
        depth, name, value = len(key[1]), key[2], key[3]
        flat = heading is not None and depth <= heading[0]
        if not (flat and value is not None):
            while above and above[-1][0] >= depth:
                above.pop()
        if value is None:
            above.append((depth, name))
            heading = depth, name
            continue
        path = (*(one for _, one in above), name)
        if path not in found:
            found[path], places[path] = value.strip(), line
        if not flat:
            heading = None
            above.append((depth, name))
    return found, places


def _at(report: Report, *path: str) -> str | None:
    """Return the value whose path ends so; None if it is not there or not applicable."""
    for whole, value in report.items():
        if whole[-len(path) :] == path:
            return (
                None
                if value in ("N/A", "[N/A]", "Requested functionality has been deprecated")
                else value
            )
    return None


def _number(text: str | None) -> float | None:
    found = _NUMBER.match(text or "")
    return float(found[0]) if found else None


def _count(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else int(number)


def _yes(text: str | None) -> bool | None:
    return None if text is None else text == "Yes"


def _bytes(text: str | None) -> int | None:
    return size(text) if text and text[0].isdigit() else None


def _sum(report: Report, kind: str) -> int | None:
    """Add up the uncorrectable errors of a kind, ``Volatile`` or ``Aggregate``."""
    counts = [_count(_at(report, kind, name)) for name in UNCORRECTABLE]
    counts.append(_count(_at(report, kind, "Double Bit", "Total")))
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _slowdown(report: Report) -> list[Value] | None:
    reasons = {
        path[-1]: value
        for path, value in report.items()
        if any(heading in path for heading in EVENT_REASONS)
    }
    if not reasons:
        return None
    return [name for name in HARMFUL if reasons.get(name) == "Active"]


def _fields(report: Report) -> dict[str, Value]:
    return {
        "name": _at(report, "Product Name"),
        "reset_required": _yes(_at(report, "Reset Required")),
        "recovery_action": _at(report, "GPU Recovery Action"),
        "pcie_generation": _count(_at(report, "PCIe Generation", "Current")),
        "pcie_generation_max": _count(_at(report, "PCIe Generation", "Max")),
        "pcie_width": _count(_at(report, "Link Width", "Current")),
        "pcie_width_max": _count(_at(report, "Link Width", "Max")),
        "pcie_replays": _count(_at(report, "Replays Since Reset")),
        "slowdown": _slowdown(report),
        "ecc_volatile": _sum(report, "Volatile"),
        "ecc_aggregate": _sum(report, "Aggregate"),
        "sram_threshold": _yes(_at(report, "SRAM Threshold Exceeded")),
        "remap_correctable": _count(_at(report, "Remapped Rows", "Correctable Error")),
        "remap_uncorrectable": _count(_at(report, "Remapped Rows", "Uncorrectable Error")),
        "remap_pending": _yes(_at(report, "Remapped Rows", "Pending")),
        "remap_failed": _yes(_at(report, "Remapped Rows", "Remapping Failure Occurred")),
        "banks_exhausted": _count(_at(report, "Bank Remap Availability Histogram", "None")),
        "retired_single": _count(_at(report, "Retired Pages", "Single Bit ECC")),
        "retired_double": _count(_at(report, "Retired Pages", "Double Bit ECC")),
        "retired_pending": _yes(_at(report, "Pending Page Blacklist")),
        "temperature": _number(_at(report, "GPU Current Temp")),
        "temperature_margin": _number(_at(report, "GPU T.Limit Temp")),
        "memory_temperature": _number(_at(report, "Memory Current Temp")),
        "power": _number(
            _at(report, "Instantaneous Power Draw")
            or _at(report, "Average Power Draw")
            or _at(report, "Power Draw")
        ),
        "power_limit": _number(_at(report, "Current Power Limit") or _at(report, "Power Limit")),
        "power_default": _number(_at(report, "Default Power Limit")),
        "sm_clock": _number(_at(report, "Clocks", "SM")),
        "sm_clock_max": _number(_at(report, "Max Clocks", "SM")),
        "utilisation": _count(_at(report, "Utilization", "GPU") or _at(report, "Utilization", "Gpu")),
        "memory_used": _bytes(_at(report, "FB Memory Usage", "Used")),
        "memory_total": _bytes(_at(report, "FB Memory Usage", "Total")),
        "fabric_state": _at(report, "Fabric", "State"),
        "fabric_status": _at(report, "Fabric", "Status"),
    }  # fmt: skip


YES_IS_WRONG = {
    "Reset Required": "reset_required",
    "Drain and Reset Recommended": "reset_required",
    "SRAM Threshold Exceeded": "sram_threshold",
    "Remapping Failure Occurred": "remap_failed",
    "Pending Page Blacklist": "retired_pending",
}
"""Keys whose Yes is an alarm, whatever stands above them."""


def _alarm(path: tuple[str, ...], value: str, report: Report) -> str | None:
    """Return what is wrong with a value, None where nothing is."""
    key, above = path[-1], path[:-1]
    if value == "Yes":
        return (
            "remap_pending" if path[-2:] == ("Remapped Rows", "Pending") else YES_IS_WRONG.get(key)
        )
    if value == "Active" and key in HARMFUL:
        return "slowdown"
    if "Volatile" in above and (key in UNCORRECTABLE or path[-2:] == ("Double Bit", "Total")):
        return "ecc_volatile" if _count(value) else None
    if path[-2:] == ("Link Width", "Current"):
        width, most = _count(value), _count(_at(report, "Link Width", "Max"))
        return "pcie_width" if width and most and width < most else None
    if key == "GPU Recovery Action" and value not in ("None", "N/A"):
        return "recovery_action"
    return None


def _read(lines: list[Line]) -> Iterator[Event]:
    report, places = _report(lines)
    if not report:
        return
    fields = _fields(report)
    head = _GPU.match(lines[0].text)
    fields["gpu"] = pci(head[1]) if head else None
    last = max(line.number for line in places.values())
    yield make_event("nvidia_smi.query", Nature.MEASUREMENT, lines[0], dict(fields), end_line=last)
    for path, value in report.items():
        what = _alarm(path, value, report)
        if what is not None:
            alarm: dict[str, Value] = {
                "what": what, "key": path[-1], "value": value, "name": fields["name"],
                "gpu": fields["gpu"], "limit": _limit(what, report),
            }  # fmt: skip
            yield make_event("nvidia_smi.alarm", Nature.MEASUREMENT, places[path], alarm)


def _limit(what: str, report: Report) -> str | None:
    """Return what the value should be, where the report prints that too."""
    return _at(report, "Link Width", "Max") if what == "pcie_width" else None


QUERY = BlockParser(
    name="nvidia-smi-query",
    title="nvidia-smi -q: memory errors, links, clocks and heat of each GPU",
    opens=("GPU 0000", *sorted(SECTIONS), *TELLING),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("nvidia_smi.query", "nvidia_smi.alarm"),
    sample=(
        "GPU 00000000:5D:00.0\n"
        "    Product Name                          : NVIDIA H100 80GB HBM3\n"
        "    GPU Reset Status\n"
        "        Reset Required                    : No\n"
        "    PCI\n"
        "        GPU Link Info\n"
        "            Link Width\n"
        "                Max                       : 16x\n"
        "                Current                   : 8x\n"
        "    Clocks Event Reasons\n"
        "        Idle                              : Not Active\n"
        "        HW Slowdown                       : Active\n"
        "            HW Thermal Slowdown           : Active\n"
        "    ECC Errors\n"
        "        Volatile\n"
        "            DRAM Uncorrectable            : 2\n"
        "    Remapped Rows\n"
        "        Pending                           : Yes\n"
        "    Temperature\n"
        "        GPU Current Temp                  : 87 C\n"
    ),
    maximum=700,
)

PARSERS = (QUERY,)
