r"""Counters as files of the kernel: ``counters/`` and ``hw_counters/`` of RDMA ports, netdev statistics.

Samples, as ``grep -r .``, a loop of ``cat``, and ``tail -n +1`` print them::

    /sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:25
    mlx5_0/ports/1/hw_counters/packet_seq_err 39

    /sys/class/infiniband/mlx5_0/ports/1/counters/link_downed
    2

    ==> /sys/class/net/ens1f0np0/statistics/rx_crc_errors <==
    0

Files of one port that follow one another are one reading; the same counter again begins the next.
A copied tree of such files is read by the names of the files.

Empty: the kernel has no such port. ``N/A (no PMA)`` is a counter that the port does not have.
Cut off: counters behind the cut are missing.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line
from diagnose.parsers.base import BlockParser, Document, FileParser, Record
from diagnose.parsers.fabric.counter_table import EVENT, Counter, number, reading
from diagnose.parsers.gate import Gate

TOOL = "sysfs"
PATH = (
    r"(?:(?:(?P<device>[\w.-]+)/(?:ports/(?P<port>\d+)/)?)?(?:hw_)?counters/(?P<name>\w+)"
    r"|/net/(?P<netdev>[\w.-]+)/(?:statistics/(?P<statistic>\w+)|(?P<carrier>carrier_changes)))"
)
VALUE = r"(?P<value>\d+|0x[0-9a-f]+|N/A.*)"
ROW = LazyPattern(rf"{PATH}(?: <==|\s*[:=]?\s*{VALUE})?\s*$")
BARE = LazyPattern(r"^\s*(\d+|N/A.*)\s*$")
FILE = LazyPattern(rf"{PATH}$")

MAXIMUM = 250
"""Lines of one reading at most."""

Port = tuple[str | None, str | None]


class Row(NamedTuple):
    """A line that names the file of a counter, with what it holds where that stands beside it."""

    port: Port
    name: str
    value: str | None


@lru_cache(2 * MAXIMUM)
def _row(text: str) -> Row | None:
    """Return what a line says; it is asked anew with each line that follows it in a reading."""
    found = ROW.search(text)
    return Row(_port(found), _name(found), found["value"]) if found else None


def _port(path: re.Match[str]) -> Port:
    return path["device"] or path["netdev"], path["port"]


def _name(path: re.Match[str]) -> str:
    return path["name"] or path["statistic"] or path["carrier"]


def _ends(lines: list[Line], following: Line) -> bool:
    if not following.text.strip():
        return False
    row = _row(following.text)
    if row is None:
        return BARE.match(following.text) is None
    before = [one for line in lines if (one := _row(line.text))]
    return row.port != before[0].port or any(row.name == one.name for one in before)


def read(lines: list[Line]) -> Iterator[Record]:
    """Return the counters of a port."""
    counters: list[Counter] = []
    head = _row(lines[0].text)
    assert head is not None
    open_name: str | None = None
    for line in lines:
        row, bare = _row(line.text), BARE.match(line.text)
        if row is not None:
            name, text = row.name, row.value
        elif bare is not None and open_name is not None:
            name, text = open_name, bare[1]
        else:
            continue
        open_name = None if text else name
        value = number(text) if text else None
        if value is not None:
            counters.append((name, value, line))
    device, port = head.port
    yield from reading(counters, device, int(port) if port else None, TOOL)


def _accepts(name: str, head: bytes) -> bool:
    return len(head) < 40 and FILE.search(name) is not None and head.strip().isdigit()


def read_file(document: Document) -> Iterator[Record]:
    """Return the counter that a file of a copied tree holds."""
    path = FILE.search(document.name)
    assert path is not None
    line = next(document.lines())
    value = number(line.text.strip())
    device, port = _port(path)
    if value is not None:
        counter = (_name(path), value, line)
        yield from reading([counter], device, int(port) if port else None, TOOL)


PARSERS = (
    BlockParser(
        name="ib-counters-sysfs",
        title="counters of RDMA ports and network devices as files of the kernel",
        opens=("counters/", "/statistics/", "/carrier_changes"),
        starts=lambda line: _row(line.text) is not None,
        ends=_ends,
        read=read,
        emits=(EVENT,),
        sample="/sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err:39",
        maximum=MAXIMUM,
    ),
    FileParser(
        name="ib-counters-tree",
        title="copied files of counters",
        accepts=_accepts,
        gate=Gate(names=("counters/", "/statistics/", "/carrier_changes")),
        read=read_file,
        emits=(EVENT,),
        sample="39\n",
    ),
)
