r"""Links and drivers of network interfaces: ``ethtool DEV`` and ``ethtool -i DEV``.

::

    Settings for ens1f0np0:
        Speed: 400000Mb/s
        Duplex: Full
        Lanes: 4
        Link detected: yes

    driver: mlx5_core
    version: 24.10-1.1.4
    firmware-version: 28.43.2026 (MT_0000000838)
    bus-info: 0000:1b:00.0

``net.link`` has ``interface``, ``speed_gbps`` (None where it is unknown, as without a link), ``duplex``, ``lanes``,
``detected`` and ``reason``, what newer kernels say of a link that is not there. ``net.driver`` has ``driver``,
``version`` (of a driver that comes with the kernel, the kernel's), ``firmware``, ``board``, ``pci`` and, where the
command was copied as well, ``interface``. Counters (``-S``) are not read here.

*Empty*: the interface does not exist. *Cut off*: a link without a word on speed or detection, or a driver
without its firmware, gives nothing.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import pci

_SETTINGS = LazyPattern(r"^\s*Settings for (?P<interface>[^\s:]+)\s*:\s*$")
_SETTING = LazyPattern(
    r"^\s*(?P<key>Speed|Duplex|Lanes|Port|Link detected|Auto-negotiation): ?(?P<value>.*?)\s*$"
)
_SPEED = LazyPattern(r"(\d+)Mb/s")
_DETECTED = LazyPattern(r"(?P<word>yes|no)(?: \((?P<reason>[^)]+)\))?")
_INSIDE = LazyPattern(r"\s|[A-Z][\w -]{0,40}: |Cannot get|netlink error|\d+base")

_COMMAND = LazyPattern(r"\bethtool (?:-i|--driver) (?P<interface>[\w.@-]+)\s*$")
_DRIVER = LazyPattern(r"^\s*driver: (?P<driver>[\w-]+)\s*$")
_PART = LazyPattern(
    r"^\s*(?P<key>driver|version|firmware-version|expansion-rom-version|bus-info|supports-[\w-]+):"
    r"(?P<value>.*)$"
)
_FIRMWARE = LazyPattern(r"(?P<firmware>[^(]*[^(\s])\s*(?:\((?P<board>[^)]+)\))?$")
_BUS = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


def _settings_end(lines: list[Line], following: Line) -> bool:
    if _SETTINGS.match(following.text):
        return True
    return _INSIDE.match(following.text) is None


def _read_settings(lines: list[Line]) -> Iterator[Event]:
    head = _SETTINGS.match(lines[0].text)
    assert head is not None
    found = {row["key"]: row["value"] for line in lines if (row := _SETTING.match(line.text))}
    detected = _DETECTED.match(found.get("Link detected", ""))
    if detected is None and "Speed" not in found:
        return
    speed = _SPEED.match(found.get("Speed", ""))
    lanes = found.get("Lanes", "")
    yield make_event("net.link", Nature.MEASUREMENT, lines[0], {
        "interface": head["interface"],
        "speed_gbps": int(speed[1]) / 1000 if speed else None,
        "duplex": found.get("Duplex"),
        "lanes": int(lanes) if lanes.isdigit() else None,
        "port": found.get("Port"),
        "detected": detected["word"] == "yes" if detected else None,
        "reason": detected["reason"] if detected else None,
    }, end_line=lines[-1].number)  # fmt: skip


def _driver_starts(line: Line) -> bool:
    return _COMMAND.search(line.text) is not None or _DRIVER.match(line.text) is not None


def _driver_ends(lines: list[Line], following: Line) -> bool:
    if _DRIVER.match(following.text):
        return any(_DRIVER.match(line.text) for line in lines)
    return _PART.match(following.text) is None


def _read_driver(lines: list[Line]) -> Iterator[Event]:
    command = _COMMAND.search(lines[0].text)
    found = {
        part["key"]: part["value"].strip() for line in lines if (part := _PART.match(line.text))
    }
    firmware = _FIRMWARE.match(found.get("firmware-version", ""))
    if "driver" not in found or firmware is None:
        return
    bus = found.get("bus-info", "")
    yield make_event("net.driver", Nature.SETTING, lines[0 if command is None else 1], {
        "value": f"{found['driver']} {found.get('version', '')}, firmware {firmware['firmware']}",
        "driver": found["driver"],
        "version": found.get("version") or None,
        "firmware": firmware["firmware"],
        "board": firmware["board"],
        "pci": pci(bus) if _BUS.fullmatch(bus) else None,
        "interface": command["interface"] if command else None,
    }, fact="net.driver")  # fmt: skip


PARSERS = (
    BlockParser(
        name="ethtool-link",
        title="ethtool: speed and state of a link",
        opens=("Settings for ",),
        starts=lambda line: _SETTINGS.match(line.text) is not None,
        ends=_settings_end,
        read=_read_settings,
        emits=("net.link",),
        sample=(
            "Settings for ens1f0np0:\n\tSpeed: 400000Mb/s\n\tDuplex: Full\n\tLanes: 4\n\tLink detected: yes\n"
        ),
        maximum=150,
    ),
    BlockParser(
        name="ethtool-driver",
        title="ethtool -i: driver and firmware of an interface",
        opens=("driver: ", "ethtool -i ", "ethtool --driver "),
        starts=_driver_starts,
        ends=_driver_ends,
        read=_read_driver,
        emits=("net.driver",),
        sample=(
            "driver: mlx5_core\nversion: 24.10-1.1.4\nfirmware-version: 28.43.2026 (MT_0000000838)\n"
            "bus-info: 0000:1b:00.0\n"
        ),
        maximum=14,
    ),
)
