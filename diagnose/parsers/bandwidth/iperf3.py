"""iperf3: TCP and UDP between two hosts, as text or with ``-J``.

::

    Connecting to host 10.0.0.8, port 5201
    [  5] local 10.0.0.7 port 40112 connected to 10.0.0.8 port 5201
    [ ID] Interval           Transfer     Bitrate         Retr  Cwnd
    [  5]   0.00-1.00   sec  1.10 GBytes  9.42 Gbits/sec    0   1.37 MBytes
    [ ID] Interval           Transfer     Bitrate         Retr
    [  5]   0.00-10.00  sec  11.0 GBytes  9.42 Gbits/sec   12             sender
    [  5]   0.00-10.04  sec  11.0 GBytes  9.38 Gbits/sec                  receiver

Each run is one event ``bench.link``: ``tool``, ``operation`` (tcp or udp), ``local`` and ``remote`` (host or
address), ``outbound`` (false with ``-R``), ``streams``, ``gbps`` as the receiver counts it, with ``-P`` the row
``[SUM]``, ``bytes``, ``retransmits`` of the sender and ``lost``, the share of UDP datagrams. Releases before
3.1 call the column ``Bandwidth``. One stream of TCP rarely passes 25 to 40 Gb/s, whatever the adapter.

*Empty*: a test that could not connect is ``bench.failed``. *Cut off*: without the summary nothing is said,
since the first seconds are slow.
"""

import json
from collections.abc import Iterator
from typing import Any

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.bandwidth.link import host_word, link
from diagnose.parsers.base import BlockParser, Document, FileParser, Note, make_event
from diagnose.parsers.convert import network_reason, size
from diagnose.parsers.gate import Gate

_GBPS = {"K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3, "": 1e-9}

_CLIENT = LazyPattern(r"^Connecting to host (\S+), port \d+")
_SERVER = LazyPattern(r"^Accepted connection from (\S+), port \d+")
_CONNECTED = LazyPattern(r"^\[\s*\d+\] local (\S+) port \d+ connected to (\S+) port \d+")
_REVERSE = LazyPattern(r"^Reverse mode, remote host")
_DONE = LazyPattern(r"^iperf Done\.|^Server listening on ")
_ROW = LazyPattern(
    r"^\[\s*(?P<id>\d+|SUM)\](?:\[[TR]X-[CS]\])?\s+[\d.]+-[\d.]+\s+sec\s+(?P<bytes>[\d.]+ [KMGT]?Bytes)\s+"
    r"(?P<rate>[\d.]+) (?P<unit>[KMGT]?)bits/sec(?P<more>.*?)\s(?P<end>sender|receiver)\s*$"
)
_LOST = LazyPattern(r"(\d+)/(\d+) \([\d.e+-]+%\)")


def _starts(line: Line) -> bool:
    return any(one.match(line.text) is not None for one in (_CLIENT, _SERVER, _CONNECTED))


def _ends(lines: list[Line], following: Line) -> bool:
    again = _CLIENT.match(following.text) or _SERVER.match(following.text)
    return again is not None or _DONE.match(lines[-1].text) is not None


def _read(lines: list[Line]) -> Iterator[Event]:
    fields: dict[str, Value] = {"tool": "iperf3", "operation": "tcp", "outbound": True}
    rows: dict[tuple[str, str], tuple[Line, dict[str, str]]] = {}
    streams = 0
    for line in lines:
        text = line.text
        if found := _CONNECTED.match(text):
            streams += 1
            fields.setdefault("local", found[1])
            fields.setdefault("remote", found[2])
        elif (found := _CLIENT.match(text)) and (host := host_word(found[1])):
            fields["remote"] = host
        elif _SERVER.match(text) or _REVERSE.match(text):
            fields["outbound"] = False
        elif "Lost/Total" in text:
            fields["operation"] = "udp"
        elif found := _ROW.match(text):
            rows[found["end"], found["id"]] = line, found.groupdict()
    fields["streams"] = streams or None
    row = _summary(rows, "receiver") or _summary(rows, "sender")
    if row is None:
        return
    line, told = row
    fields["gbps"] = float(told["rate"]) * _GBPS[told["unit"]]
    fields["bytes"] = size(told["bytes"].replace("Bytes", "B"))
    if lost := _LOST.search(told["more"]):
        fields["lost"] = int(lost[1]) / int(lost[2]) if int(lost[2]) else None
    sent = _summary(rows, "sender")
    if sent is not None and fields["operation"] == "tcp":
        again = sent[1]["more"].split()
        fields["retransmits"] = int(again[0]) if again and again[0].isdigit() else None
    yield link(line, fields)


def _summary(
    rows: dict[tuple[str, str], tuple[Line, dict[str, str]]], end: str
) -> tuple[Line, dict[str, str]] | None:
    """Return the row of the sum, else that of the one stream; several without a sum say nothing."""
    of_end = [row for (where, _), row in rows.items() if where == end]
    return rows.get((end, "SUM")) or (of_end[0] if len(of_end) == 1 else None)


def _accepts(name: str, head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"test_start"' in head and b'"connected"' in head


def _read_json(document: Document) -> Iterator[Event]:
    try:
        found = json.loads(document.text())
    except ValueError as error:
        raise Note(f"cut off or no JSON: {error}") from None
    start: dict[str, Any] = found.get("start", {})
    end: dict[str, Any] = found.get("end", {})
    asked: dict[str, Any] = start.get("test_start", {})
    sums: dict[str, Any] = end.get("sum_received") or end.get("sum") or {}
    if not sums.get("bits_per_second"):
        if found.get("error"):
            yield _failed(document, str(found["error"]).removeprefix("error - "))
            return
        raise Note("the test has no result")
    ends: list[dict[str, Any]] = start.get("connected") or [{}]
    server = "accepted_connection" in start
    lost = (end.get("sum") or {}).get("lost_percent")
    host = host_word(str(start.get("connecting_to", {}).get("host", "")))
    fields: dict[str, Value] = {
        "tool": "iperf3", "operation": str(asked.get("protocol", "tcp")).lower(),
        "local": ends[0].get("local_host"), "remote": host or ends[0].get("remote_host"),
        "outbound": server == bool(asked.get("reverse")), "streams": len(ends),
        "gbps": sums["bits_per_second"] * 1e-9, "bytes": sums.get("bytes"),
        "retransmits": (end.get("sum_sent") or {}).get("retransmits"),
        "lost": None if lost is None else lost / 100,
    }  # fmt: skip
    said = f"iperf3 {fields['local']} to {fields['remote']}: {fields['gbps']:.4g} Gbits/sec"
    yield link(document.at(said), fields)


def _failed(document: Document, error: str) -> Event:
    connected = "unable to connect" not in error
    fields: dict[str, Value] = {
        "program": "iperf3", "reason": "other" if connected else "not-connected", "error": error,
        "why": None if connected else network_reason(error),
    }  # fmt: skip
    return make_event("bench.failed", Nature.ERROR, document.at(f"iperf3: error - {error}"), fields)


TEXT = BlockParser(
    name="iperf3",
    title="iperf3: rate between two hosts over TCP or UDP",
    opens=("Connecting to host ", "Accepted connection from ", " connected to "),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("bench.link",),
    sample=(
        "Connecting to host 10.0.0.8, port 5201\n"
        "[  5] local 10.0.0.7 port 40112 connected to 10.0.0.8 port 5201\n"
        "[ ID] Interval           Transfer     Bitrate         Retr\n"
        "[  5]   0.00-10.00  sec  11.0 GBytes  9.42 Gbits/sec   12             sender\n"
        "[  5]   0.00-10.04  sec  11.0 GBytes  9.38 Gbits/sec                  receiver\n"
    ),
    maximum=4000,
)

JSON = FileParser(
    name="iperf3-json",
    title="iperf3 -J: the result as a file",
    accepts=_accepts,
    gate=Gate(starts=(b"{",), holds=(b'"test_start"',)),
    read=_read_json,
    emits=("bench.link", "bench.failed"),
    sample=(
        '{"start": {"connected": [{"local_host": "10.0.0.7", "remote_host": "10.0.0.8"}], "test_start": '
        '{"protocol": "TCP", "num_streams": 1, "reverse": 0}}, "end": {"sum_sent": {"retransmits": 12}, '
        '"sum_received": {"bytes": 11811160064, "bits_per_second": 9380000000.0}}}'
    ),
    alone=True,
)

PARSERS = (TEXT, JSON)
