r"""How NCCL means to connect the ranks: rings, trees, and the bandwidth it expects.

Samples::

    node-07:4121:4388 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 8, bw 40.000000/40.000000, type NVL/PIX, sameChannels 1
    node-07:4121:4388 [0] NCCL INFO Channel 00/16 :    0   7   6   5   4   3   2   1
    node-07:4121:4388 [0] NCCL INFO Trees [0] 1/8/-1->0->-1 [1] 1/8/-1->0->-1

Bandwidths are GB/s inside a host and between hosts, and so are the types: NVL, XGMI, PIX, PXB, PXN, PHB,
SYS from near to far. Only rank 0 of a communicator prints rings, of which the first stands for all; a
long one ends in ``...``. In a tree, ``parent`` is None at the root. Ranks count within the
communicator.

Empty: the subsystem GRAPH was not asked for. Cut off: a ring or tree has the ranks before the cut.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import LineParser, Pattern

TREE = LazyPattern(r"\[0\] (-?\d+)/(-?\d+)/(-?\d+)->(\d+)->(-?\d+)")


def refine(event: Event, line: Line) -> Event | None:
    """Turn printed orders into numbers."""
    if event.name == "nccl.ring":
        ranks: list[Value] = [int(rank) for rank in str(event.fields["order"]).split()]
        event.fields["order"] = ranks
    if event.name == "nccl.tree":
        found = TREE.search(line.text)
        if found is None:
            return None
        children: list[Value] = [int(rank) for rank in found.groups()[:3] if int(rank) >= 0]
        parent = int(found[5])
        event.fields |= {"children": children, "parent": parent if parent >= 0 else None}
        event.fields["comm_rank"] = int(found[4])
    return event


CHANNELS = (
    "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "12", "14", "15", "16",
    "18", "20", "24", "28", "30", "32", "36", "40", "48", "56", "60", "64", "112",
)  # fmt: skip
"""Numbers of channels; written out, since what is searched for must not be in lines of connections."""

FLOATS = dict.fromkeys(("bandwidth", "bandwidth_between", "total"), float)
PATTERNS = (
    Pattern(
        event="nccl.graph",
        regex=r"Pattern (?P<pattern>\d+), crossNic (?P<cross_nic>\d+), nChannels (?P<channels>\d+), (?:bw|speed) (?P<bandwidth>[\d.]+)/(?P<bandwidth_between>[\d.]+), (?:nvlink \d+, )?type (?P<type>\w+)/(?P<type_between>\w+)",
        nature=Nature.SETTING,
        source="NCCL 2.5 to 2.30, graph/search.cc; RCCL",
        sample="node-07:4121:4388 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 8, bw 40.000000/40.000000, type NVL/PIX, sameChannels 1",
        types={**FLOATS, "pattern": int, "cross_nic": int, "channels": int},
    ),
    Pattern(
        event="nccl.system_bandwidth",
        regex=r"=== System : max(?:Bw|Width) (?P<bandwidth>[\d.]+) total(?:Bw|Width) (?P<total>[\d.]+) ===",
        nature=Nature.SETTING,
        source="NCCL 2.5 to 2.30, graph/topo.cc; GB/s",
        sample="node-07:4121:4388 [0] NCCL INFO === System : maxBw 48.0 totalBw 360.0 ===",
        types=FLOATS,
    ),
    Pattern(
        event="nccl.ring",
        regex=r"Channel 00/(?P<channels>(?:" + "|".join(CHANNELS) + r")) :(?P<order>(?: +\d+)+)",
        literals=tuple(f"Channel 00/{channels} :" for channels in CHANNELS),
        nature=Nature.SETTING,
        source="NCCL 2.5 to 2.30, init.cc; two digits, where the lines of connections have one",
        sample="node-07:4121:4388 [0] NCCL INFO Channel 00/16 :    0   7   6   5   4   3   2   1",
        types={"channels": int},
    ),
    Pattern(
        event="nccl.tree",
        regex=r"NCCL INFO Trees \[0\]",
        nature=Nature.SETTING,
        source="NCCL 2.5 to 2.30, init.cc",
        sample="node-07:4121:4388 [0] NCCL INFO Trees [0] 1/8/-1->0->-1 [1] 1/8/-1->0->-1",
    ),
    Pattern(
        event="nccl.bootstrap_timings",
        regex=r"Bootstrap timings total (?P<total>[\d.]+) \(create (?P<create>[\d.]+), send (?P<send>[\d.]+), recv (?P<receive>[\d.]+), ring (?P<ring>[\d.]+)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.23 to 2.30, bootstrap.cc; seconds",
        sample="node-07:4121:4388 [0] NCCL INFO Bootstrap timings total 0.051 (create 0.000, send 0.000, recv 0.020, ring 0.020, delay 0.000)",
        types=dict.fromkeys(("total", "create", "send", "receive", "ring"), float),
    ),
    Pattern(
        event="nccl.connected",
        regex=r"Connected all (?P<what>rings|trees)(?:, use ring PXN (?P<pxn>\d) GDR (?P<gdr>\d))?",
        nature=Nature.SETTING,
        source="NCCL 2.7 to 2.30, init.cc and transport/generic.cc",
        sample="node-07:4121:4388 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1",
        types={"pxn": int, "gdr": int},
    ),
)

PARSERS = (
    LineParser(
        name="nccl-graph",
        title="NCCL's rings, trees and expected bandwidth",
        patterns=PATTERNS,
        refine=refine,
    ),
)
