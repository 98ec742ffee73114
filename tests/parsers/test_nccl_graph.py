import pytest
from communication import check_table, holds, names, one

from diagnose.parsers import nccl_graph as module

INFO = "node-07:4121:4388 [3] NCCL INFO "


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Pattern 4, crossNic 0, nChannels 2, speed 12.000000/12.000000, nvlink 0, type PHB/SYS, sameChannels 1", "nccl.graph", {"pattern": 4, "channels": 2, "bandwidth": 12.0, "type": "PHB", "type_between": "SYS"}),
        ("Pattern 4, crossNic 0, nChannels 16, bw 48.000000/24.000000, type XGMI/PIX, sameChannels 1", "nccl.graph", {"bandwidth": 48.0, "bandwidth_between": 24.0, "type": "XGMI"}),
        ("=== System : maxBw 48.0 totalBw 360.0 ===", "nccl.system_bandwidth", {"bandwidth": 48.0, "total": 360.0}),
        ("Channel 00/02 :    0   1   2   3 ...", "nccl.ring", {"channels": 2, "order": [0, 1, 2, 3]}),
        ("Trees [0] 1/8/-1->0->-1 [1] 1/8/-1->0->-1", "nccl.tree", {"comm_rank": 0, "children": [1, 8], "parent": None}),
        ("Trees [0] -1/-1/-1->7->6 [1] -1/-1/-1->7->6", "nccl.tree", {"comm_rank": 7, "children": [], "parent": 6}),
        ("Bootstrap timings total 31.402 (create 0.000, send 0.000, recv 31.350, ring 0.020, delay 0.000)", "nccl.bootstrap_timings", {"total": 31.402, "receive": 31.35}),
        ("Connected all rings", "nccl.connected", {"what": "rings"}),
    ],
)  # fmt: skip
def test_plans(text, name, expected):
    event = one(module, INFO + text)
    assert event.name == name
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    "text",
    [
        "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
        "Channel 00/1 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
        "Channel 01/16 :    0   7   6   5",
    ],
)
def test_lines_of_connections_are_left_to_the_bulk_reader(text):
    assert names(module, INFO + text) == []
    assert not any(
        literal in text
        for parser in module.PARSERS
        for pattern in parser.patterns
        for literal in pattern.required
    )
