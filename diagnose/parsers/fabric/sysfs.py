"""Ports and addresses out of the kernel's own files, ``/sys/class/infiniband``.

As ``grep -r .`` prints them, with the path before each value, as ``head`` and ``tail`` do, with the path
in a heading, and as ``cat`` of one file with the command above::

    /sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE
    /sys/class/infiniband/mlx5_0/ports/1/rate:400 Gb/sec (4X NDR)
    /sys/class/infiniband/mlx5_0/ports/1/pkeys/0:0xffff
    /sys/class/infiniband/mlx5_0/fw_ver:28.41.1000

    ==> /sys/class/infiniband/mlx5_0/ports/1/state <==
    4: ACTIVE

    $ cat /sys/class/infiniband/mlx5_0/ports/1/rate
    400 Gb/sec (4X NDR)

Each port of which a state or a rate is shown is one ``ib.port`` (see ``port.py``). Each address that is
set is one ``ib.gid`` with ``device``, ``port``, ``index``, ``gid``, ``version`` and ``kind``, as of
``ibv_devinfo``, and ``netdev``; each port with partition keys one ``ib.pkeys`` with ``device``, ``port``,
``keys`` (those of the table that are set, in its order), ``first`` and whether any is a ``full`` member.

*Empty*: no adapter, or no driver. *Cut off*: what is behind the cut is missing; addresses without their
types have no version.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import gid_kind
from diagnose.parsers.fabric.port import physical_of, port_event, rate_of, state_of, whole_number

_PATH = r"/(?:\S*/)?infiniband/(?P<device>[\w.-]+)/(?:ports/(?P<port>\d+)/)?(?P<file>[a-z][\w/]*)"
_VALUE = LazyPattern(rf"^\s*{_PATH}:\s*(?P<value>.*?)\s*$")
_HEADING = LazyPattern(rf"(?:^==> {_PATH} <==|\bcat {_PATH.replace('?P<', '?P<c_')})\s*$")
_UNSET = re.compile(r"[0:]+|fe80(?::0{1,4}){3}(?::0{1,4}){4}")
_FULL = 0x8000
"""Bit of a partition key whose members may talk to all others."""

Port = tuple[str, int | None]
Values = dict[str, tuple[Line, str]]


def _starts(line: Line) -> bool:
    return _VALUE.match(line.text) is not None or _HEADING.search(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    if _HEADING.search(lines[-1].text):
        return False
    text = following.text
    return bool(text.strip()) and "/infiniband/" not in text


def _read(lines: list[Line]) -> Iterator[Event]:
    ports: dict[Port, Values] = defaultdict(dict)
    adapters: dict[str, dict[str, str]] = defaultdict(dict)
    place: tuple[str, int | None, str] | None = None
    for line in lines:
        if found := _VALUE.match(line.text):
            place, value = _place(found.groupdict()), found["value"]
        elif found := _HEADING.search(line.text):
            named = found.groupdict()
            place = _place(
                {key: named[key] or named[f"c_{key}"] for key in ("device", "port", "file")}
            )
            continue
        elif place is not None and line.text.strip():
            value = line.text.strip()
        else:
            continue
        device, port, file = place
        if port is None:
            adapters[device][file] = value
        else:
            ports[device, port][file] = line, value
        place = None
    for (device, port), values in ports.items():
        yield from _port(device, port, values, adapters[device])
        yield from _gids(device, port, values)
        yield from _keys(device, port, values)


def _place(named: dict[str, str | None]) -> tuple[str, int | None, str]:
    port = named["port"]
    return str(named["device"]), int(port) if port else None, str(named["file"])


def _port(
    device: str, port: int | None, values: Values, adapter: dict[str, str]
) -> Iterator[Event]:
    texts = {file: value for file, (_, value) in values.items()}
    if "state" not in texts and "rate" not in texts:
        return
    shown = [line for file, (line, _) in values.items() if "/" not in file]
    gid = texts.get("gids/0")
    fields: dict[str, Value] = {
        "device": device,
        "port": port,
        "state": state_of(texts.get("state")),
        "phys_state": physical_of(texts.get("phys_state")),
        **rate_of(texts.get("rate")),
        "link_layer": texts.get("link_layer"),
        "gid": gid if gid and not _UNSET.fullmatch(gid) else None,
        "lid": whole_number(texts.get("lid"), 16),
        "sm_lid": whole_number(texts.get("sm_lid"), 16),
        "board": adapter.get("board_id") or adapter.get("hca_type"),
        "firmware": adapter.get("fw_ver"),
    }
    first = values.get("state", values.get("rate"))
    assert first is not None
    yield port_event(first[0], "sysfs", fields, max(first[0].number, shown[-1].number))


def _gids(device: str, port: int | None, values: Values) -> Iterator[Event]:
    for file, (line, gid) in values.items():
        folder, _, index = file.partition("/")
        if folder != "gids" or not index.isdigit() or _UNSET.fullmatch(gid):
            continue
        version = re.search(r"v\d", values.get(f"gid_attrs/types/{index}", (line, ""))[1])
        netdev = values.get(f"gid_attrs/ndevs/{index}")
        fields: dict[str, Value] = {
            "device": device, "nic": device, "port": port, "index": int(index), "gid": gid,
            "version": version[0] if version else None, "kind": gid_kind(gid),
            "netdev": netdev[1] if netdev else None,
        }  # fmt: skip
        yield make_event("ib.gid", Nature.MEASUREMENT, line, fields)


def _keys(device: str, port: int | None, values: Values) -> Iterator[Event]:
    table = {
        int(file.partition("/")[2]): (line, number)
        for file, (line, text) in values.items()
        if re.fullmatch(r"pkeys/\d+", file) and (number := whole_number(text, 16)) is not None
    }
    if not table:
        return
    keys: list[Value] = [f"0x{key:04x}" for _, (_, key) in sorted(table.items()) if key]
    line, first = table[min(table)]
    fields: dict[str, Value] = {
        "device": device, "nic": device, "port": port, "keys": keys,
        "first": f"0x{first:04x}" if 0 in table else None,
        "full": any(key & _FULL for _, key in table.values()),
    }  # fmt: skip
    yield make_event("ib.pkeys", Nature.MEASUREMENT, line, fields)


SYSFS = BlockParser(
    name="sysfs-infiniband",
    title="/sys/class/infiniband: state, rate, addresses and partition keys of ports",
    opens=("/infiniband/",),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("ib.port", "ib.gid", "ib.pkeys"),
    sample=(
        "/sys/class/infiniband/mlx5_0/fw_ver:28.41.1000\n"
        "/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE\n"
        "/sys/class/infiniband/mlx5_0/ports/1/phys_state:5: LinkUp\n"
        "/sys/class/infiniband/mlx5_0/ports/1/rate:400 Gb/sec (4X NDR)\n"
        "/sys/class/infiniband/mlx5_0/ports/1/link_layer:InfiniBand\n"
        "/sys/class/infiniband/mlx5_0/ports/1/pkeys/0:0xffff\n"
        "/sys/class/infiniband/mlx5_0/ports/1/gids/0:fe80:0000:0000:0000:a088:c203:00ab:12c0\n"
    ),
    maximum=20_000,
)

PARSERS = (SYSFS,)
