"""Which network interface belongs to which RDMA device: ``ibdev2netdev``, also with ``-v``.

::

    mlx5_0 port 1 ==> ibp26s0 (Up)
    mlx5_3 port 1 ==> ibp94s0 (Down)
    0000:1a:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEA) ConnectX-7 HCA fw 28.41.1000 port 1 (ACTIVE) ==> ibp26s0 (Up)

Each line is one ``ib.netdev`` with ``device``, ``port``, ``netdev`` and ``carrier`` (Up, Down, NA); with ``-v``
also ``pci``, ``model``, ``firmware`` and ``state``. The last word is the carrier of the interface and not the
state of the port: an InfiniBand port may be ACTIVE while its IP interface is Down.

*Empty*: no RDMA device, or no interface in this network namespace. *Cut off*: a line without its end is none.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import Convert, LineParser, Pattern
from diagnose.parsers.convert import pci

_FIRMWARE = LazyPattern(r"^(?P<model>.*?)\s*\bfw (?P<firmware>[\d.]+)\s*$")
_TYPES: dict[str, Convert] = {"port": int, "pci": pci}
_END = r"(?:==>|<===>) (?P<netdev>\S+) \((?P<carrier>Up|Down|NA)\)"


def _refine(event: Event, line: Line) -> Event:
    event.fields["device"] = event.nic
    found = _FIRMWARE.match(str(event.fields.get("model") or ""))
    if found is not None:
        event.fields.update(found.groupdict())
    return event


_ARROWS = (" ==> ", " <===> ")
"""Rarer in logs than the word for a port."""

PARSERS = (
    LineParser(
        name="ibdev2netdev",
        title="ibdev2netdev: network interfaces of RDMA devices",
        patterns=(
            Pattern(
                event="ib.netdev",
                regex=r"^\s*(?P<nic>[A-Za-z][\w.-]*) port (?P<port>\d+) " + _END,
                nature=Nature.MEASUREMENT,
                source="mlnx-tools, MLNX_OFED 3 to 24 and DOCA, ibdev2netdev",
                sample="mlx5_0 port 1 ==> ibp26s0 (Up)",
                types=_TYPES,
                literals=_ARROWS,
            ),
            Pattern(
                event="ib.netdev",
                regex=r"^\s*(?:(?P<pci>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) )?(?P<nic>[A-Za-z][\w.-]*) "
                r"\((?P<board>[^)]{0,80})\) (?P<model>[^=<]{0,240}) port (?P<port>\d+) "
                r"\((?P<state>[A-Z_]+)\s*\) " + _END,
                nature=Nature.MEASUREMENT,
                source="mlnx-tools, MLNX_OFED 3 to 24 and DOCA, ibdev2netdev -v; older ones without the address",
                sample="0000:1a:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEA) ConnectX-7 HCA fw 28.41.1000 port 1 (ACTIVE) ==> ibp26s0 (Up)",
                types=_TYPES,
                literals=_ARROWS,
            ),
        ),
        refine=_refine,
    ),
)
