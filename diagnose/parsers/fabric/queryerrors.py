r"""Counters over their thresholds in the whole fabric, as ``ibqueryerrors`` lists them.

Sample::

    Errors for 0xfc6a1c0300700c40 "leaf-03"
       GUID 0xfc6a1c0300700c40 port ALL: [SymbolErrorCounter == 61] [LinkDownedCounter == 9]
       GUID 0xfc6a1c0300700c40 port 9: [SymbolErrorCounter == 61 (61.000)] [LinkDownedCounter == 9]
           Link info:     12   9[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  0xa088c20300ab12f6    134    1[  ] "node-07 mlx5_3" ( )
    Errors for "node-07 mlx5_3"
       GUID 0xa088c20300ab12f6 port 1: [LinkDownedCounter == 8]

    ## Summary: 96 nodes checked, 2 bad nodes found

A host is described by its name and its adapter, a switch by its name alone. ``peer`` and
``peer_port`` are the other end of the link, where it is printed, ``peer_host`` and ``peer_device`` if that is a host. The row of all ports is the sum of
the others and counts only where it stands alone.

``ib.errors_summary`` is the end of the list: ``ports`` that were checked, ``bad_ports`` over a threshold.

Releases before 1.6.6 spell the counters ``SymbolErrors``, ``LinkDowned`` and so on. What is under its
threshold, suppressed or zero is not printed: a missing counter is unknown.

Empty: only the summary, so no port is over a threshold. Cut off: ports behind the cut are missing.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, Record
from diagnose.parsers.convert import short_host
from diagnose.parsers.fabric.counter_table import EVENT, Counter, reading

NODE = LazyPattern(r"^\s*Errors for (?:0x[0-9a-f]+ )?\"(?P<name>[^\"]*)\"")
PORT = LazyPattern(r"^\s*GUID (?P<guid>0x[0-9a-f]+) port (?P<port>\d+|ALL):\s*\[")
PAIR = LazyPattern(r"\[(\w+) == (\d+)")
LINK = LazyPattern(
    r"Link info:.*==>\s+(?:0x[0-9a-f]+\s+)?\d*\s+(?P<port>\d+)\[[^\]]*\]\s+\"(?P<peer>[^\"]+)\""
)
INSIDE = LazyPattern(r"^\s*(?:GUID 0x|Link info:)")


def _owner(name: str) -> tuple[str | None, str | None]:
    """Return host and adapter of a node description, or the name of a switch as the adapter."""
    words = name.split()
    if len(words) == 2:
        return short_host(words[0]), words[1]
    return None, " ".join(words) or None


def read(lines: list[Line]) -> Iterator[Record]:
    """Return the counters of each port of a node."""
    head = NODE.match(lines[0].text)
    host, device = _owner(head["name"]) if head else (None, None)
    rows = [(row, line) for line in lines[1:] if (row := PORT.match(line.text))]
    links = {line.number: link for line in lines if (link := LINK.search(line.text))}
    alone = all(row["port"] == "ALL" for row, _ in rows)
    for row, line in rows:
        if row["port"] == "ALL" and not alone:
            continue
        counters: list[Counter] = [(n, int(v), line) for n, v in PAIR.findall(line.text)]
        link = links.get(line.number + 1)
        more: dict[str, Value] = {"host": host, "guid": row["guid"]}
        if link is not None:
            peer_host, peer_device = _owner(link["peer"])
            more |= {"peer": link["peer"], "peer_port": int(link["port"])}
            more |= {"peer_host": peer_host, "peer_device": peer_device if peer_host else None}
        port = None if row["port"] == "ALL" else int(row["port"])
        yield from reading(counters, device or row["guid"], port, "ibqueryerrors", **more)


PARSERS = (
    BlockParser(
        name="ibqueryerrors",
        title="ibqueryerrors: counters over their thresholds",
        opens=("Errors for ",),
        starts=lambda line: NODE.match(line.text) is not None,
        ends=lambda lines, following: INSIDE.match(following.text) is None,
        read=read,
        emits=(EVENT,),
        sample=(
            'Errors for "node-07 mlx5_3"\n'
            "   GUID 0xa088c20300ab12f6 port 1: [LinkDownedCounter == 8]\n"
        ),
        maximum=200,
    ),
    LineParser(
        name="ibqueryerrors-summary",
        title="ibqueryerrors: how many ports were checked",
        patterns=(
            Pattern(
                event="ib.errors_summary",
                regex=r"^##\s+(?P<ports>\d+) ports checked, (?P<bad_ports>\d+) ports have errors beyond threshold",
                nature=Nature.MEASUREMENT,
                source="infiniband-diags 1.6 to rdma-core 50, ibqueryerrors.c",
                sample="##          1184 ports checked, 3 ports have errors beyond threshold",
                types={"ports": int, "bad_ports": int},
            ),
        ),
    ),
)
