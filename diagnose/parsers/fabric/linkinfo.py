"""Links of an InfiniBand fabric: ``iblinkinfo``, and the ``Link info`` lines of ``ibqueryerrors``.

::

    CA: node-17 mlx5_3:
          0xa088c20300ab12f6    134    1[  ] ==( 2X        53.125 Gbps Active/  LinkUp)==>      15    9[  ] "leaf-06" (Could be 4X Could be 106.25 Gbps)
    Switch: 0xfc6a1c0300700c40 leaf-03:
              12    7[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>     131    1[  ] "node-17 mlx5_0" ( )
              12    8[  ] ==(                Down/ Polling)==>             [  ] "" ( )

Each line is one ``ib.link`` with ``near`` and ``far`` (name and port of the two ends), ``state``,
``phys_state``, ``lanes``, ``lane_gbps`` and ``rate_gbps``, ``could_lanes`` and ``could_lane_gbps`` (the
tool has asked both ends and both can do more), ``device`` and ``port`` of the adapter, ``switch`` and
``switch_port``. The host is that of the adapter's description, ``node-17 mlx5_3``; where nobody set
it (``MT4129 ConnectX7   Mellanox Technologies``) there is none, and a link between switches has none. With
``-l`` each line begins with the GUID and the name of its own end.

The port of an adapter at the near end is also one ``ib.port`` (see ``port.py``).

*Empty*: the tool found no subnet manager or no port. *Cut off*: lines without a heading above them lack
the name of the near end; ``"Port not available"`` is a far end that did not answer.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import short_host
from diagnose.parsers.fabric.port import LANE_GBPS, physical_of, port_event, state_of

_HEADING = LazyPattern(
    r"^\s*(?:(?:CA|Switch|Router|Channel Adapter):? +(?:0x[0-9a-fA-F]+ +)?\"?(.*?)\"?:"
    r"|Errors for (?:0x[0-9a-fA-F]+ )?\"(.*?)\")\s*$"
)
_NEAR = LazyPattern(
    r"^\s*(?:Link info:)?\s*(?:(0x[0-9a-fA-F]+)\s+)?(?:\"\s*(.*?)\s*\"\s+)?(\d+)\s+(\d+)\[[\s\d]*\]\s*"
    r"==\(\s*(?:(\d+)X\s+)?(?:([\d.]+) Gbps(?: \(FDR10\))?\s+)?(\w+)\s*/\s*([\w ]+?)\s*\)==>"
)
_FAR = LazyPattern(r"\s*(?:0x[0-9a-fA-F]+\s+)?(\d+)\s+(\d+)\[[\s\d]*\]\s*\"\s*(.*?)\s*\"")
_COULD_LANES = LazyPattern(r"Could be (\d+)X")
_COULD_SPEED = LazyPattern(r"Could be (?:([\d.]+) Gbps|(FDR10))")
_ADAPTER = LazyPattern(r"^(?!MT\d)(\S+)[ /]((?:HCA-|mlx|hfi|bnxt|i?b|roce)[\w.-]*)")
_INSIDE = LazyPattern(r"^\s+GUID 0x|\)==>")


def _read(lines: list[Line]) -> Iterator[Event]:
    name = None
    for line in lines:
        if heading := _HEADING.match(line.text):
            name = heading[1] or heading[2]
        elif near := _NEAR.match(line.text):
            yield from _link(line, name, near)


def _link(line: Line, heading: str | None, near: re.Match[str]) -> Iterator[Event]:
    name = near[2] or heading
    rest = line.text[near.end() :]
    far = _FAR.match(rest)
    lane = float(near[6]) if near[6] else None
    lanes = int(near[5]) if near[5] else None
    could_lanes, could_speed = _COULD_LANES.search(rest), _COULD_SPEED.search(rest)
    here, there = (name, near[4]), (far[3], far[2]) if far else (None, None)
    own, other = _adapter(name), _adapter(far[3] if far else None)
    host, device = own or other or (None, None)
    adapter, switch = (here, there) if own else (there, here)
    fields: dict[str, Value] = {
        "host": host,
        "nic": device,
        "device": device,
        "port": _number(adapter[1]) if host else None,
        "near": _end(*here),
        "far": _end(*there),
        "state": state_of(near[7]),
        "phys_state": physical_of(near[8]),
        "lanes": lanes,
        "lane_gbps": lane,
        "rate_gbps": lane * lanes if lane and lanes else None,
        "could_lanes": int(could_lanes[1]) if could_lanes else None,
        "could_lane_gbps": float(could_speed[1] or LANE_GBPS["FDR10"]) if could_speed else None,
        "switch": switch[0] if host else None,
        "switch_port": _number(switch[1]) if host else None,
    }
    yield make_event("ib.link", Nature.MEASUREMENT, line, fields)
    if own:
        yield _port(line, fields, int(near[3]))


def _port(line: Line, link: dict[str, Value], lid: int) -> Event:
    """Return the port at the near end, its rate by the name that other tools give it."""
    lane, lanes = link["lane_gbps"], link["lanes"]
    nominal = [
        (speed, gbps)
        for speed, gbps in LANE_GBPS.items()
        if isinstance(lane, float) and gbps <= lane < 1.1 * gbps
    ]
    speed, gbps = nominal[0] if nominal else (None, None)
    return port_event(
        line,
        "iblinkinfo",
        {
            **link,
            "speed": speed,
            "rate_gbps": gbps * lanes if gbps and isinstance(lanes, int) else None,
            "link_layer": "InfiniBand",
            "lid": lid,
        },
        line.number,
    )


def _adapter(name: str | None) -> tuple[str, str] | None:
    """Return host and device of an adapter's description."""
    found = _ADAPTER.match(name or "")
    return (short_host(found[1]), found[2]) if found else None


def _end(name: str | None, port: str | None) -> str | None:
    return f"{name} port {port}" if name else None


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _starts(line: Line) -> bool:
    return _HEADING.match(line.text) is not None or _NEAR.match(line.text) is not None


LINKINFO = BlockParser(
    name="iblinkinfo",
    title="iblinkinfo and ibqueryerrors: links with both their ends",
    opens=("CA: ", "Switch", "Errors for ", ")==>"),
    starts=_starts,
    ends=lambda lines, following: _INSIDE.search(following.text) is None,
    read=_read,
    emits=("ib.link", "ib.port"),
    sample=(
        "CA: node-17 mlx5_3:\n"
        '      0xa088c20300ab12f6    134    1[  ] ==( 2X        53.125 Gbps Active/  LinkUp)==>      15    9[  ] "leaf-06" (Could be 4X Could be 106.25 Gbps)\n'
        "Switch: 0xfc6a1c0300700c40 leaf-03:\n"
        '          12    7[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>     131    1[  ] "node-17 mlx5_0" ( )\n'
        '          12    8[  ] ==(                Down/ Polling)==>             [  ] "" ( )\n'
    ),
    maximum=300,
)

PARSERS = (LINKINFO,)
