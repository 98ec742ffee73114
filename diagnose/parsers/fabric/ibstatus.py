"""State of InfiniBand and RoCE ports: ibstatus, ibstat and ``rdma link``.

::

    Infiniband device 'mlx5_0' port 1 status:
            default gid:     fe80:0000:0000:0000:a088:c203:00ab:12c0
            base lid:        0x83
            sm lid:          0x1
            state:           4: ACTIVE
            phys state:      5: LinkUp
            rate:            400 Gb/sec (4X NDR)
            link_layer:      InfiniBand

Each port is one event ``ib.port`` with ``device``, ``port``, ``state`` (ACTIVE, ARMED, INIT, DOWN,
ACTIVE_DEFER), ``phys_state`` (LinkUp, Polling, Disabled, ...), ``rate_gbps``, ``lanes``, ``speed``,
``link_layer``, ``gid``, ``lid``, ``sm_lid`` and ``tool``, of ibstat also ``board`` (the type of the adapter);
what a tool does not print is None, never 0.

The rate means something on an active port alone: one that is down prints a stale or a default
value. A port that is down may be meant to be. Old kernels print ``10 Gb/sec (4X)`` without a speed
word on a healthy fast link. LIDs are hexadecimal in ibstatus and decimal in the others.

``ib.provider_missing`` is libibverbs without the user-space half of a driver that the kernel has; on a
host with adapters of several makes it is common for those nobody uses.

*Empty*: ``Fatal error:  No devices`` gives ``ib.no_devices``: no driver, or none in this container.
*Cut off*: a port without its state is noted.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Note, Pattern, make_event

_FIELDS = (
    "device", "port", "state", "phys_state", "rate_gbps", "lanes", "speed", "link_layer", "gid",
    "lid", "sm_lid", "tool",
)  # fmt: skip

_STATES = {
    "active": "ACTIVE",
    "armed": "ARMED",
    "initializing": "INIT",
    "init": "INIT",
    "down": "DOWN",
}
_PHYSICAL = {
    "LINK_UP": "LinkUp",
    "LINK_ERROR_RECOVER": "LinkErrorRecovery",
    "LINK_ERROR_RECOVERY": "LinkErrorRecovery",
    "PHY_TEST": "PhyTest",
    "Phy Test": "PhyTest",
    "PORT_CONFIGURATION TRAINNING": "PortConfigurationTraining",
}

_HEAD = LazyPattern(r"Infiniband device '([^']+)' port (\d+) status:")
_KEY = LazyPattern(
    r"\s*(default gid|base lid|sm lid|state|phys state|rate|link_layer):\s*(.*?)\s*$"
)
_RATE = LazyPattern(r"([\d.]+) Gb/sec(?: \((\d+)X(?: ([A-Z0-9]+))?\))?")


def _words(state: str) -> str:
    name = state.split(": ", 1)[-1].strip()
    return _STATES.get(name.lower(), name)


def _physical(state: str) -> str:
    name = state.split(": ", 1)[-1].strip()
    return _PHYSICAL.get(name, name if not name.isupper() else name.capitalize())


def _port(line: Line, fields: dict[str, Value], end: int) -> Event:
    whole = {name: fields.get(name) for name in _FIELDS}
    if "board" in fields:
        whole["board"] = fields["board"]
    whole["nic"] = fields["device"]
    return make_event("ib.port", Nature.MEASUREMENT, line, whole, end_line=end)


def _status_ends(lines: list[Line], following: Line) -> bool:
    return _KEY.match(following.text) is None


def _read_status(lines: list[Line]) -> Iterator[Event]:
    head = _HEAD.search(lines[0].text)
    assert head is not None
    found = {key[1]: key[2] for line in lines[1:] if (key := _KEY.match(line.text))}
    if "state" not in found:
        raise Note(f"the state of {head[1]} port {head[2]} is cut off")
    rate = _RATE.match(found.get("rate", ""))
    fields: dict[str, Value] = {
        "device": head[1],
        "port": int(head[2]),
        "state": _words(found["state"]),
        "phys_state": _physical(found["phys state"]) if "phys state" in found else None,
        "rate_gbps": float(rate[1]) if rate else None,
        "lanes": int(rate[2]) if rate and rate[2] else None,
        "speed": rate[3] if rate else None,
        "link_layer": found.get("link_layer"),
        "gid": found.get("default gid"),
        "lid": _lid(found.get("base lid"), 16),
        "sm_lid": _lid(found.get("sm lid"), 16),
        "tool": "ibstatus",
    }
    yield _port(lines[0], fields, lines[-1].number)


def _lid(text: str | None, base: int) -> int | None:
    try:
        return int(text or "", base)
    except ValueError:
        return None


IBSTATUS = BlockParser(
    name="ibstatus",
    title="ibstatus: state, rate and addresses of each port",
    opens=("Infiniband device '",),
    starts=lambda line: _HEAD.search(line.text) is not None,
    ends=_status_ends,
    read=_read_status,
    emits=("ib.port",),
    sample=(
        "Infiniband device 'mlx5_0' port 1 status:\n"
        "\tdefault gid:\t fe80:0000:0000:0000:a088:c203:00ab:12c0\n"
        "\tbase lid:\t 0x83\n"
        "\tsm lid:\t\t 0x1\n"
        "\tstate:\t\t 4: ACTIVE\n"
        "\tphys state:\t 5: LinkUp\n"
        "\trate:\t\t 400 Gb/sec (4X NDR)\n"
        "\tlink_layer:\t InfiniBand\n"
    ),
    maximum=12,
)

_ADAPTER = LazyPattern(r"^(?:CA|\?\?\?) '([^']+)'$")
_ADAPTER_KEY = LazyPattern(r"^\s*([A-Z][\w ]*?):\s*(.*?)\s*$")


def _read_adapter(lines: list[Line]) -> Iterator[Event]:
    name = _ADAPTER.match(lines[0].text.rstrip())
    assert name is not None
    ports: list[tuple[Line, dict[str, str], int]] = []
    board: str | None = None
    for line in lines[1:]:
        key = _ADAPTER_KEY.match(line.text)
        if key is None:
            continue
        if key[1] == "CA type":
            board = key[2] or None
        if key[1].startswith("Port ") and not key[2]:
            ports.append((line, {"port": key[1].split()[1]}, line.number))
        elif ports:
            first, found, _ = ports[-1]
            found[key[1]] = key[2]
            ports[-1] = first, found, line.number
    for first, found, end in ports:
        if "State" not in found:
            raise Note(f"the state of {name[1]} port {found['port']} is cut off")
        rate = re.match(r"[\d.]+", found.get("Rate", ""))
        fields: dict[str, Value] = {
            "device": name[1],
            "port": int(found["port"]),
            "state": _words(found["State"]),
            "phys_state": found.get("Physical state"),
            "rate_gbps": float(rate[0]) if rate else None,
            "link_layer": found.get("Link layer"),
            "lid": _lid(found.get("Base lid"), 10),
            "sm_lid": _lid(found.get("SM lid"), 10),
            "tool": "ibstat",
            "board": board,
        }
        yield _port(first, fields, end)


IBSTAT = BlockParser(
    name="ibstat",
    title="ibstat: adapters with their ports",
    opens=("CA '",),
    starts=lambda line: _ADAPTER.match(line.text.rstrip()) is not None,
    ends=lambda lines, following: _ADAPTER_KEY.match(following.text) is None,
    read=_read_adapter,
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
    maximum=60,
)


def _complete(event: Event, line: Line) -> Event:
    if event.name != "ib.port":
        return event
    found = event.fields
    whole: dict[str, Value] = {name: found.get(name) for name in _FIELDS}
    whole["netdev"] = found.get("netdev")
    whole["link_layer"] = "InfiniBand" if "lid" in found else "Ethernet"
    event.fields = whole
    event.nic = str(found["device"])
    return event


RDMA_LINK = LineParser(
    name="rdma-link",
    title="rdma link show: state of each port; and the tools' word that there is no device",
    patterns=(
        Pattern(
            event="ib.port",
            regex=r"^(?:\d+/\d+: |\d+: )?link (?P<device>[\w.-]+)/(?P<port>\d+) (?:subnet_prefix (?P<gid>[0-9a-f:]+) lid (?P<lid>\d+) sm_lid (?P<sm_lid>\d+) lmc \d+ )?state (?P<state>[A-Z_]+) physical_state (?P<phys_state>[A-Z_]+)(?: netdev (?P<netdev>\S+))?",
            nature=Nature.MEASUREMENT,
            source="iproute2 5.x and 6.x, rdma/link.c",
            sample="link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 131 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP ",
            types={"port": int, "lid": int, "sm_lid": int, "phys_state": _physical},
            constants={"tool": "rdma"},
        ),
        Pattern(
            event="ib.no_devices",
            regex=r"Fatal error: {1,2}(?P<message>No devices|device '[^']*': sys files not found)",
            nature=Nature.MEASUREMENT,
            source="rdma-core, infiniband-diags/scripts/ibstatus",
            sample="Fatal error:  No devices",
        ),
        Pattern(
            event="ib.no_devices",
            regex=r"^(?P<message>0 HCAs found|No IB devices found)",
            nature=Nature.MEASUREMENT,
            source="rdma-core, libibverbs/examples/devinfo.c and device_list.c",
            sample="0 HCAs found:",
        ),
        Pattern(
            event="ib.provider_missing",
            regex=r"libibverbs: Warning: no userspace device-specific driver found for (?P<device>\S+)",
            nature=Nature.ERROR,
            source="libibverbs 1.1 to rdma-core 5x, libibverbs/init.c; the device by its path in old ones",
            sample="libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs0",
        ),
        Pattern(
            event="ib.provider_missing",
            regex=r"libibverbs: Warning: couldn't (?:load driver '(?P<device>[^']+)'|open config directory)",
            nature=Nature.ERROR,
            source="libibverbs 1.1 to rdma-core 5x, libibverbs/dynamic_driver.c",
            sample="libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': libmlx5-rdmav34.so: cannot open shared object file: No such file or directory",
        ),
    ),
    refine=_complete,
)

PARSERS = (IBSTATUS, IBSTAT, RDMA_LINK)
