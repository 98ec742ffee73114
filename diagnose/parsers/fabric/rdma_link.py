"""State of ports as ``rdma link`` of iproute2 prints it, in lines or with ``-j`` as JSON.

::

    link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 131 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP
    link rocep1s0f0/1 state ACTIVE physical_state LINK_UP netdev enp1s0f0np0

    [{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"ens1"}]

Each port is one event ``ib.port`` (see ``port.py``); there is no rate. InfiniBand is a port that has a LID. Of
its address only the prefix of the subnet is there, which all ports share.

*Empty*: no device. *Cut off*: an object of JSON that does not end is left out.
"""

import json
import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern
from diagnose.parsers.fabric.port import physical_of, port_event, state_of


def _complete(event: Event, line: Line) -> Event:
    return port_event(line, "rdma", _fields(event.fields), line.number)


def _fields(found: dict[str, Value]) -> dict[str, Value]:
    return {
        **found,
        "state": state_of(str(found.get("state"))),
        "phys_state": physical_of(str(found.get("phys_state"))),
        "link_layer": "InfiniBand" if found.get("lid") is not None else "Ethernet",
    }


RDMA_LINK = LineParser(
    name="rdma-link",
    title="rdma link show: state of each port",
    patterns=(
        Pattern(
            event="ib.port",
            regex=r"^\s*(?:\d+/\d+: |\d+: )?link (?P<device>[\w.-]+)/(?P<port>\d+) (?:subnet_prefix (?P<gid>[0-9a-f:]+) lid (?P<lid>\d+) sm_lid (?P<sm_lid>\d+) lmc \d+ )?state (?P<state>[A-Z_]+) physical_state (?P<phys_state>[A-Z_]+)(?: netdev (?P<netdev>\S+))?",
            nature=Nature.MEASUREMENT,
            source="iproute2 5.x and 6.x, rdma/link.c",
            sample="link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 131 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP ",
            types={"port": int, "lid": int, "sm_lid": int},
        ),
    ),
    refine=_complete,
)

_NAME = LazyPattern(r'^[\s\[{,]*(?:"ifindex": ?\d+, ?)?"ifname": ?"')
_OBJECT = re.compile(r"\{[^{}]*\}")
_NAMES = {
    "ifname": "device", "port": "port", "subnet_prefix": "gid", "lid": "lid", "sm_lid": "sm_lid",
    "state": "state", "physical_state": "phys_state", "netdev": "netdev",
}  # fmt: skip


def _read_json(lines: list[Line]) -> Iterator[Event]:
    text, numbers = "", []
    for line in lines:
        numbers.append((len(text), line))
        text += line.text + "\n"
    # of a printed list the line with the first name opens the record, behind its brace
    missing = "{" if 0 <= text.find("}") < text.find("{") or "{" not in text else ""
    for found in _OBJECT.finditer(missing + text):
        try:
            record = json.loads(found[0])
        except ValueError:
            continue
        if "physical_state" not in record:
            continue
        at = max(found.start() - len(missing), 0)
        first = [line for start, line in numbers if start <= at][-1]
        known = {_NAMES[key]: value for key, value in record.items() if key in _NAMES}
        yield port_event(first, "rdma", _fields(known), first.number)


RDMA_JSON = BlockParser(
    name="rdma-link-json",
    title="rdma -j link: state of each port as JSON",
    opens=('"ifname"',),
    starts=lambda line: _NAME.match(line.text) is not None,
    ends=lambda lines, following: lines[-1].text.rstrip().endswith("]"),
    read=_read_json,
    emits=("ib.port",),
    sample='[{"ifindex":0,"ifname":"mlx5_0","port":1,"subnet_prefix":"fe80:0000:0000:0000","lid":131,"sm_lid":1,"lmc":0,"state":"ACTIVE","physical_state":"LINK_UP"}]',
    maximum=400,
)

PARSERS = (RDMA_LINK, RDMA_JSON)
