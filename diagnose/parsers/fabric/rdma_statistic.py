r"""Counters of RDMA ports as ``rdma statistic`` of iproute2 prints them.

Sample::

    link mlx5_0/1 rx_write_requests 1883 rx_read_requests 12 out_of_sequence 41 packet_seq_err 39

One line a port, with a blank at its end; old releases put ``1/1: `` in front, ``-p`` writes one counter
a line. With ``-j`` it is JSON, on one line or, with ``-p``, on many::

    [{"ifindex":0,"ifname":"mlx5_0","port":1,"rx_write_requests":1883,"packet_seq_err":39}]

Empty: no RDMA device, or a driver without counters. Cut off: counters behind the cut are missing.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line
from diagnose.parsers.base import BlockParser, Record
from diagnose.parsers.fabric.counter_table import EVENT, Counter, meaning_of, reading

TOOL = "rdma"
PORT = LazyPattern(r"(?:^|\s)link (?P<device>[\w.-]+)/(?P<port>\d+)(?P<rest>(?:\s+\w+ \d+)*)\s*$")
MORE = LazyPattern(r"^\s*\w+ \d+(?:\s+\w+ \d+)*\s*$")
PAIR = re.compile(r"(\w+) (\d+)")
OPENS = (
    "rx_write_requests ", "packet_seq_err ", "tx_bytes ", "active_pds ", "to_retransmits ",
    "link mlx", "link roce", "link ibp", "link rdma", "link efa", "link bnxt", "link irdma",
)  # fmt: skip
"""First counters of the drivers, and names of their devices for ``-p``."""

INTERFACE = LazyPattern(r"\"ifname\":\s*\"(?P<device>[^\"]+)\"")
MEMBER = re.compile(r"\"(?P<name>\w+)\":\s*(?:\"(?P<text>[^\"]*)\"|(?P<value>\d+))")
JSON_LINE = LazyPattern(r"^[\s{}\[\],]*(?:\"\w+\":\s*(?:\d+|\"[^\"]*\"|\[\s*\])[\s{}\[\],]*)*$")


def _starts(line: Line) -> bool:
    found = PORT.search(line.text)
    if found is None:
        return False
    pairs = PAIR.findall(found["rest"])
    return not pairs or any(meaning_of(name) for name, _ in pairs)


def read(lines: list[Line]) -> Iterator[Record]:
    """Return the counters of a port."""
    head = PORT.search(lines[0].text)
    assert head is not None
    counters: list[Counter] = [(n, int(v), lines[0]) for n, v in PAIR.findall(head["rest"])]
    for line in lines[1:]:
        counters += [(name, int(value), line) for name, value in PAIR.findall(line.text)]
    yield from reading(counters, head["device"], int(head["port"]), TOOL)


def read_json(lines: list[Line]) -> Iterator[Record]:
    """Return the counters of each port of a JSON answer."""
    device: str | None = None
    port: int | None = None
    counters: list[Counter] = []
    for line in lines:
        for member in MEMBER.finditer(line.text):
            name, text, value = member["name"], member["text"], member["value"]
            if name == "ifname":
                yield from reading(counters, device, port, TOOL)
                device, port, counters = text, None, []
            elif name == "port" and value:
                port = int(value)
            elif value:
                counters.append((name, int(value), line))
    yield from reading(counters, device, port, TOOL)


PARSERS = (
    BlockParser(
        name="rdma-statistic",
        title="rdma statistic: counters of each port",
        opens=OPENS,
        starts=_starts,
        ends=lambda lines, following: MORE.match(following.text) is None,
        read=read,
        emits=(EVENT,),
        sample="link mlx5_0/1 rx_write_requests 1883 out_of_sequence 41 packet_seq_err 39 ",
        maximum=120,
    ),
    BlockParser(
        name="rdma-statistic-json",
        title="rdma statistic -j: counters of each port as JSON",
        opens=('"ifname"',),
        starts=lambda line: INTERFACE.search(line.text) is not None,
        ends=lambda lines, following: JSON_LINE.match(following.text) is None,
        read=read_json,
        emits=(EVENT,),
        sample='[{"ifindex":0,"ifname":"mlx5_0","port":1,"packet_seq_err":39}]',
        maximum=4_000,
    ),
)
