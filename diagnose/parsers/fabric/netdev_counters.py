r"""Packets, errors and drops of network devices as ``ip -s link`` prints them.

Sample::

    5: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
        link/ether a0:88:c2:ab:12:c0 brd ff:ff:ff:ff:ff:ff
        RX:     bytes    packets errors dropped  missed   mcast
         918273645001  712345678      0     412       0   81234
        RX errors:  length    crc   frame    fifo overrun
                         0      7       0       0       0
        TX:     bytes    packets errors dropped carrier collsns
         882736450192  698123412      0       0       0       0
        TX errors: aborted   fifo  window heartbt transns
                         0      0       0       0       3

Headings name their columns, so releases that print ``overrun`` for ``missed``, with or without the second pair
of rows (``-s -s``), read alike. ``transns`` counts changes of the carrier. RDMA traffic is in none of them.

Empty: a device without statistics. Cut off: a heading without its row gives nothing.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line
from diagnose.parsers.base import BlockParser, Record
from diagnose.parsers.fabric.counter_table import EVENT, Counter, reading

DEVICE = LazyPattern(r"^\s*\d+: (?P<device>[^\s:@]+)(?:@[^\s:]+)?: <[A-Z_,0-9-]*>")
HEAD = LazyPattern(r"^\s*(?P<side>RX|TX)(?P<errors> errors)?:\s+(?P<columns>[a-z].*?)\s*$")
NUMBERS = LazyPattern(r"^\s*\d+(?:\s+\d+)+\s*$")
INSIDE = LazyPattern(r"^\s+\S|^(?:link/|inet|altname |alias |valid_lft |RX|TX|[\d\s]+$)")
"""Lines of a device, also where their indentation was lost."""

COLUMNS = {
    "RX": {"packets": "rx_packets", "missed": "rx_missed_errors", "overrun": "rx_over_errors", "crc": "rx_crc_errors",
           "frame": "rx_frame_errors", "fifo": "rx_fifo_errors"},
    "TX": {"carrier": "tx_carrier_errors", "transns": "carrier_changes"},
}  # fmt: skip
"""Names of the kernel for the columns that mean trouble."""


def _ends(lines: list[Line], following: Line) -> bool:
    return DEVICE.match(following.text) is not None or INSIDE.match(following.text) is None


def read(lines: list[Line]) -> Iterator[Record]:
    """Return the error counters of a device."""
    device = DEVICE.match(lines[0].text)
    counters: dict[str, Counter] = {}
    for heading, row in zip(lines, lines[1:], strict=False):
        head = HEAD.match(heading.text)
        if head is None or NUMBERS.match(row.text) is None:
            continue
        known = COLUMNS[head["side"]]
        for column, value in zip(head["columns"].split(), row.text.split(), strict=False):
            if name := known.get(column):
                counters[name] = (name, int(value), row)
    yield from reading([*counters.values()], device["device"] if device else None, None, "ip")


PARSERS = (
    BlockParser(
        name="ip-statistics",
        title="ip -s link: errors and drops of network devices",
        opens=("> mtu ",),
        starts=lambda line: DEVICE.match(line.text) is not None,
        ends=_ends,
        read=read,
        emits=(EVENT,),
        sample=(
            "5: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT\n"
            "    link/ether a0:88:c2:ab:12:c0 brd ff:ff:ff:ff:ff:ff\n"
            "    RX:     bytes    packets errors dropped  missed   mcast\n"
            "     918273645001  712345678      0     412       0   81234\n"
        ),
        maximum=60,
    ),
)
