r"""PCIe devices as ``lspci -vv`` prints them: what a link could do and does, and who checks accesses.

Sample::

    5d:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
            DevCtl: CorrErr+ NonFatalErr+ FatalErr+ UnsupReq-
                    MaxPayload 256 bytes, MaxReadReq 4096 bytes
            DevSta: CorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-
            LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
            LnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)

``pci.link`` has ``device`` and its ``kind`` (gpu, nic, bridge, other; None where only the link lines were
kept), ``pci``, ``speed`` and ``speed_max`` in GT/s, ``width`` and ``width_max`` in lanes, ``narrow`` and
``slow`` where the link is below what the device can do, ``payload`` and ``read_request`` in bytes, and
``errors``, the kinds that the device has seen since boot. A GPU without work lowers its speed to save
power; a width never changes by itself. Bridges and empty slots are narrow by design.

``pci.access_control`` is a device with ACS: ``checks``, those switched on, ``redirects`` where requests
between devices are sent up to the root, ``port`` (Root, Downstream, Upstream; None of an endpoint), and of a
bridge ``secondary`` and ``subordinate``, the first and last bus below it. Where only the lines of ACS were
kept there is no ``pci``.

Empty: no device was listed with its links, as without root rights. Cut off: a device whose state of
the link is cut off gives no link.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Nature, Value
from diagnose.parsers.base import BlockParser, Record, make_event
from diagnose.parsers.convert import pci

DEVICE = LazyPattern(
    r"^ *(?P<pci>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<kind>[A-Z3][\w -]*?)"
    r"(?: \[[0-9a-f]{4}\])?: (?P<device>.+)$"
)
"""The bracketed class code comes with ``-nn``."""

LINK = LazyPattern(
    r"^\s*Lnk(?P<of>Cap|Sta):\s.*?Speed (?P<speed>[\d.]+)GT/s(?P<slow> \(downgraded\))?"
    r"(?: \(ok\))?, Width x(?P<width>\d+)(?P<narrow> \(downgraded\))?"
)
PAYLOAD = LazyPattern(
    r"\bMaxPayload (?P<payload>\d+) bytes, MaxReadReq (?P<read_request>\d+) bytes"
)
ERRORS = LazyPattern(r"^\s*DevSta:\s(?P<flags>.+)$")
CHECKS = LazyPattern(r"^\s*ACSCtl:\s(?P<flags>.+)$")
PORT = LazyPattern(r"Express (?:\(v\d\) )?(?P<port>Root|Downstream|Upstream) Port")
BUS = LazyPattern(
    r"^\s*Bus: primary=[0-9a-f]{2}, secondary=(?P<secondary>[0-9a-f]{2}), subordinate=(?P<subordinate>[0-9a-f]{2})"
)
DETAIL = LazyPattern(r"\s+\S|[A-Z][\w ]*:|[A-Z]\w+[+-]|MaxPayload ")
"""A line below that of the device; a paste may have lost the blanks in front."""

SWITCHED_ON = re.compile(r"(\w+)\+")

GPU = LazyPattern(r"NVIDIA Corporation|Advanced Micro Devices.*Instinct|Aldebaran|Aqua Vanjaram")
NIC = LazyPattern(r"Mellanox|ConnectX|BlueField|BCM57[56]|E810|Elastic Fabric")

FAULTS = ("CorrErr", "NonFatalErr", "FatalErr")
"""An unsupported request is part of how devices are found."""

REDIRECTS = frozenset({"ReqRedir", "CmpltRedir", "EgressCtrl"})


def _starts(line: Line) -> bool:
    return any(one.match(line.text) for one in (DEVICE, LINK, CHECKS))


def _ends(lines: list[Line], following: Line) -> bool:
    if CHECKS.match(following.text):  # a paste of these lines alone has one of each device
        return any(CHECKS.match(line.text) for line in lines)
    return DETAIL.match(following.text) is None or DEVICE.match(following.text) is not None


def read(lines: list[Line]) -> Iterator[Record]:
    """Return link and access control of a device."""
    found = DEVICE.match(lines[0].text)
    device: dict[str, Value] = {
        "device": found["device"] if found else None,
        "kind": _kind(found["kind"], found["device"]) if found else None,
        "pci": pci(found["pci"]) if found else None,
    }
    if device["kind"] == "gpu":
        device["gpu"] = device["pci"]
    yield from _link(lines, device)
    yield from _access_control(lines, device)


def _link(lines: list[Line], device: dict[str, Value]) -> Iterator[Record]:
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
    payload, errors = _first(PAYLOAD, lines), _first(ERRORS, lines)
    fields: dict[str, Value] = {
        **device,
        "speed": speed,
        "speed_max": speed_max,
        "width": width,
        "width_max": width_max,
        "narrow": bool(state["narrow"]) or (width_max is not None and width < width_max),
        "slow": bool(state["slow"]) or (speed_max is not None and speed < speed_max),
        "payload": int(payload["payload"]) if payload else None,
        "read_request": int(payload["read_request"]) if payload else None,
        "errors": [one for one in FAULTS if one in _flags(errors)] if errors else None,
    }
    yield make_event("pci.link", Nature.MEASUREMENT, place, fields)


def _access_control(lines: list[Line], device: dict[str, Value]) -> Iterator[Record]:
    place = next((line for line in lines if CHECKS.match(line.text)), None)
    if place is None:
        return
    checks = _flags(CHECKS.match(place.text))
    port, bus = _first(PORT, lines), _first(BUS, lines)
    fields: dict[str, Value] = {
        **device,
        "checks": [*checks],
        "redirects": not REDIRECTS.isdisjoint(checks),
        "port": port["port"] if port else None,
        "secondary": int(bus["secondary"], 16) if bus else None,
        "subordinate": int(bus["subordinate"], 16) if bus else None,
    }
    yield make_event("pci.access_control", Nature.MEASUREMENT, place, fields)


def _first(pattern: LazyPattern[str], lines: list[Line]) -> re.Match[str] | None:
    return next((found for line in lines if (found := pattern.search(line.text))), None)


def _flags(found: re.Match[str] | None) -> list[str]:
    """Return the flags that are on: ``SrcValid+`` is, ``SrcValid-`` is not."""
    return SWITCHED_ON.findall(found["flags"]) if found else []


def _kind(kind: str, device: str) -> str:
    if "bridge" in kind.lower():
        return "bridge"
    if GPU.search(device) and "Audio" not in kind:
        return "gpu"
    return "nic" if NIC.search(device) else "other"


PARSERS = (
    BlockParser(
        name="lspci",
        title="PCIe links of GPUs and network adapters, access control of bridges (lspci -vv)",
        opens=(" controller: ", " controller [", "ridge: ", "ridge [", "accelerators: ",
               "accelerators [", "o-processor: ", "o-processor [", "peripheral: ", "peripheral [",
               "unclassified device: ", "Unassigned class [", "LnkCap:", "LnkSta:", "ACSCtl:"),
        starts=_starts,
        ends=_ends,
        read=read,
        emits=("pci.link", "pci.access_control"),
        sample=(
            "5d:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
            "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-\n"
            "\t\t\tMaxPayload 256 bytes, MaxReadReq 4096 bytes\n"
            "\t\tDevSta:\tCorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-\n"
            "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
            "\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n"
            "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
        ),
    ),
)  # fmt: skip
