r"""Which switch port an interface is cabled to: ``lldpctl`` and ``lldpcli show neighbors``.

::

    Interface:    ens1f0np0, via: LLDP, RID: 3, Time: 12 days, 02:13:44
      Chassis:
        ChassisID:    mac 44:aa:50:01:02:03
        SysName:      leaf-03
      Port:
        PortID:       ifname swp7

The same in the form of ``-f keyvalue`` (``lldp.ens1f0np0.chassis.name=leaf-03``) and of ``-f json``. Each is one
``net.neighbour`` with ``interface``, ``switch`` (its name, else its id), ``switch_port`` and ``seconds``, for how long the
neighbour has been seen: a short time means that the link came up lately.

*Empty*: the daemon does not run, or the switch does not announce itself. *Cut off*: a neighbour without
the name of its switch is left out.
"""

import json
from collections.abc import Iterator
from typing import Any

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, Document, FileParser, Note, make_event
from diagnose.parsers.gate import Gate

_HEAD = LazyPattern(
    r"^\s*Interface:\s+(?P<interface>[^\s,]+), via: LLDP\b(?:.*Time: (?P<time>.+))?"
)
_LINE = LazyPattern(r"^\s*(?P<key>SysName|ChassisID|PortID|PortDescr):\s+(?P<value>.*?)\s*$")
_DETAIL = LazyPattern(r"\s|[A-Z]\w+:")
_TIME = LazyPattern(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d)")
_PAIR = LazyPattern(r"^\s*lldp\.(?P<interface>[^=]+?)\.(?P<key>chassis|port|age|via|rid|vlan|ppvid|pi|ttl)"
                    r"(?:\.(?P<rest>[\w.-]+))?=(?P<value>.*?)\s*$")  # fmt: skip
_KINDS = ("ifname ", "mac ", "local ", "ip ")
"""What lldpd writes before an id, to say what kind it is."""


def _ends(lines: list[Line], following: Line) -> bool:
    return _HEAD.match(following.text) is not None or _DETAIL.match(following.text) is None


def _read(lines: list[Line]) -> Iterator[Event]:
    head = _HEAD.match(lines[0].text)
    assert head is not None
    found = {row["key"]: row["value"] for line in lines[1:] if (row := _LINE.match(line.text))}
    switch = found.get("SysName") or _bare(found.get("ChassisID"))
    port = _bare(found.get("PortID")) or found.get("PortDescr")
    yield from _neighbour(lines[0], head["interface"], switch, port, head["time"])


def _read_pairs(lines: list[Line]) -> Iterator[Event]:
    rows: dict[str, dict[str, str]] = {}
    first: dict[str, Line] = {}
    for line in lines:
        if row := _PAIR.match(line.text):
            key = ".".join(filter(None, (row["key"], row["rest"])))
            rows.setdefault(row["interface"], {})[key] = row["value"]
            first.setdefault(row["interface"], line)
    for interface, found in rows.items():
        switch = found.get("chassis.name") or found.get("chassis.mac")
        port = found.get("port.ifname") or found.get("port.local") or found.get("port.descr")
        yield from _neighbour(first[interface], interface, switch, port, found.get("age"))


def _neighbour(
    line: Line, interface: str, switch: str | None, port: str | None, time: str | None
) -> Iterator[Event]:
    if switch:
        yield make_event("net.neighbour", Nature.MEASUREMENT, line, {
            "interface": interface, "nic": interface, "switch": switch, "switch_port": port,
            "seconds": _seconds(time),
        })  # fmt: skip


def _bare(identity: str | None) -> str | None:
    for kind in _KINDS:
        identity = identity.removeprefix(kind) if identity else None
    return identity


def _seconds(text: str | None) -> int | None:
    found = _TIME.search(text or "")
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _read_json(document: Document) -> Iterator[Event]:
    try:
        stated = json.loads(document.text())
    except ValueError as error:
        raise Note("neighbours in JSON that are cut off") from error
    lines = list(document.lines())
    lldp = stated.get("lldp") if isinstance(stated, dict) else None
    for interface, found in _named(lldp.get("interface") if isinstance(lldp, dict) else None):
        switch = next((name for name, _ in _named(found.get("chassis"))), None)
        port = found.get("port")
        identity = port.get("id") if isinstance(port, dict) else None
        value = identity.get("value") if isinstance(identity, dict) else None
        line = next((one for one in lines if f'"{interface}"' in one.text), lines[0])
        yield from _neighbour(line, interface, switch, value, str(found.get("age")))


def _named(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and content; several of a kind are a list of maps, one is a map."""
    for one in part if isinstance(part, list) else [part]:
        for name, content in one.items() if isinstance(one, dict) else ():
            if isinstance(content, dict):
                yield name, content


def _accepts(name: str, head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"lldp"' in head[:200]


PARSERS = (
    BlockParser(
        name="lldpctl",
        title="lldpctl: the switch port at the other end of an interface",
        opens=("via: LLDP",),
        starts=lambda line: _HEAD.match(line.text) is not None,
        ends=_ends,
        read=_read,
        emits=("net.neighbour",),
        sample=(
            "Interface:    ens1f0np0, via: LLDP, RID: 3, Time: 12 days, 02:13:44\n"
            "  Chassis:\n    ChassisID:    mac 44:aa:50:01:02:03\n    SysName:      leaf-03\n"
            "  Port:\n    PortID:       ifname swp7\n"
        ),
        maximum=80,
    ),
    BlockParser(
        name="lldpctl-keyvalue",
        title="lldpctl -f keyvalue",
        opens=("lldp.",),
        starts=lambda line: _PAIR.match(line.text) is not None,
        ends=lambda lines, following: not following.text.lstrip().startswith("lldp."),
        read=_read_pairs,
        emits=("net.neighbour",),
        sample="lldp.ens1f0np0.via=LLDP\nlldp.ens1f0np0.age=0 day, 01:02:03\nlldp.ens1f0np0.chassis.name=leaf-03\nlldp.ens1f0np0.port.ifname=swp7\n",
        maximum=4_000,
    ),
    FileParser(
        name="lldpctl-json",
        title="lldpctl -f json",
        accepts=_accepts,
        gate=Gate(starts=(b"{",), holds=(b'"lldp"',)),
        read=_read_json,
        emits=("net.neighbour",),
        sample='{"lldp": {"interface": {"ens1f0np0": {"age": "1 day, 01:02:03", "chassis": {"leaf-03": {}}, "port": {"id": {"type": "ifname", "value": "swp7"}}}}}}\n',
    ),
)
