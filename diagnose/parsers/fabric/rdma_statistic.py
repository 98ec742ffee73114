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
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, LineParser, Pattern
from diagnose.parsers.fabric.counter_table import EVENT, Counter, reading

TOOL = "rdma"
COUNTERS = r"(?:\w+ \d+\s*)+$"
PORT = LazyPattern(r"(?:^|\s)link (?P<device>[\w.-]+)/(?P<port>\d+)\s*$")
MORE = LazyPattern(rf"^\s*{COUNTERS}")
PAIR = re.compile(r"(\w+) (\d+)")

INTERFACE = LazyPattern(r"\"ifname\":\s*\"(?P<device>[^\"]+)\"")
MEMBER = re.compile(r"\"(?P<name>\w+)\":\s*(?:\"(?P<text>[^\"]*)\"|(?P<value>\d+))")
JSON_LINE = LazyPattern(r"^[\s{}\[\],]*(?:\"\w+\":\s*(?:\d+|\"[^\"]*\"|\[\s*\])[\s{}\[\],]*)*$")


def _pairs(line: Line, text: str) -> list[Counter]:
    return [(name, int(value), line) for name, value in PAIR.findall(text)]


def complete(event: Event, line: Line) -> Event | None:
    """Return the counters of a port on one line, None of a line without a known one."""
    pairs, port = str(event.fields["rest"]), event.fields["port"]
    if pairs.startswith("cntn "):  # of some queue pairs, not of the port
        return None
    return next(reading(_pairs(line, pairs), event.nic, int(str(port)), TOOL), None)


def read(lines: list[Line]) -> Iterator[Event]:
    """Return the counters of a port that stand one a line."""
    head = PORT.search(lines[0].text)
    assert head is not None
    counters = [pair for line in lines[1:] for pair in _pairs(line, line.text)]
    yield from reading(counters, head["device"], int(head["port"]), TOOL)


def read_json(lines: list[Line]) -> Iterator[Event]:
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
    LineParser(
        name="rdma-statistic",
        title="rdma statistic: counters of each port on one line",
        patterns=(
            Pattern(
                event=EVENT,
                regex=r"(?:^|\s)link (?P<nic>[\w.-]+)/(?P<port>\d+) (?P<rest>\w+ \d+\b.*)$",
                nature=Nature.MEASUREMENT,
                source="iproute2 4.20 to 6.x, rdma/stat.c and res.c",
                sample="link mlx5_0/1 rx_write_requests 1883 out_of_sequence 41 packet_seq_err 39 ",
                types={"port": int},
            ),
        ),
        refine=complete,
    ),
    BlockParser(
        name="rdma-statistic-pretty",
        title="rdma statistic -p: one counter a line",
        opens=(
            "link mlx",
            "link roce",
            "link ibp",
            "link rdma",
            "link efa",
            "link bnxt",
            "link irdma",
        ),
        starts=lambda line: PORT.search(line.text) is not None,
        ends=lambda lines, following: MORE.match(following.text) is None,
        read=read,
        emits=(EVENT,),
        sample="link mlx5_0/1 \n    rx_write_requests 1883 \n    packet_seq_err 39 \n",
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
