r"""Error and congestion counters of RDMA ports and network adapters.

Samples::

    /sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err:39
    link mlx5_0/1 rx_write_requests 1883 out_of_sequence 41 packet_seq_err 39

    # Port extended counters: Lid 131 port 1 (CapMask: 0x5A00 CapMask2: 0x0000002)
    SymbolErrorCounter:..............25

    Errors for "node-07 mlx5_3"
       GUID 0xa088c20300ab12f6 port 1: [LinkDownedCounter == 8]

    $ ethtool -S ens1f0np0
    NIC statistics:
         rx_discards_phy: 212

Each counter that means trouble when it grows is one ``ib.counter`` with ``device``, ``port``, ``counter`` (as the kernel
spells it), ``value`` and ``kind``:

=============== ===================================================================================
``drops``       Packets thrown away at a port: congestion, or nobody fetched them
``retransmits`` Packets sent again because the peer saw a gap or did not answer
``reordered``   Packets that came out of order, which adaptive routing does by itself
``congestion``  Marks and notices of a congested path
``pauses``      Pauses sent or received
``storm``       Pauses that went on for so long that the adapter gave them up
``partition``   Packets refused for their partition key
``oversize``    Frames longer than this end takes
``link``        Errors of the cable or module
=============== ===================================================================================

A value counts since the last reset, which may be months ago; the facts compare two readings. The
counters of ``perfquery`` stop at their largest value, and ``saturated`` says that one has.

Empty: no tool was run. Cut off: counters behind the cut are missing.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.convert import short_host

EVENT = "ib.counter"
KINDS = {
    "drops": r"port_xmit_discards|[rt]x_discards_phy|[rt]x_prio\d_discards|rx_drops|rx_roce_discards|rx_icrc_encapsulated",
    "retransmits": r"packet_seq_err|implied_nak_seq_err|local_ack_timeout_err|duplicate_request|roce_adp_retrans(?:_to)?|roce_slow_restart|retrans_timeout_events|to_retransmits|seq_err_naks_rcvd",
    "reordered": r"out_of_sequence",
    "congestion": r"np_ecn_marked_roce_packets|np_cnp_sent|rp_cnp_handled|rp_cnp_ignored",
    "pauses": r"[rt]x_prio\d_pause|[rt]x_global_pause",
    "storm": r"tx_pause_storm_error_events",
    "partition": r"port_xmit_constraint_errors|port_rcv_constraint_errors|bad_pkey_cntr",
    "oversize": r"rx_oversize_pkts_phy|rx_out_of_range_len_phy",
    "link": r"symbol_error|link_error_recovery|link_downed|port_rcv_errors|local_link_integrity_errors|excessive_buffer_overrun_errors|rx_crc_errors_phy|rx_symbol_err_phy|link_down_events_phy",
}  # fmt: skip
"""Kernel sysfs.c and mlx5 counters.c, en_stats.c; the EFA and bnxt_re drivers' own names."""

NAMES = {
    "SymbolErrorCounter": "symbol_error",
    "LinkErrorRecoveryCounter": "link_error_recovery",
    "LinkDownedCounter": "link_downed",
    "PortRcvErrors": "port_rcv_errors",
    "PortXmitDiscards": "port_xmit_discards",
    "PortXmitConstraintErrors": "port_xmit_constraint_errors",
    "PortRcvConstraintErrors": "port_rcv_constraint_errors",
    "LocalLinkIntegrityErrors": "local_link_integrity_errors",
    "ExcessiveBufferOverrunErrors": "excessive_buffer_overrun_errors",
}
"""Names of infiniband-diags, libibmad/fields.c, to those of the kernel."""

LARGEST = {
    "symbol_error": 0xFFFF,
    "link_error_recovery": 0xFF,
    "link_downed": 0xFF,
    "port_rcv_errors": 0xFFFF,
    "port_xmit_discards": 0xFFFF,
    "port_xmit_constraint_errors": 0xFF,
    "port_rcv_constraint_errors": 0xFF,
    "local_link_integrity_errors": 0xF,
    "excessive_buffer_overrun_errors": 0xF,
}
"""Where a counter of the classic set stops; kernel sysfs.c."""

_KIND = LazyPattern("|".join(f"(?P<{kind}>(?:{names})$)" for kind, names in KINDS.items()))
_STATISTIC = LazyPattern(r"link (?P<device>[\w.-]+)/(?P<port>\d+) (?P<rest>(?:\w+ \d+ ?)+)")
_PAIR = re.compile(r"(\w+) (\d+)")
_QUERY = LazyPattern(
    r"^# Port (?:extended )?counters: (?:Lid (?P<lid>\d+)|DR path \S+) port (?P<port>\d+)"
)
_DOTS = LazyPattern(r"^(?P<name>\w+):\.*(?P<value>\w+)\s*$")
_NODE = LazyPattern(r"^Errors for (?:0x[0-9a-f]+ )?\"(?P<name>[^\"]*)\"")
_ERRORS = LazyPattern(r"^\s+GUID 0x[0-9a-f]+ port (?P<port>\d+|ALL): \[")
_ERROR = re.compile(r"\[(\w+) == (\d+)")
_INSIDE = LazyPattern(r"^\s+(?:GUID 0x|Link info:)")
_ETHTOOL = LazyPattern(
    r"\bethtool -S (?P<device>[\w.@-]+)\s*$|^NIC statistics:\s*$|^Port (?P<port>\d+) hw counters:\s*$"
)
_ROW = LazyPattern(r"^\s*(?P<name>[\w.\[\]]+): (?P<value>\d+)\s*$")


def _fields(name: str, value: int, device: str | None, port: int | None) -> dict[str, Value] | None:
    """Return the fields of a counter, None of one that means no trouble."""
    counter = NAMES.get(name, name)
    kind = _KIND.match(counter)
    if kind is None:
        return None
    return {
        "device": device,
        "nic": device,
        "port": port,
        "counter": counter,
        "kind": kind.lastgroup,
        "value": value,
        "saturated": name in NAMES and value >= LARGEST[counter],
    }


def _events(
    line: Line, pairs: list[tuple[str, str]], device: str | None, port: int | None, host: str | None = None
) -> Iterator[Event]:  # fmt: skip
    for name, value in pairs:
        fields = _fields(name, int(value), device, port)
        if fields is not None:
            own = {**fields, "host": host} if host else fields
            yield make_event(EVENT, Nature.MEASUREMENT, line, own)


def _read_statistic(lines: list[Line]) -> Iterator[Event]:
    found = _STATISTIC.search(lines[0].text)
    if found is not None:
        yield from _events(
            lines[0], _PAIR.findall(found["rest"]), found["device"], int(found["port"])
        )


def _read_query(lines: list[Line]) -> Iterator[Event]:
    head = _QUERY.match(lines[0].text)
    assert head is not None
    name = f"lid {head['lid']}" if head["lid"] else None
    for line in lines[1:]:
        row = _DOTS.match(line.text)
        if row is not None and row["value"].isdecimal():
            yield from _events(line, [(row["name"], row["value"])], name, int(head["port"]))


def _read_errors(lines: list[Line]) -> Iterator[Event]:
    head = _NODE.match(lines[0].text)
    words = head["name"].split() if head else []
    # a host is described as its name and the adapter, a switch by its name alone
    host, device = (short_host(words[0]), words[1]) if len(words) == 2 else (None, None)
    for line in lines[1:]:
        row = _ERRORS.match(line.text)
        if row is not None and row["port"] != "ALL":
            name = device or " ".join(words) or None
            yield from _events(line, _ERROR.findall(line.text), name, int(row["port"]), host)


def _read_statistics(lines: list[Line]) -> Iterator[Event]:
    device: str | None = None
    port: int | None = None
    for line in lines:
        if head := _ETHTOOL.search(line.text):
            device = head["device"] or device
            port = int(head["port"]) if head["port"] else port
        elif row := _ROW.match(line.text):
            yield from _events(line, [(row["name"], row["value"])], device, port)


def _refine(event: Event, line: Line) -> Event | None:
    found = event.fields
    fields = _fields(
        str(found["counter"]), int(str(found["value"])), event.nic, int(str(found["port"]))
    )
    if fields is None:
        return None
    event.fields = {name: value for name, value in fields.items() if name != "nic"}
    return event


SYSFS = LineParser(
    name="ib-counters-sysfs",
    title="counters of RDMA ports as files of the kernel",
    patterns=(
        Pattern(
            event=EVENT,
            regex=r"/sys/class/infiniband/(?P<nic>[^/\s]+)/ports/(?P<port>\d+)/(?:hw_)?counters/(?P<counter>\w+):\s?(?P<value>\d+)\s*$",
            nature=Nature.MEASUREMENT,
            source="Linux 4.x to 6.x, drivers/infiniband/core/sysfs.c, as grep -r . prints the files",
            sample="/sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err:39",
            types={"port": int, "value": int},
        ),
    ),
    refine=_refine,
)

STATISTIC = BlockParser(
    name="rdma-statistic",
    title="rdma statistic: counters of each port on one line",
    opens=("rx_write_requests ",),
    starts=lambda line: _STATISTIC.search(line.text) is not None,
    ends=lambda lines, following: True,
    read=_read_statistic,
    emits=(EVENT,),
    sample="link mlx5_0/1 rx_write_requests 1883 rx_read_requests 12 out_of_sequence 41 packet_seq_err 39 ",
    maximum=1,
)

PERFQUERY = BlockParser(
    name="perfquery",
    title="perfquery: counters of one port",
    opens=("ort counters: ", "extended counters: "),
    starts=lambda line: _QUERY.match(line.text) is not None,
    ends=lambda lines, following: _DOTS.match(following.text) is None,
    read=_read_query,
    emits=(EVENT,),
    sample=(
        "# Port extended counters: Lid 131 port 1 (CapMask: 0x5A00 CapMask2: 0x0000002)\n"
        "PortSelect:......................1\n"
        "SymbolErrorCounter:..............25\n"
    ),
    maximum=60,
)

QUERYERRORS = BlockParser(
    name="ibqueryerrors",
    title="ibqueryerrors: counters over their thresholds",
    opens=("Errors for ",),
    starts=lambda line: _NODE.match(line.text) is not None,
    ends=lambda lines, following: _INSIDE.match(following.text) is None,
    read=_read_errors,
    emits=(EVENT,),
    sample=(
        'Errors for "node-07 mlx5_3"\n   GUID 0xa088c20300ab12f6 port 1: [LinkDownedCounter == 8]\n'
    ),
    maximum=140,
)

ETHTOOL = BlockParser(
    name="ethtool-statistics",
    title="ethtool -S and show_counters: counters of a network adapter",
    opens=("ethtool -S ", "NIC statistics:", " hw counters:"),
    starts=lambda line: _ETHTOOL.search(line.text) is not None,
    ends=lambda lines, following: (
        not (_ROW.match(following.text) or following.text.startswith("NIC statistics:"))
    ),
    read=_read_statistics,
    emits=(EVENT,),
    sample="NIC statistics:\n     rx_packets: 1883\n     rx_discards_phy: 212\n",
    maximum=4_000,
)

PARSERS = (SYSFS, STATISTIC, PERFQUERY, QUERYERRORS, ETHTOOL)
