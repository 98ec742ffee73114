"""Names of the RDMA adapters of a host as ``ibv_devices`` lists them.

::

        device                 node GUID
        ------              ----------------
        mlx5_0              a088c20300ab12c0

Each row is one ``ib.device`` with ``device`` and ``guid``.

*Empty*: the two lines of the heading without a row: no adapter, or none in this container.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, make_event

_HEADING = LazyPattern(r"^\s*device\s+node GUID\s*$")
_RULE = LazyPattern(r"^\s*-+\s+-+\s*$")
_ROW = LazyPattern(r"^\s*([A-Za-z][\w.-]*)\s+([0-9a-f]{16})\s*$")


def _read(lines: list[Line]) -> Iterator[Event]:
    for line in lines:
        if row := _ROW.match(line.text):
            fields = {"device": row[1], "nic": row[1], "guid": row[2]}
            yield make_event("ib.device", Nature.MEASUREMENT, line, fields)


IBV_DEVICES = BlockParser(
    name="ibv-devices",
    title="ibv_devices: names of the adapters of a host",
    opens=("node GUID",),
    starts=lambda line: _HEADING.match(line.text) is not None,
    ends=lambda lines, following: not (_RULE.match(following.text) or _ROW.match(following.text)),
    read=_read,
    emits=("ib.device",),
    sample=(
        "    device          \t   node GUID\n"
        "    ------          \t----------------\n"
        "    mlx5_0          \ta088c20300ab12c0\n"
    ),
)

PARSERS = (IBV_DEVICES,)
