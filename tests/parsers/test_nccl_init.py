import pytest
from communication import check_table, cut_anywhere, holds, names, one, read

from diagnose.model.event import Nature
from diagnose.parsers import nccl_init as module

WHO = "node-07:4121:4388 [3] NCCL INFO "


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "event", "expected"),
    [
        ("NCCL version 2.8.4+cuda11.1", "nccl.version", {"value": "2.8.4", "cuda": "11.1", "fact": "nccl.version"}),
        (WHO + "NCCL version 2.27.6+cuda12.8", "nccl.version", {"value": "2.27.6", "cuda": "12.8", "host": "node-07", "pid": 4121}),
        ("RCCL version 2.18.3+hip6.0 HEAD:2f6d59e", "nccl.version", {"value": "2.18.3", "hip": "6.0", "library": "rccl"}),
        ("RuntimeError: NCCL error in: ../NCCLUtils.hpp:268, unhandled system error, NCCL version 2.14.3", "nccl.version", {"value": "2.14.3"}),
        (WHO + "cudaDriverVersion 11040", "nccl.cuda_driver", {"value": "11.4", "fact": "cuda.driver"}),
        (WHO + "comm 0x7f00 rank 3 nranks 8 - COMPLETE", "nccl.comm_init", {"phase": "complete", "comm": "0x7f00", "comm_rank": 3, "nranks": 8, "rank": None}),
        (WHO + "comm 0x7f00 rank 3 nranks 8 cudaDev 3 nvmlDev 3 - Init COMPLETE", "nccl.comm_init", {"cuda_dev": 3, "nvml_dev": 3, "gpu": "3"}),
        (WHO + "comm 0x7f00 rank 3 nranks 8 cudaDev 3 busId 1b000 - Init COMPLETE", "nccl.comm_init", {"gpu": "0000:1b:00.0", "communicator": None}),
        (WHO + "comm 0x7f00 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9f - Init START", "nccl.comm_init", {"phase": "start", "communicator": "0x9f", "nature": Nature.SETTING}),
        (WHO + "ncclCommSplit comm 0x7f00 rank 1 nranks 2 cudaDev 3 nvmlDev 3 busId 5d000 parent 0x7e00 splitCount 2 color 14 key 3- Init START", "nccl.comm_init", {"api": "ncclCommSplit", "parent": "0x7e00", "child": 2, "color": 14, "key": 3, "communicator": None}),
        (WHO + "[Rank 3] ncclCommInitRank comm 0x7f00 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9f - Init START", "nccl.comm_init", {"comm_rank": 3, "communicator": "0x9f", "rank": None}),
        (WHO + "comm 0x7f00 rank 3 nranks 8 cudaDev 3 busId c1000 localSize 304 used 2163 bytes - Init COMPLETE", "nccl.comm_init", {"phase": "complete", "gpu": "0000:c1:00.0"}),
        (WHO + "comm 0x7f00 rank 3 nranks 8 cudaDev 3 busId 5d000 - Abort COMPLETE", "nccl.comm_end", {"phase": "Abort COMPLETE", "nature": Nature.TEARDOWN}),
        (WHO + "Using network AWS Libfabric", "nccl.network", {"value": "AWS Libfabric", "fact": "nccl.net"}),
        (WHO + "NET/OFI Selected Provider is tcp (found 2 nics)", "nccl.ofi_provider", {"value": "tcp", "nics": 2}),
        (WHO + "NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.0.0.7<0>", "nccl.ib.devices", {"devices": ["mlx5_0:1/IB"], "value": "mlx5_0", "oob_interface": "ib0", "oob_address": "10.0.0.7"}),
        (WHO + "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE [RO]; OOB eth0:fe80::1%eth0<0>", "nccl.ib.devices", {"hcas": ["mlx5_0", "mlx5_bond_0"], "layers": ["IB", "RoCE"], "oob_address": "fe80::1%eth0"}),
        (WHO + "NET/Socket : Using [0]eth0:10.0.0.7<0> [1]br-3f9a:172.18.0.1<0> [2]veth7c1d:fe80::1%veth7c1d<0>", "nccl.socket.interfaces", {"interfaces": ["eth0", "br-3f9a", "veth7c1d"], "addresses": ["10.0.0.7", "172.18.0.1", "fe80::1%veth7c1d"], "virtual": ["br-3f9a", "veth7c1d"]}),
        (WHO + "Bootstrap : Using [0]eth0:10.0.0.7<0> [1]eth1:10.0.1.7<0>", "nccl.bootstrap_interface", {"interface": "eth0", "address": "10.0.0.7", "value": "eth0"}),
        (WHO + "Bootstrap: Using docker0:172.17.0.1<0>", "nccl.bootstrap_interface", {"value": "docker0", "virtual": ["docker0"]}),
        (WHO + "GPU Direct RDMA Enabled for GPU 5d000 / HCA 0 (distance 4 <= 4), read 0", "nccl.gdr", {"enabled": True, "hca_index": "0", "gpu": "3"}),
        (WHO + "NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1' (no module)", "nccl.gdr", {"enabled": False, "value": False, "hca": "mlx5_1", "reason": "no module"}),
        (WHO + "NET/IB : GPU Direct RDMA (nvidia-peermem) enabled for HCA 0 'mlx5_0", "nccl.gdr", {"enabled": True, "hca": "mlx5_0"}),
        (WHO + "2 coll channels, 0 nvls channels, 2 p2p channels", "nccl.channels", {"value": 2}),
    ],
)  # fmt: skip
def test_lines(text, event, expected):
    assert holds(one(module, text), expected) == {}
    assert one(module, text).name == event


@pytest.mark.parametrize(
    "text",
    [
        "NCCL library is too old. This application was compiled with NCCL version 2.30.7, but is running with 2.27",
        "please upgrade to NCCL version 2.20.5 or later",
        WHO + "NET/Plugin: Using internal network plugin.",
        WHO + "NET/IB : Using",
        WHO + "comm 0x7f00 rank 3 nranks 8",
        "",
        "\x00\xff",
    ],
)
def test_near_misses(text):
    assert names(module, text) == []


def test_record_without_its_prefix():
    event = one(
        module, "NCCL INFO comm 0x7f00 rank 3 nranks 8 cudaDev 3 busId 5d000 - Init COMPLETE"
    )
    assert (event.fields["comm_rank"], event.host, event.gpu) == (3, None, "0000:5d:00.0")


def test_glued_records_are_both_read():
    text = WHO + "NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1' (no module)"
    text += "node-08:77:91 [0] NCCL INFO Using network Socket"
    assert [(event.host, event.name) for event in read(module, text)] == [
        ("node-07", "nccl.gdr"),
        ("node-08", "nccl.network"),
    ]


def test_cut_records():
    cut_anywhere(
        module, WHO + "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.7<0>"
    )
