"""Counters of ports and adapters: five tools, one event."""

import pytest
from communication import check_table, read

from diagnose.parsers.fabric import counters as module


def found(text):
    return [
        (e.host, e.nic, e.fields["port"], e.fields["counter"], e.fields["kind"], e.fields["value"])
        for e in read(module, text)
    ]


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "/sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_discards:7\n"
            "/sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_data:123456\n",
            [(None, "mlx5_2", 1, "port_xmit_discards", "drops", 7)],
        ),
        (
            "0/1: link mlx5_2/1 rx_write_requests 1883 out_of_sequence 41 packet_seq_err 39 \n",
            [
                (None, "mlx5_2", 1, "out_of_sequence", "reordered", 41),
                (None, "mlx5_2", 1, "packet_seq_err", "retransmits", 39),
            ],
        ),
        (
            "# Port counters: Lid 131 port 1 (CapMask: 0x5A00)\n"
            "PortSelect:......................1\n"
            "CounterSelect:...................0x0000\n"
            "SymbolErrorCounter:..............25\n"
            "PortXmitDiscards:................3\n"
            "SymbolErrorCounter is a text that follows\n",
            [
                (None, "lid 131", 1, "symbol_error", "link", 25),
                (None, "lid 131", 1, "port_xmit_discards", "drops", 3),
            ],
        ),
        (
            'Errors for 0xfc6a1c0300700c40 "leaf-03"\n'
            "   GUID 0xfc6a1c0300700c40 port ALL: [LinkDownedCounter == 9]\n"
            "   GUID 0xfc6a1c0300700c40 port 9: [LinkDownedCounter == 9 (9.000)]\n"
            'Errors for "node-07 mlx5_3"\n'
            "   GUID 0xa088c20300ab12f6 port 1: [LinkDownedCounter == 8]\n",
            [
                (None, "leaf-03", 9, "link_downed", "link", 9),
                ("node-07", "mlx5_3", 1, "link_downed", "link", 8),
            ],
        ),
        (
            "$ ethtool -S ens1f0np0\n"
            "NIC statistics:\n"
            "     rx_packets: 1883\n"
            "     rx_prio3_discards: 5\n"
            "     tx_pause_storm_error_events: 1\n"
            "$ uptime\n"
            "     rx_discards_phy: 4\n",
            [
                (None, "ens1f0np0", None, "rx_prio3_discards", "drops", 5),
                (None, "ens1f0np0", None, "tx_pause_storm_error_events", "storm", 1),
            ],
        ),
        (
            "Port 1 hw counters:\nlocal_ack_timeout_err: 4\n",
            [(None, None, 1, "local_ack_timeout_err", "retransmits", 4)],
        ),
    ],
    ids=("sysfs", "rdma statistic", "perfquery", "ibqueryerrors", "ethtool", "show_counters"),
)
def test_tools(text, expected):
    assert found(text) == expected


def test_a_counter_at_its_end_says_at_least():
    text = "# Port counters: Lid 131 port 1\nLinkDownedCounter:...............255\n"
    (event,) = read(module, text)
    assert event.fields["saturated"]
