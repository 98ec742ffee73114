"""RCCL prints what NCCL prints, with a banner, edges and settings of its own."""

import nccl_rows
import pytest
from communication import holds, one, read

from diagnose.parsers import nccl_bulk, nccl_device, nccl_graph, nccl_init

INFO = "node-07:4121:4388 [3] NCCL INFO "


def test_the_banner_has_three_lines():
    text = "RCCL version : 2.21.5-HEAD:1a2b3c4\nHIP version  : 6.2.41133-dd7f95766\nROCm version : 6.2.0.0-66-3a1b2c3\n"
    version, rocm = read(nccl_init, text)
    assert holds(version, {"value": "2.21.5", "library": "rccl"}) == {}
    assert holds(rocm, {"value": "6.2.0", "fact": "rocm.version"}) == {}


def test_the_banner_of_older_releases():
    assert (
        holds(
            one(nccl_init, "RCCL version 2.18.3+hip6.0 HEAD:1a2b3c4"),
            {"value": "2.18.3", "hip": "6.0"},
        )
        == {}
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Channel 00/0 : 0[c1000] -> 1[c6000] via P2P/IPC comm 0x55d01c30 nRanks 08", {"src": 0, "dst": 1, "transport": "P2P/IPC"}),
        ("Channel 00/0 : 8[c1000] -> 0[c1000] [receive] via NET/IB/0/GDRDMA comm 0x55d01c30 nRanks 16", {"transport": "NET/IB", "gdr": True, "device": 0}),
        ("Channel 00/0 : 0[c1000] -> 1[c6000] via SHM/direct/direct comm 0x55d01c30 nRanks 08", {"transport": "SHM"}),
    ],
)  # fmt: skip
def test_edges_end_in_their_communicator(text, expected):
    assert holds(one(nccl_bulk, INFO + text), expected) == {}


def test_the_link_between_gpus_has_another_name():
    text = (
        "Pattern 4, crossNic 0, nChannels 28, bw 48.000000/48.000000, type XGMI/PIX, sameChannels 1"
    )
    assert one(nccl_graph, INFO + text).fields["type"] == "XGMI"


def test_errors_of_hip_keep_the_words_of_cuda():
    for word in ("Cuda", "HIP", "hip"):
        line = (
            nccl_rows.HEADERS["2.3"].format(file="include/alloc.h")
            + f"{word} failure 'out of memory'"
        )
        assert one(nccl_device, line, "nccl.cuda_failure").fields["error"] == "out of memory"
