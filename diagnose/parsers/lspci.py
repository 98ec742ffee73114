r"""PCIe links as ``lspci -vv`` prints them: what a device could do and what it does.

Sample::

    5d:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
            LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
            LnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)

``pci.link`` has ``device`` and its ``kind`` (gpu, nic, other; None where only the link lines were
kept), ``speed`` and ``speed_max`` in GT/s, ``width`` and ``width_max`` in lanes, and ``narrow`` and
``slow`` where the link is below what the device can do. A GPU without work lowers its speed to save
power; a width never changes by itself. Bridges and empty slots are narrow by design.

Empty: no device was listed with its links, as without root rights. Cut off: a device whose state of
the link is cut off gives nothing.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Nature, Value
from diagnose.parsers.base import BlockParser, Record, make_event
from diagnose.parsers.convert import pci

DEVICE = LazyPattern(
    r"^(?P<pci>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<kind>[A-Z3][\w -]*?)"
    r"(?: \[[0-9a-f]{4}\])?: (?P<device>.+)$"
)
"""The bracketed class code comes with ``-nn``."""

LINK = LazyPattern(
    r"^\s*Lnk(?P<of>Cap|Sta):\s.*?Speed (?P<speed>[\d.]+)GT/s(?P<slow> \(downgraded\))?"
    r"(?: \(ok\))?, Width x(?P<width>\d+)(?P<narrow> \(downgraded\))?"
)

GPU = LazyPattern(r"NVIDIA Corporation|Advanced Micro Devices.*Instinct|Aldebaran|Aqua Vanjaram")
NIC = LazyPattern(r"Mellanox|ConnectX|BlueField|BCM57[56]|E810|Elastic Fabric")


def _starts(line: Line) -> bool:
    return DEVICE.match(line.text) is not None or LINK.match(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    return following.text[:1] not in (" ", "\t")


def read(lines: list[Line]) -> Iterator[Record]:
    """Return the link of a device."""
    device = DEVICE.match(lines[0].text)
    found: dict[str, tuple[re.Match[str], Line]] = {}
    for line in lines:
        if match := LINK.match(line.text):
            found.setdefault(match["of"], (match, line))
    if "Sta" not in found:
        return
    state, place = found["Sta"]
    able = found["Cap"][0] if "Cap" in found else None
    width, speed = int(state["width"]), float(state["speed"])
    width_max = int(able["width"]) if able else None
    speed_max = float(able["speed"]) if able else None
    kind = _kind(device["kind"], device["device"]) if device else None
    fields: dict[str, Value] = {
        "device": device["device"] if device else None,
        "kind": kind,
        "pci": pci(device["pci"]) if device else None,
        "speed": speed,
        "speed_max": speed_max,
        "width": width,
        "width_max": width_max,
        "narrow": bool(state["narrow"]) or (width_max is not None and width < width_max),
        "slow": bool(state["slow"]) or (speed_max is not None and speed < speed_max),
    }
    if kind == "gpu":
        fields["gpu"] = fields["pci"]
    yield make_event("pci.link", Nature.MEASUREMENT, place, fields)


def _kind(kind: str, device: str) -> str:
    if "bridge" in kind.lower():
        return "other"
    if GPU.search(device) and "Audio" not in kind:
        return "gpu"
    return "nic" if NIC.search(device) else "other"


PARSERS = (
    BlockParser(
        name="lspci",
        title="PCIe links of GPUs and network adapters (lspci -vv)",
        opens=(" controller: ", " controller [", " bridge: ", " bridge [", "accelerators: ",
               "accelerators [", "LnkCap:", "LnkSta:"),
        starts=_starts,
        ends=_ends,
        read=read,
        emits=("pci.link",),
        sample=(
            "5d:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
            "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
            "\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n"
        ),
    ),
)  # fmt: skip
