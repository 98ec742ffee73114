"""Counters of ports and adapters: many tools, one event a port and reading."""

import re

import pytest
from communication import check_table, cut_anywhere, read
from dialects import Document

from diagnose import shipped
from diagnose.parsers.fabric import (
    adapter_statistics,
    cleared_counters,
    counter_files,
    counter_table,
    dates,
    netdev_counters,
    perfquery,
    queryerrors,
    rdma_statistic,
    traffic_classes,
)

MODULES = (
    adapter_statistics, cleared_counters, counter_files, dates, netdev_counters, perfquery, queryerrors,
    rdma_statistic, traffic_classes,
)  # fmt: skip

QUERY = """\
# Port counters: Lid 131 port 1 (CapMask: 0x5A00)
PortSelect:......................1
CounterSelect:...................0x0000
SymbolErrorCounter:..............25
PortXmitData:....................1000
PortXmitDiscards:................3
PortXmitWait:....................N/A
SymbolErrorCounter is a text that follows
"""

ERRORS = """\
Errors for 0xfc6a1c0300700c40 "leaf-03"
   GUID 0xfc6a1c0300700c40 port ALL: [LinkDownedCounter == 9]
   GUID 0xfc6a1c0300700c40 port 9: [LinkDownedCounter == 9 (9.000)]
       Link info:     12   9[  ] ==( 2X        53.125 Gbps Active/  LinkUp)==>  0xa088c20300ab12f6    134    1[  ] "node-07 mlx5_3" (Could be 4X)
Errors for "node-07 mlx5_3"
   GUID 0xa088c20300ab12f6 port 1: [LinkDowned == 8]

## Summary: 96 nodes checked, 2 bad nodes found
"""

LINK = """\
5: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
    link/ether a0:88:c2:ab:12:c0 brd ff:ff:ff:ff:ff:ff
    RX:     bytes    packets errors dropped  missed   mcast
     918273645001  712345678      0     412       9   81234
    RX errors:  length    crc   frame    fifo overrun
                     0      7       0       0       0
    TX:     bytes    packets errors dropped carrier collsns
     882736450192  698123412      0       0       2       0
    TX errors: aborted   fifo  window heartbt transns
                     0      0       0       0       3
6: ens1f1np1: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN
    RX: bytes  packets  errors  dropped overrun mcast
    0          0        0       0       5       0
"""


def found(module, text):
    return [(e.host, e.nic, e.fields["port"], counters(e)) for e in read(module, text)]


def counters(event):
    fields = event.fields
    return dict(zip(fields["counters"], fields["values"], strict=True))


@pytest.mark.parametrize("module", MODULES)
def test_pattern_table(module, monkeypatch):
    if module is counter_files:  # a copied file is known by its name
        monkeypatch.setattr(module, "PARSERS", module.PARSERS[:1])
    check_table(module)


@pytest.mark.parametrize(
    ("module", "text", "expected"),
    [
        (
            counter_files,
            "/sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_discards:7\n"
            "/sys/class/infiniband/mlx5_2/ports/1/counters/unicast_xmit_packets:123456\n"
            "/sys/class/infiniband/mlx5_2/ports/1/hw_counters/out_of_buffer:N/A (no PMA)\n"
            "/sys/class/infiniband/mlx5_2/ports/1/hw_counters/packet_seq_err:2\n",
            [(None, "mlx5_2", 1, {"port_xmit_discards": 7, "packet_seq_err": 2})],
        ),
        (
            counter_files,
            "mlx5_2/ports/1/counters/link_downed\n7\n\nmlx5_2/ports/1/counters/symbol_error\n3\n",
            [(None, "mlx5_2", 1, {"link_downed": 7, "symbol_error": 3})],
        ),
        (
            counter_files,
            "==> /sys/class/infiniband/rdmap0s6/hw_counters/no_completion_cmds <==\n4\n\n"
            "==> /sys/class/net/eth0/carrier_changes <==\n3\n",
            [(None, "rdmap0s6", None, {"no_completion_cmds": 4}),
             (None, "eth0", None, {"carrier_changes": 3})],
        ),
        (
            counter_files,
            "counters/symbol_error:7\ncounters/symbol_error:9\n",
            [(None, None, None, {"symbol_error": 7}), (None, None, None, {"symbol_error": 9})],
        ),
        (
            rdma_statistic,
            "0/1: link mlx5_2/1 rx_write_requests 1883 out_of_sequence 41 packet_seq_err 39 \n"
            "link mlx5_3/1 rx_write_requests 0 packet_seq_err 0 \n",
            [(None, "mlx5_2", 1, {"rx_write_requests": 1883, "out_of_sequence": 41, "packet_seq_err": 39}),
             (None, "mlx5_3", 1, {"rx_write_requests": 0, "packet_seq_err": 0})],
        ),
        (
            rdma_statistic,
            "link mlx5_2/1 \n    rx_write_requests 1883 \n    packet_seq_err 39 \nlink mlx5_3/1\n    packet_seq_err 1\n",
            [(None, "mlx5_2", 1, {"rx_write_requests": 1883, "packet_seq_err": 39}),
             (None, "mlx5_3", 1, {"packet_seq_err": 1})],
        ),
        (
            rdma_statistic,
            '[{"ifindex":0,"ifname":"mlx5_0","port":1,"packet_seq_err":39},'
            '{"ifindex":1,"ifname":"mlx5_1","port":1,"packet_seq_err":0}]\n',
            [(None, "mlx5_0", 1, {"packet_seq_err": 39}), (None, "mlx5_1", 1, {"packet_seq_err": 0})],
        ),
        (
            rdma_statistic,
            '[ {\n        "ifindex": 0,\n        "ifname": "mlx5_0",\n        "port": 1,\n'
            '        "packet_seq_err": 39\n    } ]\n',
            [(None, "mlx5_0", 1, {"packet_seq_err": 39})],
        ),
        (
            perfquery,
            QUERY,
            [(None, "lid 131", 1, {"symbol_error": 25, "port_xmit_data": 4000, "port_xmit_discards": 3})],
        ),
        (
            perfquery,
            "# Port extended counters: DR path slid 65535; dlid 65535; 0,1 port 3 (CapMask: 0x5A00)\n"
            "LinkDownedCounter:...............0x2\n"
            "# Port extended counters: Lid 0x83 port 1 (CapMask: 0x5A00)\n"
            "LinkDownedCounter:...............3\n",
            [(None, "DR path slid 65535; dlid 65535; 0,1", 3, {"link_downed": 2}),
             (None, "lid 131", 1, {"link_downed": 3})],
        ),
        (
            perfquery,
            "$ perfquery -x -C mlx5_3 -P 1\n"
            "# Port extended counters: Lid 134 port 1 (CapMask: 0x5A00)\n"
            "LinkDownedCounter:...............3\n"
            "$ perfquery -x -C mlx5_4\nibwarn: [4711] mad_rpc: _do_madrpc failed; dport (Lid 9)\n",
            [(None, "mlx5_3", 1, {"link_downed": 3})],
        ),
        (
            queryerrors,
            ERRORS,
            [(None, "leaf-03", 9, {"link_downed": 9}), ("node-07", "mlx5_3", 1, {"link_downed": 8})],
        ),
        (
            adapter_statistics,
            "$ ethtool -S ens1f0np0\n"
            "NIC statistics:\n"
            "     rx_bytes: 1883\n"
            "     rx_prio3_discards: 5\n"
            "     tx_pause_storm_error_events: 1\n"
            "NIC statistics:\n"
            "     rx_err_lane_2_phy: 8\n"
            "$ uptime\n"
            "     rx_discards_phy: 4\n",
            [(None, "ens1f0np0", None, {"rx_prio3_discards": 5, "tx_pause_storm_error_events": 1}),
             (None, None, None, {"rx_err_lane_2_phy": 8})],
        ),
        (
            adapter_statistics,
            "$ ethtool -S ens1f0np0 | grep -E 'discard|pause'\nrx_discards_phy: 4\nrx_priority_3_xoff.nic: 2\n"
            "rx_pfc_ena_frames_pri5: 3\n",
            [(None, "ens1f0np0", None, {"rx_discards_phy": 4, "rx_prio3_pause": 2, "rx_prio5_pause": 3})],
        ),
        (
            adapter_statistics,
            "Port 1 hw counters:\nlocal_ack_timeout_err: 4\n",
            [(None, None, 1, {"local_ack_timeout_err": 4})],
        ),
        (
            cleared_counters,
            "# mlxlink -d mlx5_3 -m -c -e\n\nOperational Info\n----------------\n"
            "State                              : Active\n\nPhysical Counters and BER Info\n"
            "------------------------------\nTime Since Last Clear [Min]        : 60.5\n"
            "Symbol Errors                      : 7\nSymbol BER                         : 15E-255\n"
            "Effective Physical Errors          : 9\nLink Down Counter                  : 1\n"
            "# mlxlink -d mlx5_4 -c\nState                              : Active\n",
            [(None, "mlx5_3", None, {"symbol_error": 7, "link_downed": 1})],
        ),
        (
            netdev_counters,
            LINK,
            [(None, "ens1f0np0", None, {"rx_packets": 712345678, "rx_missed_errors": 9, "rx_crc_errors_phy": 7,
              "rx_frame_errors": 0, "tx_carrier_errors": 2, "carrier_changes": 3}),
             (None, "ens1f1np1", None, {"rx_packets": 0, "rx_missed_errors": 5})],
        ),
    ],
)  # fmt: skip
def test_tools(module, text, expected):
    assert found(module, text) == expected
    assert found(module, text.replace("\n", "\r\n")) == expected
    if module is not counter_files:
        assert (
            found(module, "\n".join(" ".join(row.split(" ")) for row in text.split("\n")))
            == expected
        )


@pytest.mark.parametrize(
    ("module", "text"),
    [(perfquery, QUERY), (queryerrors, ERRORS), (netdev_counters, LINK)],
)
def test_cut_off(module, text):
    cut_anywhere(module, text)


def test_indentation_may_be_lost():
    bare = "\n".join(line.strip() for line in LINK.split("\n"))
    assert found(netdev_counters, bare) == found(netdev_counters, LINK)
    bare = "\n".join(line.strip() for line in ERRORS.split("\n"))
    assert found(queryerrors, bare) == found(queryerrors, ERRORS)


def test_what_has_no_cable_is_left_out():
    assert (
        found(netdev_counters, LINK.replace("ens1f0np0", "docker0").replace("ens1f1np1", "lo"))
        == []
    )
    assert found(counter_files, "/sys/class/net/veth12ab/carrier_changes:9\n") == []


def test_a_line_is_looked_at_once_however_many_counters_stand_before_it(monkeypatch):
    looked_at = []

    class Counting:
        def search(self, text):
            looked_at.append(text)
            return search(text)

    search = counter_files.ROW.search
    text = "".join(f"mlx5_9/ports/1/counters/c{number}:1\n" for number in range(200))
    text += "mlx5_9/ports/1/counters/link_downed:7\n"
    monkeypatch.setattr(counter_files, "ROW", Counting())
    assert found(counter_files, text) == [(None, "mlx5_9", 1, {"link_downed": 7})]
    assert sorted(looked_at) == sorted(text.splitlines())


def test_each_counter_knows_its_line():
    (event,) = read(perfquery, QUERY)
    assert (event.line, event.fields["lines"], event.end_line) == (4, [0, 1, 2], 6)


def test_both_ends_of_a_link():
    switch, _ = (one for one in read(queryerrors, ERRORS) if one.name == "ib.counters")
    assert (switch.fields["peer"], switch.fields["peer_port"]) == ("node-07 mlx5_3", 1)
    assert (switch.fields["peer_host"], switch.fields["peer_device"]) == ("node-07", "mlx5_3")


def test_counters_of_some_queue_pairs_are_not_those_of_the_port():
    assert (
        found(rdma_statistic, "link mlx5_0/1 cntn 4 rx_write_requests 12 packet_seq_err 3 \n") == []
    )


def test_the_row_of_all_ports_counts_where_it_stands_alone():
    text = 'Errors for 0xfc6a1c0300700c40 "leaf-03"\n   GUID 0xfc6a1c0300700c40 port ALL: [LinkDownedCounter == 9]\n'
    assert found(queryerrors, text) == [(None, "leaf-03", None, {"link_downed": 9})]


def test_a_counter_at_its_end_says_at_least():
    text = "# Port counters: Lid 131 port 1\nLinkDownedCounter:...............255\nSymbolErrorCounter:..9\n"
    (event,) = read(perfquery, text)
    assert event.fields["ended"] == ["link_downed"]


def test_the_table_explains_its_words_and_names_only_what_it_has():
    text = (shipped.root("rules") / "counters.yaml").read_text(encoding="utf-8")
    head = text.partition("\n- ")[0]
    rows = shipped.table("counters")
    names = {row["name"] for row in rows}
    assert len(names) == len(rows)
    for row in rows:
        assert re.search(rf"^#  .* {row['kind']} +[a-zA-Z]", head, re.MULTILINE), row["kind"]
        assert {row.get("of", row["name"]), row.get("less", row["name"])} <= names, row
        assert counter_table.meaning_of(row["name"].replace("N", "3")) is not None, row


def test_one_spelling_for_all_drivers():
    meaning = counter_table.meaning_of
    assert meaning("rx_pfc_ena_frames_pri3").name == "rx_prio3_pause"
    assert meaning("rx_prio3_discards").of == "rx_prio3_packets"
    assert meaning("SymbolErrors") is meaning("symbol_error")
    assert meaning("rx_queue_7_packets") is None and meaning("rx_queue_7_prio3_pause") is None


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Wed Jan 14 03:00:00 UTC 2026", 1768359600.0),
        ("Wed Jan 14 03:00:00 AM UTC 2026", 1768359600.0),
        ("Wed 14 Jan 2026 03:00:00 AM UTC", 1768359600.0),
        ("=== snapshot 1, 2026-01-14 03:00:00 ===", 1768359600.0),
        ("date: 2026-01-14T03:00:00+00:00", 1768359600.0),
        ("node-07: Wed Jan 14 03:00:00 UTC 2026", 1768359600.0),
        ("# 2026-01-14T03:00:00Z", 1768359600.0),
        ("2026-01-14 03:00:00 INFO counters are fine", None),
        ("2026-13-14 03:00:00", None),
    ],
)
def test_dates(text, time):
    events = read(dates, f"some text\n{text}\n# Port counters: Lid 131 port 1\n")
    assert [e.time for e in events] == ([] if time is None else [time])


def test_priorities():
    text = (
        "$ mlnx_qos -i ens1f0np0\nDCBX mode: OS controlled\nPriority trust state: pcp\n"
        "PFC configuration:\n\tpriority    0   1   2   3\n\tenabled     0   0   0   1   \n"
        "\tbuffer      0   0   0   1\n$ dcb pfc show dev ens2\npfc-cap 8 macsec-bypass off\n"
        "prio-pfc 0:off 3:on 4:on\n"
    )
    events = read(traffic_classes, text)
    assert [(e.nic, e.fact, e.fields["value"]) for e in events] == [
        ("ens1f0np0", "roce.trust", "pcp"),
        ("ens1f0np0", "roce.pfc", "3"),
        ("ens2", "roce.pfc", "3,4"),
    ]


def test_a_copied_tree_is_read_by_the_names_of_its_files():
    name = "node-07/sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err"
    (tree,) = [one for one in counter_files.PARSERS if one.name == "ib-counters-tree"]
    assert tree.accepts(name, b"39\n")
    assert not tree.accepts("a.log", b"39\n") and not tree.accepts(name, b"no counter\n")
    (event,) = tree.read(Document("39\n", name))
    assert (event.nic, counters(event)) == ("mlx5_0", {"packet_seq_err": 39})
