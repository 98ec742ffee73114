import pytest
from communication import cut_anywhere, holds, read

from diagnose.parsers import nccl_bulk as module

WHO = "node-07:4121:4388 [3] NCCL INFO "
CALL = "node-07:{pid}:4388 [3] NCCL INFO {op}: opCount {count:x} sendbuff 0x7f01 recvbuff 0x7f02 count 1024 datatype 7 op 0 root 0 comm {comm} [nranks=8] stream 0x56a1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/2(4)/GDRDMA/Shared", {"src": 8, "dst": 0, "transport": "NET/IB", "gdr": True, "device": 2, "proxy_rank": 4, "direction": "receive"}),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0", {"transport": "NET/Socket", "gdr": False, "device": 0, "direction": "send"}),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/3/GDRDMA", {"transport": "NET/AWS Libfabric", "gdr": True, "device": 3}),
        ("Channel 00/0 : 0[0] -> 7[7] via P2P/CUMEM/read", {"src": 0, "dst": 7, "transport": "P2P/CUMEM"}),
        ("Channel 00 : 0[1b000] -> 7[5d000] via P2P/IPC", {"src": 0, "dst": 7, "transport": "P2P/IPC"}),
        ("Ring 00 : 0 -> 7 via direct shared memory", {"transport": "SHM"}),
        ("Channel 00 : 0[0] -> 7[7] via SHM/direct/direct comm 0x55d0 nRanks 08", {"transport": "SHM"}),
    ],
)  # fmt: skip
def test_channels(text, expected):
    (event,) = read(module, WHO + text)
    assert event.name == "nccl.channel"
    assert {key: event.fields.get(key) for key in expected} == expected
    assert event.rank is None


def test_a_thousand_channels_are_one_event_for_each_transport_and_writer():
    lines = [f"node-0{host}:77:88 [0] NCCL INFO Channel {n:02}/0 : 0[0] -> 7[7] via {kind}"
             for n in range(200) for host in (1, 2) for kind in ("P2P/CUMEM", "NET/IB/0")]  # fmt: skip
    found = read(module, "\n".join(lines))
    assert sorted((event.host, event.fields["transport"]) for event in found) == [
        ("node-01", "NET/IB"),
        ("node-01", "P2P/CUMEM"),
        ("node-02", "NET/IB"),
        ("node-02", "P2P/CUMEM"),
    ]


def test_the_last_call_of_each_communicator_is_kept():
    text = "".join(
        CALL.format(pid=pid, op="AllReduce", count=count, comm=comm)
        for count in range(20, 30)
        for pid in (4121, 4122)
        for comm in ("0x55d0", "0x66e0")
    )
    found = read(module, text)
    assert [event.fields["op_count"] for event in found] == [29, 29, 29, 29]
    assert {(event.pid, event.fields["comm"]) for event in found} == {
        (4121, "0x55d0"), (4121, "0x66e0"), (4122, "0x55d0"), (4122, "0x66e0"),
    }  # fmt: skip
    assert found[0].fields["count"] == 1024


def test_op_count_is_hexadecimal():
    (event,) = read(module, CALL.format(pid=1, op="AllGather", count=0x1A, comm="0x55d0"))
    assert (event.fields["op"], event.fields["op_count"]) == ("AllGather", 26)


@pytest.mark.parametrize(
    "text",
    [
        "traffic goes via NET/IB on this cluster",
        WHO + "AllReduce: opCount zz sendbuff",
        WHO + "AllReduce: opCount 1a sendbuff 0x7f01 recvbuff 0x7f02 count 1024",
        "",
    ],
)
def test_near_misses(text):
    assert read(module, text) == []


def test_cut_records():
    cut_anywhere(
        module,
        CALL.format(pid=1, op="Send", count=3, comm="0x55d0")
        + WHO
        + "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
    )


def test_calls_of_the_interface_have_no_number():
    text = (
        "node-07:4121:4388 NCCL CALL ncclAllReduce(7f01,7f02,1024,7,0,0,55d0,56a1)\n"
        "node-07:4121:4388 NCCL CALL ncclBroadcast(7f01,7f02,64,9,0,3,55d0,56a1)\n"
        "node-07:4121:4388 NCCL CALL ncclAllReduce(7f01,7f02,8,7,0,0,66d0,56a1)\n"
    )
    first, second = read(module, text)
    assert (
        holds(
            first,
            {
                "op": "Broadcast",
                "count": 64,
                "datatype": 9,
                "root": 3,
                "comm": "0x55d0",
                "host": "node-07",
                "pid": 4121,
            },
        )
        == {}
    )
    assert holds(second, {"op": "AllReduce", "comm": "0x66d0"}) == {}
    assert "op_count" not in first.fields


def test_who_is_a_call_behind_is_found_in_a_block_of_many_writers():
    """The calls of all others since then stand behind its last one."""
    lines = [
        f"node-07:{100 + rank}:1 [0] NCCL INFO AllReduce: opCount {number:x} sendbuff 0x7f01 "
        f"recvbuff 0x7f02 count 8 datatype 7 op 0 root 0 comm 0x55d{rank:x} [nranks=16] stream 0x1\n"
        for number in range(60)
        for rank in range(16)
        if (number, rank) != (59, 6)
    ]
    events = read(module, "".join(lines))
    assert {one.pid: one.fields["op_count"] for one in events}[106] == 58
    assert len(events) == 16


def test_the_last_calls_of_writers_who_print_at_a_stretch_are_found():
    """As they do in one file, where each has a buffer."""
    lines = [
        f"node-07:{100 + rank}:1 [0] NCCL INFO AllReduce: opCount {number:x} sendbuff 0x7f01 "
        f"recvbuff 0x7f02 count 8 datatype 7 op 0 root 0 comm 0x55d{rank:x} [nranks=16] stream 0x1\n"
        for turn in range(3)
        for rank in range(16)
        for number in range(200 * turn, 200 * turn + (199 if (turn, rank) == (2, 6) else 200))
    ]
    events = read(module, "".join(lines))
    assert {one.pid: one.fields["op_count"] for one in events} == {
        100 + rank: 598 if rank == 6 else 599 for rank in range(16)
    }


def test_the_time_before_a_call_makes_no_writer_of_its_own():
    lines = [
        f"[2026-01-14 03:{number // 60:02d}:{number % 60:02d}] node-07:4121:1 [0] NCCL INFO AllReduce: "
        f"opCount {number:x} sendbuff 0x7f01 recvbuff 0x7f02 count 8 datatype 7 op 0 root 0 "
        "comm 0x55d0 [nranks=16] stream 0x1\n"
        for number in range(1000)
    ]
    assert [one.fields["op_count"] for one in read(module, "".join(lines))] == [999]
