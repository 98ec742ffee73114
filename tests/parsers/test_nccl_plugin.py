import pytest
from communication import check_table, cut_anywhere, holds, names, one

from diagnose.model.event import Nature
from diagnose.parsers import nccl_plugin as module

EFA = (
    "libfabric:4121:1767600000::efa:cq:efa_rdm_cq_handle_error():90<warn> err: 5, message: Unresponsive"
    " receiver (reachable by EFA device but handshake failed) My EFA addr: fi_addr_efa://[fe80::7]:0:1"
    " My host id: i-0a1b2c3d Peer EFA addr: fi_addr_efa://[fe80::9]:0:1 Peer host id: i-0d4e5f6a"
)


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (EFA, "nccl.ofi_peer_lost", {"pid": 4121, "code": 5, "error": "Unresponsive receiver (reachable by EFA device but handshake failed)", "instance": "i-0a1b2c3d", "peer": "i-0d4e5f6a"}),
        ("[1716343707.920000] [node-07:4121:0]   cuda_copy_md.c:483  UCX  ERROR cuMemGetAddressRange failed", "nccl.ucx_error", {"host": "node-07", "pid": 4121, "source_file": "cuda_copy_md.c", "message": "cuMemGetAddressRange failed", "time": 1716343707.92}),
        ("node-07:4121:4388 [3] NCCL INFO NET/Plugin: Failed to initialize NET plugin Libfabric", "nccl.plugin_failed", {"plugin": "Libfabric", "nature": Nature.MEASUREMENT, "level": "INFO"}),
    ],
)  # fmt: skip
def test_what_other_libraries_print(text, name, expected):
    event = one(module, text, name)
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[1716343707.92] [node-07:4121:0] ucp_context.c:1774 UCX  INFO  UCP version is 1.15",
        "[1716343707.92] [node-07:4121:0] cuda_copy_md.c:483 UCX  WARN  Memory registration might take long",
        "node-07:4121:4388 [3] NCCL INFO P2P plugin IBext_v8",
        "node-07:4121:4388 [3] NCCL INFO NET/OFI Using transport protocol RDMA",
        "node-07:4121:4388 [3] NCCL INFO SHARP rank 0/4 initialized on node-07",
        "node-07:4121:4388 [3] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.",
    ],
)
def test_probing_and_versions_are_no_failure(text):
    assert names(module, text) == []


def test_cut_off_lines():
    cut_anywhere(module, EFA)
