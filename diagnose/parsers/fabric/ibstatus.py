"""State of InfiniBand and RoCE ports as ``ibstatus`` prints it.

::

    Infiniband device 'mlx5_0' port 1 status:
            default gid:     fe80:0000:0000:0000:a088:c203:00ab:12c0
            base lid:        0x83
            sm lid:          0x1
            state:           4: ACTIVE
            phys state:      5: LinkUp
            rate:            400 Gb/sec (4X NDR)
            link_layer:      InfiniBand

Each port is one event ``ib.port`` (see ``port.py``). A value that the kernel does not have is printed as
``unknown``, a link layer it does not have as ``IB``.

The rate means something on an active port alone: one that is down prints a stale or a default
value. A port that is down may be meant to be. Old kernels print ``10 Gb/sec (4X)`` without a speed
word on a healthy fast link. LIDs are hexadecimal here and decimal in other tools.

``ib.provider_missing`` is libibverbs without the user-space half of a driver that the kernel has; on a
host with adapters of several makes it is common for those nobody uses.

*Empty*: ``Fatal error:  No devices`` gives ``ib.no_devices``: no driver, or none in this container.
*Cut off*: a port without its state is noted; its event says that it is listed, and no more.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, LineParser, Note, Pattern
from diagnose.parsers.fabric.port import physical_of, port_event, rate_of, state_of, whole_number

_HEAD = LazyPattern(r"Infiniband device '([^']+)' port (\d+) status:")
_KEY = LazyPattern(
    r"\s*(default gid|base lid|sm lid|state|phys state|rate|link_layer):\s*(.*?)\s*$"
)


def _ends(lines: list[Line], following: Line) -> bool:
    return bool(following.text.strip()) and _KEY.match(following.text) is None


def _read(lines: list[Line]) -> Iterator[Event]:
    head = _HEAD.search(lines[0].text)
    assert head is not None
    found = {key[1]: key[2] for line in lines[1:] if (key := _KEY.match(line.text))}
    if "state" not in found:
        yield port_event(
            lines[0], "ibstatus", {"device": head[1], "port": int(head[2])}, lines[-1].number
        )
        raise Note(f"the state of {head[1]} port {head[2]} is cut off")
    layer, gid = found.get("link_layer"), found.get("default gid")
    fields = {
        "device": head[1],
        "port": int(head[2]),
        "state": state_of(found["state"]),
        "phys_state": physical_of(found.get("phys state")),
        **rate_of(found.get("rate")),
        "link_layer": "InfiniBand" if layer == "IB" else layer if layer != "unknown" else None,
        "gid": gid if gid != "unknown" else None,
        "lid": whole_number(found.get("base lid"), 16),
        "sm_lid": whole_number(found.get("sm lid"), 16),
    }
    last = [line for line in lines if line.text.strip()][-1]
    yield port_event(lines[0], "ibstatus", fields, last.number)


IBSTATUS = BlockParser(
    name="ibstatus",
    title="ibstatus: state, rate and addresses of each port",
    opens=("Infiniband device '",),
    starts=lambda line: _HEAD.search(line.text) is not None,
    ends=_ends,
    read=_read,
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
    maximum=24,
)

NO_DEVICES = LineParser(
    name="rdma-devices-missing",
    title="the word of ibstatus, ibv_devinfo and libibverbs that there is no device",
    patterns=(
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
)

PARSERS = (IBSTATUS, NO_DEVICES)
