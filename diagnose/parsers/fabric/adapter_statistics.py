r"""Counters of network adapters: ``ethtool -S`` of any driver, and ``show_counters`` of mlnx-tools.

Samples::

    $ ethtool -S ens1f0np0
    NIC statistics:
         rx_discards_phy: 212
         rx_prio3_pause: 12

    Port 1 hw counters:
    local_ack_timeout_err: 4

The device stands in the command alone; without it the file names it, or nobody. Output that ``grep`` has thinned
out keeps no heading and is read behind the command. Drivers spell their counters differently (mlx5
``rx_prio3_pause``, bnxt ``rx_pfc_ena_frames_pri3``, ice ``rx_priority_3_xoff.nic``); the table knows them by meaning.

Empty: ``no stats available``. Cut off: counters behind the cut are missing.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line
from diagnose.parsers.base import BlockParser, Record
from diagnose.parsers.fabric.counter_table import EVENT, Counter, reading

COMMAND = LazyPattern(
    r"\bethtool (?:-S|--statistics) (?P<device>[\w.@-]+)|\bshow_counters (?P<shown>[\w.-]+)"
)
HEAD = LazyPattern(r"^\s*(?:NIC statistics|Port (?P<port>\d+) (?:hw |data )?counters):\s*$")
ROW = LazyPattern(r"^\s*(?:\[\d+\]:\s*)?(?P<name>[A-Za-z][\w.\[\]-]*):\s*(?P<value>\d+)\s*$")


def _starts(line: Line) -> bool:
    return COMMAND.search(line.text) is not None or HEAD.match(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    if ROW.match(following.text):
        return False
    return len(lines) > 1 or COMMAND.search(lines[0].text) is None or not HEAD.match(following.text)


def read(lines: list[Line]) -> Iterator[Record]:
    """Return the counters of an adapter."""
    command = COMMAND.search(lines[0].text)
    device = (command["device"] or command["shown"]) if command else None
    heads = [head for line in lines[:2] if (head := HEAD.match(line.text))]
    port = heads[0]["port"] if heads else None
    counters: list[Counter] = [
        (row["name"], int(row["value"]), line) for line in lines if (row := ROW.match(line.text))
    ]
    tool = "show_counters" if port else "ethtool"
    yield from reading(counters, device, int(port) if port else None, tool)


PARSERS = (
    BlockParser(
        name="ethtool-statistics",
        title="ethtool -S and show_counters: counters of a network adapter",
        opens=("ethtool -S ", "ethtool --statistics ", "show_counters ", "NIC statistics:",
               " hw counters:", " data counters:"),
        starts=_starts,
        ends=_ends,
        read=read,
        emits=(EVENT,),
        sample="NIC statistics:\n     rx_packets: 1883\n     rx_discards_phy: 212\n",
        maximum=8_000,
    ),
)  # fmt: skip
