r"""NCCL's bulk lines: the transport of each channel and the trace of each collective.

Samples::

    node-07:4121:4388 [3] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
    node-07:4121:4388 [3] NCCL INFO AllReduce: opCount 1a sendbuff 0x7f01 recvbuff 0x7f02 count 1024 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x56a1

    node-07:4121:4388 NCCL CALL ncclAllReduce(7f01,7f02,1024,7,0,0,55d0,56a1)

All come by the million (``NCCL_DEBUG_SUBSYS=COLL`` and ``CALL`` print each call), so a block is sampled: of the
channels a few lines for each transport, of the collectives the last call of each communicator
and writer. ``opCount`` is hexadecimal and counts per communicator, and a ``CALL`` line has none; ``comm`` is a pointer that means
nothing outside its process. A call is not a completion. The numbers at a channel are ranks within the communicator.

Empty: the subsystem was not asked for. From 2.22 on channels are connected at the first collective,
so a job that never came so far has none. Cut off: a call without its ``comm`` is passed over.
"""

import re
from collections.abc import Iterable, Iterator
from operator import itemgetter

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.base import BlockText, BulkParser, make_event

RECORDS = 64
"""Channels of one block at most."""

WRITERS = 256
"""Last calls of one block at most; who is left out may seem to have stopped before."""

SMALL = 64 << 10
"""Bytes up to which a block is read line by line; a snippet of many writers is no larger."""

STRIDE = 256 << 10
"""Bytes between the channel lines looked at in a larger block."""

REACH = 16 << 10
"""Bytes behind each stride in which a channel line is looked for."""

LOOKS = 8
"""Calls in a row without a new communicator or writer, after which a larger block is left."""

APART = 32 << 10
"""Bytes between the places at which it is seen whether a block has several writers."""

AMONG_CALLS = 2 << 10
"""Bytes behind such a place in which there is a call where calls are what is written."""

ROUNDS = 4
"""Times that those seen so far may call before: who is behind made its last call rounds ago."""

VIA_LENGTH = 160
"""Bytes behind the literal in which the rest of a channel line stands."""

VIA = LazyPattern(
    rb" via (?P<transport>NET/[^/\r\n]{1,40}|P2P/[A-Za-z]+|SHM|direct shared memory|COLLNET/\w+)"
    rb"(?P<rest>[^\r\n]{0,80})"
)
EDGE = LazyPattern(
    rb"(?P<src>\d+)(?:\[[^\]\r\n]*\])? -> (?P<dst>\d+)(?:\[[^\]\r\n]*\])?"
    rb"(?: \[(?P<direction>send|receive)\])?$"
)
"""``src[bus or nvml device] -> dst[...] [direction] via transport rest``, NCCL 2.3 to 2.30."""

CALL = LazyPattern(
    rb"(?:(?P<op>\w+): opCount (?P<count>[0-9a-f]+) sendbuff \S+ recvbuff \S+ count (?P<elements>\d+)"
    rb" datatype (?P<datatype>\d+) op (?P<reduction>\d+) root (?P<root>-?\d+) comm (?P<comm>0x[0-9a-f]+)"
    rb"(?: \[nranks=(?P<nranks>\d+)\])?)"
)
"""NCCL 2.3 to 2.30, enqueue.cc and collectives.cc."""

API_CALL = LazyPattern(
    rb"nccl(?P<op>[A-Z]\w+)\([0-9a-f]+,[0-9a-f]+,(?P<elements>\d+),(?P<datatype>\d+),(?P<reduction>\d+)"
    rb",(?P<root>-?\d+),(?P<comm>[0-9a-f]+),[0-9a-f]+\)"
)
"""NCCL 2.13 to 2.30 at level TRACE, enqueue.cc; pointers without 0x."""


def read_channels(block: BlockText) -> Iterable[Event]:
    """Return an event for each transport that a writer of the sample uses."""
    data = block.data
    seen: set[tuple[bytes, bytes, bool]] = set()
    for place in _sample(block):
        start = data.rfind(b"\n", 0, place) + 1
        found = VIA.search(data, start, place + VIA_LENGTH)
        if found is None:
            continue
        key = (_writer(data, found.start()), found["transport"], b"/GDRDMA" in found["rest"])
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > RECORDS:
            return
        edge = EDGE.search(data, max(start, found.start() - 80), found.start())
        if edge is not None:
            line = block.line_at(found.start())
            yield make_event("nccl.channel", Nature.SETTING, line, _edge(edge, found))


def _sample(block: BlockText) -> Iterator[int]:
    """Yield the places of each literal that the block holds, of a larger block a few of them.

    In a larger block only what follows each stride is searched: there are channels by the thousand,
    or few that came first.
    """
    data = block.data
    small = len(data) <= SMALL
    for place in block.places:
        literal = b" via " + data[data.rfind(b" via ", 0, place) + 5 : place]
        yield place
        while place < len(data):
            begin = place if small else place + STRIDE
            following = data.find(literal, begin, len(data) if small else begin + REACH)
            if following >= 0:
                place = following + len(literal)
                yield place
            else:
                place = len(data) if small else begin


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
    """Return the last traced call of each communicator and writer in the block."""
    return _last_calls(block, b": opCount ", CALL)


def read_calls(block: BlockText) -> Iterable[Event]:
    """Return the last call of the interface of each communicator and writer in the block."""
    return _last_calls(block, b" NCCL CALL nccl", API_CALL)


def _last_calls(block: BlockText, literal: bytes, pattern: LazyPattern[bytes]) -> Iterable[Event]:
    data = block.data
    last: dict[tuple[bytes, bytes], tuple[int, re.Match[bytes]]] = {}
    end = len(data)
    looks = 0
    small = len(data) <= SMALL
    while small or looks < max(LOOKS, ROUNDS * len(last)):
        looks += 1
        place = data.rfind(literal, 0, end)
        if place < 0 or len(last) >= WRITERS:
            break
        end = data.rfind(b"\n", 0, place) + 1
        if _note(data, place, pattern, last):
            looks = 0
    if not small and _shared(data, literal):
        for place in _last_of_each(data, literal):
            _note(data, place, pattern, last)
    for place, found in sorted(last.values(), key=itemgetter(0)):
        yield make_event("nccl.collective", Nature.MEASUREMENT, block.line_at(place), _call(found))


def _note(
    data: bytes,
    place: int,
    pattern: LazyPattern[bytes],
    last: dict[tuple[bytes, bytes], tuple[int, re.Match[bytes]]],
) -> bool:
    """Take a call as the last of its writer and communicator, unless a later one is known."""
    found = _call_at(data, place, pattern)
    if found is None or (key := (_writer(data, place), found["comm"])) in last:
        return False
    last[key] = place, found
    return True


def _shared(data: bytes, literal: bytes) -> bool:
    """Return whether several processes write into a block; a call is looked at now and then."""
    first = None
    for start in range(0, len(data), APART):
        place = data.find(literal, start, start + AMONG_CALLS)
        if place >= 0:
            writer = _writer(data, place)
            first = first or writer
            if writer != first:
                return True
    return False


def _last_of_each(data: bytes, literal: bytes) -> list[int]:
    """Return the places of the last calls of all writers, the last first.

    Each may print many calls at a stretch, as a buffer of its own makes them, so that all calls
    are looked at. Where each line has its time, so that no two begin alike, there are none.
    """
    begins = {text[text.rfind(b"\n") + 1 :] for text in data.split(literal)[:-1]}
    if len(begins) > WRITERS:
        return []
    return sorted((data.rfind(begin + literal) + len(begin) for begin in begins), reverse=True)


def _call_at(data: bytes, place: int, pattern: LazyPattern[bytes]) -> re.Match[bytes] | None:
    """Return the call at a place: of two records glued into one line, the one there."""
    start = data.rfind(b"\n", 0, place) + 1
    stop = data.find(b"\n", place)
    word = data.rfind(b" ", start, place) + 1
    return pattern.search(data, max(start, word), stop if stop >= 0 else len(data))


def _call(found: re.Match[bytes]) -> dict[str, Value]:
    said = found.groupdict()
    comm = found["comm"].decode()
    fields: dict[str, Value] = {
        "op": found["op"].decode(),
        "count": int(found["elements"]),
        "datatype": int(found["datatype"]),
        "reduction": int(found["reduction"]),
        "root": int(found["root"]),
        "comm": comm if comm.startswith("0x") else f"0x{comm}",
    }
    if said.get("count"):
        fields["op_count"] = int(found["count"], 16)
    if said.get("nranks"):
        fields["nranks"] = int(found["nranks"])
    return fields


def _writer(data: bytes, place: int) -> bytes:
    """Return host, process and device before the message, without a time before them."""
    start = data.rfind(b"\n", 0, place) + 1
    words = data[start:place].partition(b" NCCL ")[0].rsplit(b" ", 2)
    return b" ".join(words[-2:] if words[-1].startswith(b"[") else words[-1:])


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
    BulkParser(
        name="nccl-calls",
        title="NCCL's trace of calls of its interface, the last one of each communicator",
        opens=(" NCCL CALL nccl",),
        read=read_calls,
        emits=("nccl.collective",),
        sample="node-07:4121:4388 NCCL CALL ncclAllReduce(7f01,7f02,1024,7,0,0,55d0,56a1)",
    ),
)
