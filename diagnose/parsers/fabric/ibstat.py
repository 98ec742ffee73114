"""Adapters with their ports as ``ibstat`` prints them.

::

    CA 'mlx5_0'
            CA type: MT4129
            Number of ports: 1
            Firmware version: 28.41.1000
            Port 1:
                    State: Active
                    Physical state: LinkUp
                    Rate: 400
                    Base lid: 131
                    SM lid: 1
                    Link layer: InfiniBand

Each port is one event ``ib.port`` (see ``port.py``). ``ibstat mlx5_0 1`` prints ``CA: 'mlx5_0'`` and the port
without indents; an adapter for iWARP or of an unknown kind has another word in place of ``CA``. The rate has
no unit: it is Gb/s, 2.5 is one lane of the slowest speed, ``(FDR10)`` may stand behind it. 10 is what old
kernels have for any speed that they do not know, so that alone is no rate.

*Empty*: nothing is printed without an adapter. *Cut off*: a port without its state is noted;
its event says that it is listed, and no more.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Value
from diagnose.parsers.base import BlockParser, Note
from diagnose.parsers.fabric.port import physical_of, port_event, state_of, whole_number

_ADAPTER = LazyPattern(r"^\s*(?:CA|Switch|Router|iWARP RNIC|\?\?\?):? '([^']+)'\s*$")
_KEY = LazyPattern(r"^\s*([A-Z][\w ]*?):\s*(.*?)\s*$")
_KNOWN = LazyPattern(
    r"^\s*(?:[A-Za-z?][\w? ]* type|Number of ports|(?:Firmware|Hardware) version|(?:Node|System image|Port) GUID|Port \d+"
    r"|State|Physical state|Rate|Effective speed|(?:Base|SM) lid|LMC|Capability mask|Link layer):"
)
"""Keys that go on behind a blank line, which no version prints and a paste may have."""

_PORT = LazyPattern(r"^Port (\d+)$")
_RATE = LazyPattern(r"([\d.]+)(?: \((FDR10)\))?")

_UNKNOWN_SPEED = 10.0
"""Gb/s that a kernel reports of a speed newer than itself, and of the slowest one."""


def _ends(lines: list[Line], following: Line) -> bool:
    if not following.text.strip():
        return False
    key = _KEY if lines[-1].text.strip() else _KNOWN
    return key.match(following.text) is None


def _read(lines: list[Line]) -> Iterator[Event]:
    name = _ADAPTER.match(lines[0].text)
    assert name is not None
    adapter: dict[str, str] = {}
    ports: list[tuple[Line, dict[str, str]]] = []
    ends: list[int] = []
    for line in lines[1:]:
        key = _KEY.match(line.text)
        if key is None:
            continue
        if port := _PORT.match(key[1]):
            ports.append((line, {"port": port[1]}))
            ends.append(line.number)
        elif ports:
            ports[-1][1][key[1]] = key[2]
            ends[-1] = line.number
        else:
            adapter[key[1]] = key[2]
    for (first, found), end in zip(ports, ends, strict=True):
        if "State" not in found:
            named: dict[str, Value] = {"device": name[1], "port": int(found["port"])}
            yield port_event(first, "ibstat", named, end)
            raise Note(f"the state of {name[1]} port {found['port']} is cut off")
        yield port_event(first, "ibstat", _fields(name[1], adapter, found), end)


def _fields(device: str, adapter: dict[str, str], found: dict[str, str]) -> dict[str, Value]:
    rate = _RATE.match(found.get("Rate", ""))
    gbps = float(rate[1]) if rate and float(rate[1]) != _UNKNOWN_SPEED else None
    types = [text for key, text in adapter.items() if re.search(r" type$", key)]
    return {
        "device": device,
        "port": int(found["port"]),
        "state": state_of(found["State"]),
        "phys_state": physical_of(found.get("Physical state")),
        "rate_gbps": gbps,
        "lanes": 1 if gbps == 2.5 else None,
        "speed": rate[2] if rate else None,
        "link_layer": found.get("Link layer"),
        "lid": whole_number(found.get("Base lid")),
        "sm_lid": whole_number(found.get("SM lid")),
        "board": types[0] or None if types else None,
        "firmware": adapter.get("Firmware version") or None,
    }


IBSTAT = BlockParser(
    name="ibstat",
    title="ibstat: adapters with their ports",
    opens=("CA '", "CA: '", "RNIC '", "RNIC: '", "??? '", "???: '"),
    starts=lambda line: _ADAPTER.match(line.text) is not None,
    ends=_ends,
    read=_read,
    emits=("ib.port",),
    sample=(
        "CA 'mlx5_0'\n"
        "\tCA type: MT4129\n"
        "\tNumber of ports: 1\n"
        "\tFirmware version: 28.41.1000\n"
        "\tPort 1:\n"
        "\t\tState: Active\n"
        "\t\tPhysical state: LinkUp\n"
        "\t\tRate: 400\n"
        "\t\tBase lid: 131\n"
        "\t\tSM lid: 1\n"
        "\t\tLink layer: InfiniBand\n"
    ),
    maximum=120,
)

PARSERS = (IBSTAT,)
