r"""NCCL's bulk lines: the transport of each channel and the trace of each collective.

Samples::

    node-07:4121:4388 [3] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
    node-07:4121:4388 [3] NCCL INFO AllReduce: opCount 1a sendbuff 0x7f01 recvbuff 0x7f02 count 1024 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x56a1

Both come by the million (``NCCL_DEBUG_SUBSYS=COLL`` prints each call), so a block is sampled: of the
channels one line for each transport and writer, of the collectives the last call of each communicator
and writer. ``opCount`` is hexadecimal and counts per communicator; ``comm`` is a pointer that means
nothing outside its process. A call is not a completion. The numbers at a channel are ranks within the communicator.

Empty: the subsystem was not asked for. From 2.22 on channels are connected at the first collective,
so a job that never came so far has none. Cut off: a call without its ``comm`` is passed over.
"""

import re
from collections.abc import Iterable

from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.base import BlockText, BulkParser, make_event

RECORDS = 64
"""Records of one block at most."""

LOOKS = 128
"""Calls of one block looked at, from its end; the next blocks show the writers that this misses."""

VIA = re.compile(
    rb" via (?P<transport>NET/[^/\r\n]{1,40}|P2P/[A-Za-z]+|SHM|direct shared memory|COLLNET/\w+)"
    rb"(?P<rest>[^\r\n]{0,80})"
)
EDGE = re.compile(
    rb"(?P<src>\d+)(?:\[[^\]\r\n]*\])? -> (?P<dst>\d+)(?:\[[^\]\r\n]*\])?"
    rb"(?: \[(?P<direction>send|receive)\])?$"
)
"""``src[bus or nvml device] -> dst[...] [direction] via transport rest``, NCCL 2.3 to 2.30."""

CALL = re.compile(
    rb"(?:(?P<op>\w+): opCount (?P<count>[0-9a-f]+) sendbuff \S+ recvbuff \S+ count (?P<elements>\d+)"
    rb" datatype (?P<datatype>\d+) op (?P<reduction>\d+) root (?P<root>-?\d+) comm (?P<comm>0x[0-9a-f]+)"
    rb"(?: \[nranks=(?P<nranks>\d+)\])?)"
)
"""NCCL 2.3 to 2.30, enqueue.cc and collectives.cc."""


def read_channels(block: BlockText) -> Iterable[Event]:
    """Return an event for each transport that a writer uses in the block."""
    data = block.data
    seen: set[tuple[bytes, bytes, bool]] = set()
    for found in VIA.finditer(data):
        place = found.start()
        key = (_writer(data, place), found["transport"], b"/GDRDMA" in found["rest"])
        if key in seen:
            continue
        seen.add(key)
        edge = EDGE.search(data, max(data.rfind(b"\n", 0, place) + 1, place - 80), place)
        if edge is not None:
            yield make_event(
                "nccl.channel", Nature.SETTING, block.line_at(place), _edge(edge, found)
            )
        if len(seen) >= RECORDS:
            return


def _edge(edge: re.Match[bytes], via: re.Match[bytes]) -> dict[str, Value]:
    transport = via["transport"].decode("utf-8", "replace").strip()
    rest = via["rest"].decode("utf-8", "replace")
    fields: dict[str, Value] = {
        "src": int(edge["src"]),
        "dst": int(edge["dst"]),
        "transport": "SHM" if transport == "direct shared memory" else transport,
    }
    if transport.startswith("NET/"):
        device = re.match(r"/(\d+)(?:\((\d+)\))?", rest)
        fields["gdr"] = "/GDRDMA" in rest
        fields["device"] = int(device[1]) if device else None
        fields["proxy_rank"] = int(device[2]) if device and device[2] else None
    if edge["direction"]:
        fields["direction"] = edge["direction"].decode()
    return fields


def read_collectives(block: BlockText) -> Iterable[Event]:
    """Return the last call of each communicator and writer in the block."""
    data = block.data
    seen: set[tuple[bytes, bytes]] = set()
    events = []
    end = len(data)
    for _ in range(LOOKS):
        place = data.rfind(b": opCount ", 0, end)
        if place < 0 or len(seen) >= RECORDS:
            break
        start = data.rfind(b"\n", 0, place) + 1
        end = start
        stop = data.find(b"\n", place)
        # Two records glued into one line: the one at the place found.
        word = data.rfind(b" ", start, place) + 1
        found = CALL.match(data, max(start, word), stop if stop >= 0 else len(data))
        if found is None:
            continue
        key = (_writer(data, place), found["comm"])
        if key not in seen:
            seen.add(key)
            events.append(
                make_event(
                    "nccl.collective", Nature.MEASUREMENT, block.line_at(place), _call(found)
                )
            )
    return reversed(events)


def _call(found: re.Match[bytes]) -> dict[str, Value]:
    fields: dict[str, Value] = {
        "op": found["op"].decode(),
        "op_count": int(found["count"], 16),
        "count": int(found["elements"]),
        "datatype": int(found["datatype"]),
        "reduction": int(found["reduction"]),
        "root": int(found["root"]),
        "comm": found["comm"].decode(),
    }
    if found["nranks"]:
        fields["nranks"] = int(found["nranks"])
    return fields


def _writer(data: bytes, place: int) -> bytes:
    """Return what stands before the message: host, pid and the like."""
    start = data.rfind(b"\n", 0, place) + 1
    return data[start:place].partition(b" NCCL ")[0]


PARSERS = (
    BulkParser(
        name="nccl-channels",
        title="Transports of NCCL channels: P2P, SHM, NET/IB, NET/Socket",
        opens=(" via P2P/", " via SHM", " via NET/", " via direct shared memory", " via COLLNET/"),
        read=read_channels,
        emits=("nccl.channel",),
        sample="node-07:4121:4388 [3] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
    ),
    BulkParser(
        name="nccl-collectives",
        title="NCCL's trace of collective calls, the last one of each communicator",
        opens=(": opCount ",),
        read=read_collectives,
        emits=("nccl.collective",),
        sample="node-07:4121:4388 [3] NCCL INFO AllReduce: opCount 1a sendbuff 0x7f01 recvbuff 0x7f02 count 1024 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x56a1",
    ),
)
