"""Adapters, ports and addresses as ``ibv_devinfo`` prints them, with or without ``-v``.

::

    hca_id: mlx5_0
            fw_ver:                         28.41.1000
            board_id:                       MT_0000000838
                    port:   1
                            state:                  PORT_ACTIVE (4)
                            active_mtu:             4096 (5)
                            link_layer:             InfiniBand
                            active_width:           4X (2)
                            active_speed:           100.0 Gbps (128)
                            phys_state:             LINK_UP (5)
                            GID[  0]:               fe80:0000:0000:0000:a088:c203:00ab:12c0

Each port is one ``ib.port`` (see ``port.py``). Each line of the address table is one ``ib.gid`` with
``device``, ``index``, ``gid``, ``version`` (``v1``, ``v2``, None on InfiniBand) and ``kind``: ``link-local``,
``ipv4`` or ``ipv6``; only the last two are routed between nodes.

The speed is per lane and the rate is speed times width. Builds older than the link print ``invalid speed
(64)``, so the number in brackets is what counts. Speed and width need ``-v``.

*Empty*: ``No IB devices found`` is another tool's business. *Cut off*: a port without its state gives
no ``ib.port``, and a piece that begins inside the address table gives addresses without a device.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import gid_kind
from diagnose.parsers.fabric.port import LANE_GBPS, port_event, whole_number

_KEY = LazyPattern(r"^\s*([A-Za-z_][\w ]*?):\s+(.*?)\s*$")
_GID = LazyPattern(r"^\s*GID\[ *(\d+)\]:\s+([0-9a-fA-F:.]+)(?:, (?:RoCE (v\d)|IB/RoCE (v\d)))?\s*$")
_CODE = LazyPattern(r"\((\d+)\)")
_PORT_STATE = {"1": "DOWN", "2": "INIT", "3": "ARMED", "4": "ACTIVE", "5": "ACTIVE_DEFER"}
_PHYSICAL = {
    "1": "Sleep", "2": "Polling", "3": "Disabled", "4": "PortConfigurationTraining", "5": "LinkUp",
    "6": "LinkErrorRecovery", "7": "PhyTest",
}  # fmt: skip
_LANES = {"1": 1, "2": 4, "4": 8, "8": 12, "16": 2}
_SPEED = {
    "1": "SDR", "2": "DDR", "4": "QDR", "8": "FDR10", "16": "FDR", "32": "EDR", "64": "HDR",
    "128": "NDR", "256": "XDR",
}  # fmt: skip


def _starts(line: Line) -> bool:
    return line.text.lstrip().startswith("hca_id:") or _GID.match(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    if following.text.lstrip().startswith("hca_id:"):
        return True
    blank = not following.text.strip()
    return not blank and _GID.match(following.text) is None and _KEY.match(following.text) is None


def _code(text: str | None) -> str:
    found = _CODE.search(text or "")
    return found[1] if found else ""


def _read(lines: list[Line]) -> Iterator[Event]:
    device: dict[str, str] = {}
    port: dict[str, str] = {}
    head = end = lines[0]
    for line in lines:
        if gid := _GID.match(line.text):
            yield _gid(line, device.get("hca_id"), gid[1], gid[2], gid[3] or gid[4])
            continue
        key = _KEY.match(line.text)
        if key is None:
            continue
        if key[1] == "port":
            yield from _port(head, end, device, port)
            head, port = line, {}
        if port or key[1] == "port":
            port[key[1]] = key[2]
        else:
            device[key[1]] = key[2]
        end = line
    yield from _port(head, end, device, port)


def _gid(line: Line, device: str | None, index: str, gid: str, version: str | None) -> Event:
    fields: dict[str, Value] = {
        "device": device,
        "nic": device,
        "index": int(index),
        "gid": gid,
        "version": version,
        "kind": gid_kind(gid),
    }
    return make_event("ib.gid", Nature.MEASUREMENT, line, fields)


def _port(head: Line, end: Line, device: dict[str, str], port: dict[str, str]) -> Iterator[Event]:
    if "hca_id" not in device or "state" not in port:
        return
    lanes = _LANES.get(_code(port.get("active_width")))
    speed = _SPEED.get(_code(port.get("active_speed")))
    fields: dict[str, Value] = {
        "device": device["hca_id"],
        "port": int(port["port"]) if port["port"].isdigit() else None,
        "state": _PORT_STATE.get(_code(port["state"])),
        "phys_state": _PHYSICAL.get(_code(port.get("phys_state"))),
        "rate_gbps": LANE_GBPS[speed] * lanes if speed and lanes else None,
        "lanes": lanes,
        "speed": speed,
        "link_layer": port.get("link_layer"),
        "lid": whole_number(port.get("port_lid")),
        "sm_lid": whole_number(port.get("sm_lid")),
        "board": device.get("board_id"),
        "firmware": device.get("fw_ver"),
        "active_mtu": whole_number(port.get("active_mtu")),
        "max_mtu": whole_number(port.get("max_mtu")),
    }
    yield port_event(head, "ibv_devinfo", fields, end.number)


DEVINFO = BlockParser(
    name="ibv-devinfo",
    title="ibv_devinfo: adapters with ports, rates, firmware and address tables",
    opens=("hca_id:", "GID["),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("ib.port", "ib.gid"),
    sample=(
        "hca_id:\tmlx5_0\n"
        "\ttransport:\t\t\tInfiniBand (0)\n"
        "\tfw_ver:\t\t\t\t28.41.1000\n"
        "\tboard_id:\t\t\tMT_0000000838\n"
        "\tphys_port_cnt:\t\t\t1\n"
        "\t\tport:\t1\n"
        "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
        "\t\t\tactive_mtu:\t\t4096 (5)\n"
        "\t\t\tsm_lid:\t\t\t1\n"
        "\t\t\tport_lid:\t\t131\n"
        "\t\t\tlink_layer:\t\tInfiniBand\n"
        "\t\t\tactive_width:\t\t4X (2)\n"
        "\t\t\tactive_speed:\t\t100.0 Gbps (128)\n"
        "\t\t\tphys_state:\t\tLINK_UP (5)\n"
        "\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:a088:c203:00ab:12c0\n"
    ),
    maximum=600,
)

PARSERS = (DEVINFO,)
