import pytest
from communication import check_table, cut_anywhere, holds, names, one, read

from diagnose.model.event import Nature
from diagnose.parsers import nccl_ib as module

WARN = "node-07:4121:4402 [3] transport/net_ib.cc:2279 NCCL WARN "
INFO = "node-07:4121:4402 [3] NCCL INFO "


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NET/IB : Got completion with error 12, opcode 32600, len 32630, vendor err 129", {"status": 12, "status_name": "RETRY_EXC_ERR", "vendor_error": 129}),
        ("NET/IB : Got completion from peer 10.0.0.9<44206> with error 5, opcode 48, len 0, vendor err 249", {"status": 5, "peer": "10.0.0.9", "nature": Nature.EFFECT}),
        ("NET/IB : Got completion from peer 10.0.0.9<44206> with error 12, opcode 0, len 0, vendor err 129 (Recv) localGid fe80::1 remoteGid fe80::2", {"direction": "recv", "local_gid": "fe80::1", "remote_gid": "fe80::2", "nature": Nature.ERROR}),
        ("NET/IB : Got completion from peer 10.0.0.9<44206> with status=10 opcode=32698 len=0 vendor err 136 (Send)", {"status": 10, "vendor_error": 136, "direction": "send"}),
        ("NET/IB: Got completion from peer node-09<44206> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.20.3.7 remoteGids::ffff:10.20.3.9 hca mlx5_3", {"peer": "node-09", "hca": "mlx5_3", "nic": "mlx5_3", "local_gid": "::ffff:10.20.3.7", "remote_gid": "::ffff:10.20.3.9"}),
        ("NET/IB: Got completion from peer 10.0.0.9<44206> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=244 req_type=Send localGid fe80::a remoteGidsfe80::b hca mlx5_0", {"status": 5, "status_name": "WR_FLUSH_ERR", "vendor_error": 244, "direction": "send", "hca": "mlx5_0", "nature": Nature.EFFECT}),
        ("NET/IB/GIN: Got completion from peer 10.0.0.9<44206> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 localGid fe80::a remoteGidsfe80::b hca mlx5_0", {"status": 12, "hca": "mlx5_0"}),
    ],
)  # fmt: skip
def test_completion_errors_of_each_generation(text, expected):
    event = one(module, WARN + text)
    assert event.name == "nccl.ib.completion_error"
    assert holds(event, {"host": "node-07", "pid": 4121, "gpu": "3", **expected}) == {}
    assert not {"opcode", "len"} & event.fields.keys()


def test_pasted_without_host_and_after_last_error():
    text = "NET/IB : Got completion from peer 10.0.0.9<44206> with error 12, opcode 0, len 0, vendor err 129"
    assert one(module, text).nature is Nature.ERROR
    assert one(module, "[3] transport/net_ib.cc:1 NCCL WARN " + text).fields["status"] == 12


def test_two_records_on_one_line():
    text = (WARN + "NET/IB : Got completion with error 12, opcode 1, len 2, vendor err 129") * 2
    assert [event.fields["vendor_error"] for event in read(module, text)] == [129, 129]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WARN + "NET/IB : Got async event : port error", {"event": "port error", "severity": "error", "fatal": False, "nic": None, "nature": Nature.ERROR}),
        (WARN + "NET/IB : mlx5_2:1 Got async event : port error", {"hca": "mlx5_2", "nic": "mlx5_2", "port": 1}),
        (WARN + "NET/IB : mlx5_2:1 Got async error event: port active", {"nature": Nature.PROGRESS, "severity": "benign"}),
        (INFO + "NET/IB : mlx5_0:1 Got non-fatal async event: GID table change(18)", {"event": "GID table change", "severity": "benign", "nature": Nature.MEASUREMENT}),
        (INFO + "NET/IB : mlx5_2:1 Got non-fatal async event: port error(10)", {"event": "port error", "nature": Nature.ERROR}),
        (WARN + "NET/IB : mlx5_2:1 async fatal event: local catastrophic error", {"event": "local catastrophic error", "fatal": True, "severity": "fatal", "nature": Nature.ERROR}),
        (WARN + "NET/IB : mlx5_2:1 async fatal event on QP (0x7f10aa): local access violation work queue error", {"object": "QP", "event": "local access violation work queue error"}),
    ],
)  # fmt: skip
def test_async_events(text, expected):
    event = one(module, text)
    assert event.name == "nccl.ib.async_event"
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (WARN + "Call to ibv_modify_qp failed with error Connection timed out", "nccl.ib.modify_qp_failed", {"errno": 110, "error": "Connection timed out", "retrying": False}),
        (WARN + "Call to ibv_modify_qp failed with error Invalid argument errno 22", "nccl.ib.modify_qp_failed", {"errno": 22, "error": "Invalid argument"}),
        (WARN + "Call to ibv_modify_qp failed with 22 Invalid argument, on dev mlx5_3:1, curr state INIT, next state RTR, local GID index 1, local GID fe80::7, remote GID ::ffff:10.20.3.9", "nccl.ib.modify_qp_failed", {"errno": 22, "device": "mlx5_3:1", "nic": "mlx5_3", "gid_index": 1, "local_gid": "fe80::7", "remote_gid": "::ffff:10.20.3.9", "nature": Nature.ERROR}),
        (INFO + "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.20.3.7, remote GID ::ffff:10.20.3.9, retrying 2/34 after 300 msec of sleep", "nccl.ib.modify_qp_failed", {"retrying": True, "nature": Nature.EFFECT}),
        (WARN + "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "nccl.ib.reg_mr_failed", {"call": "ibv_reg_mr_iova2", "errno": 12, "nature": Nature.ERROR}),
        (INFO + "Call to ibv_reg_dmabuf_mr failed with error Operation not supported", "nccl.ib.reg_mr_failed", {"errno": 95, "level": "INFO", "nature": Nature.MEASUREMENT}),
        (WARN + "Call to ibv_create_cq failed with error Operation not permitted", "nccl.ib.call_failed", {"call": "ibv_create_cq", "errno": 1}),
        (WARN + "Call to ibv_poll_cq() returned -1", "nccl.ib.call_failed", {"call": "ibv_poll_cq", "error": "-1"}),
        (WARN + "Call to ibv_open_device failed", "nccl.ib.open_failed", {"call": "ibv_open_device"}),
        (WARN + "NET/IB : Unable to open device mlx5_bond_0", "nccl.ib.open_failed", {"device": "mlx5_bond_0", "nic": "mlx5_bond_0"}),
        (INFO + "NET/IB : No device found.", "nccl.ib.no_device", {"nature": Nature.SETTING}),
        (WARN + "NET/IB : Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [0]mlx5_4:1/RoCE. Try selecting NICs of only one link type using NCCL_IB_HCA", "nccl.ib.incompatible", {"local": "mlx5_0:1", "remote_layer": "RoCE"}),
    ],
)  # fmt: skip
def test_verbs_and_devices(text, name, expected):
    event = one(module, text)
    assert event.name == name
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    "text",
    [
        INFO
        + "HINT: In many cases this error occurs when NCCL_IB_TIMEOUT is too small or a port error was seen",
        INFO + "NET/IB : Got completion",
        INFO + "transport/net_ib.cc:2279 -> 6",
        "check that no port error counters rise before you restart",
        "the async event loop of the server started",
        INFO + "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.7<0>",
    ],
)
def test_hints_and_near_misses_are_no_evidence(text):
    assert names(module, text) == []


def test_cut_records():
    cut_anywhere(
        module,
        WARN
        + "NET/IB: Got completion from peer 10.0.0.9<44206> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 (Send) localGid fe80::a remoteGidsfe80::b hca mlx5_0",
    )
