"""What is named as the cause where one message of NCCL is the only trouble of a job of four ranks."""

import sys
from pathlib import Path

import pytest

import diagnose

sys.path.insert(0, str(Path(__file__).parent / "parsers"))
import nccl_rows  # noqa: E402

NOBODY = None
"""No cause that one may be sure of: nothing, or an open cause below 0.6."""

OPEN = ("comms.timeout-unexplained", "comms.rank-missing")


def start(rank):
    host, ip, device = (
        ("node-07", "10.0.0.7", rank) if rank < 2 else ("node-08", "10.0.0.8", rank - 2)
    )
    head = f"{host}:412{rank}:438{rank} [{device}] NCCL INFO "
    comm = (
        f"ncclCommInitRank comm 0x55d{rank} rank {rank} nranks 4 cudaDev {device} nvmlDev {device}"
        f" busId {device + 1}b000 commId 0x9f1c2b3a - Init"
    )
    lines = [
        f"Bootstrap: Using eth0:{ip}<0>",
        "NCCL version 2.27.6+cuda12.8",
        f"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:{ip}<0>",
        "Using network IB",
        f"{comm} START",
        f"comm 0x55d{rank} rank {rank} nRanks 4 nNodes 2 localRanks 2 localRank {device} MNNVL 0",
        f"{comm} COMPLETE",
    ]
    return "".join(f"{head}{line}\n" for line in lines)


STARTS = {f"rank{rank}.log": start(rank) for rank in range(4)}
WARN = "[2026-01-05 10:00:00] node-08:4122:4402 [0] {file}:77 NCCL WARN "
INFO = "node-08:4122:4402 [0] NCCL INFO "


def roots(folder, line, more=()):
    logs = dict(STARTS)
    logs["rank2.log"] += line
    for name, text in dict(more).items():
        logs[name] = logs.get(name, "") + text
    for name, text in logs.items():
        (folder / name).write_text(text)
    return [one for one in diagnose.run([folder]).findings if one.role == "root"]


def check(found, cause):
    if cause is NOBODY:
        assert all(one.cause in OPEN and one.confidence < 0.6 for one in found), found
    else:
        assert [one.cause for one in found] == [cause]


def test_the_start_alone_is_no_trouble(tmp_path):
    assert roots(tmp_path, "") == []


@pytest.mark.parametrize(
    ("row", "cause"),
    [(row, nccl_rows.CAUSES[row.text]) for row in (*nccl_rows.WARNINGS, *nccl_rows.CUDA)],
    ids=lambda value: getattr(value, "text", str(value))[:60],
)
def test_a_warning_alone(row, cause, tmp_path):
    check(roots(tmp_path, WARN.format(file=row.file) + row.text + "\n"), cause)


STATUS = {
    1: "comms.collective-mismatch", 2: "comms.nccl-bug", 4: "comms.gdr-unavailable", 5: NOBODY,
    6: "comms.nccl-bug", 7: "comms.packet-loss", 8: "comms.nccl-bug",
    9: "comms.collective-mismatch", 10: NOBODY, 11: "comms.rdma-device-unusable",
    12: "comms.rdma-retry-exceeded", 13: "comms.nccl-bug", 14: "comms.nccl-bug",
    16: "comms.nccl-bug", 19: "comms.rdma-device-unusable", 20: "comms.rdma-retry-exceeded",
    21: "comms.rdma-retry-exceeded",
}  # fmt: skip


@pytest.mark.parametrize(("status", "cause"), STATUS.items())
def test_a_failed_completion_alone(status, cause, tmp_path):
    text = f"NET/IB: Got completion from peer 10.0.0.7<44206> with status={status} opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n"
    check(roots(tmp_path, WARN.format(file="transport/net_ib.cc") + text), cause)


ENV = "node-08:4122:4402 [0] NCCL INFO {} set by environment to {}\n"
XID = "[Mon Jan  5 09:59:58 2026] NVRM: Xid (PCI:0000:2b:00): 79, pid=1, GPU has fallen off the bus.\n"
IOMMU = "[Mon Jan  5 09:59:58 2026] DMAR: [DMA Read NO_PASID] Request device [5d:00.0] fault addr 0x7f1000000000 [fault reason 0x06] PTE Read access is not set\n"
DOWN = "2026-01-05T09:59:50+00:00 node-08 kernel: mlx5_core 0000:1a:00.0 ens1np0: Link down\n"
HEALTH = "2026-01-05T09:59:50+00:00 node-08 kernel: mlx5_core 0000:1a:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:\n"
RESTART = "I0105 09:59:00.000000 26021 site-packages/torch/distributed/elastic/agent/server/api.py:905] [default] Worker group FAILED. 3/3 attempts left; will restart worker group\n"


def completion(status):
    return f"NET/IB: Got completion from peer 10.0.0.7<44206> with status={status} opcode=0 len=0 vendor err 129 (Send) hca mlx5_0"


@pytest.mark.parametrize(
    ("text", "more", "cause"),
    [
        (completion(4), {"dmesg-node-08.txt": IOMMU}, "comms.p2p-blocked"),
        (completion(8), {"dmesg-node-08.txt": IOMMU}, "comms.p2p-blocked"),
        (completion(10), {"dmesg-node-08.txt": IOMMU}, "comms.p2p-blocked"),
        (completion(11), {"dmesg-node-07.txt": XID}, "resources.gpu-lost"),
        (completion(12), {"dmesg-node-07.txt": XID}, "resources.gpu-lost"),
        (completion(13), {"dmesg-node-08.txt": HEALTH}, "comms.rdma-device-unusable"),
        (completion(12), {"dmesg-node-08.txt": DOWN}, "comms.link-down"),
        ("NET/IB : mlx5_0:1 async fatal event on CQ (0x7f10aa): CQ error", {"dmesg-node-08.txt": HEALTH}, "comms.rdma-device-unusable"),
        ("NET/IB : Local mergedDev mlx5_0 has a different number of devices=1 as remote mlx5_0+mlx5_1 2", {"dmesg-node-08.txt": DOWN}, "comms.link-down"),
        ("Detected mixed local Net device counts across ranks (min 7, max 8). Set NCCL_IGNORE_NET_MISMATCH=1 to continue.", {"dmesg-node-08.txt": DOWN}, "comms.link-down"),
        ("Bootstrap Root : rank 3 of 4 ranks has already checked in", {"agent.log": RESTART}, "comms.rendezvous-failed"),
        ("cudaIpcGetMemHandle failed : invalid argument", {"env.sh": "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"}, "comms.nccl-bug"),
        ("No transport found for rank 3[5d000] -> rank 1[6f000]", {"rank2.log": ENV.format("NCCL_SHM_DISABLE", "1.") + ENV.format("NCCL_P2P_DISABLE", "1.")}, "comms.p2p-disabled"),
        ("Failed to determine local ranks rank 3 hostHash 7ab pidHash 1f2 intraProcRank 0", {"rank2.log": ENV.format("NCCL_HOSTID", "node-07")}, "comms.env-mismatch"),
        ("Cannot initialize CollNet, using point-to-point network instead", {"rank2.log": ENV.format("NCCL_COLLNET_ENABLE", "1.")}, "comms.plugin-failed"),
        ("NET/IB : mlx5_2:1 GID table changed", {"rank1.log": "[2026-01-05 10:00:30] node-07:4121:4402 [1] transport/net_ib.cc:1 NCCL WARN " + completion(12).replace("10.0.0.7", "10.0.0.8") + "\n"}, "comms.gid-index"),
    ],
)  # fmt: skip
def test_other_evidence_decides(text, more, cause, tmp_path):
    found = roots(tmp_path, WARN.format(file="a.cc") + text + "\n", more)
    assert found and found[0].cause == cause, [(one.cause, one.confidence) for one in found]


CASCADES = [
    row for row in (*nccl_rows.WARNINGS, *nccl_rows.INFOS) if row.fields.get("nature") == "effect"
]
FAULTS = {
    "resources.gpu-lost": {"dmesg-node-07.txt": XID},
    "dataflow.rank-exception": {"rank1.log": "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/job/train.py\", line 7, in step\n[rank1]: ValueError: bad sample\n"},
}  # fmt: skip


@pytest.mark.parametrize("cause", FAULTS)
@pytest.mark.parametrize("row", CASCADES, ids=lambda row: row.text[:60])
def test_a_consequence_is_no_root_beside_the_cause(row, cause, tmp_path):
    head = INFO if row in nccl_rows.INFOS else WARN.format(file=row.file)
    check(roots(tmp_path, head + row.text + "\n", FAULTS[cause]), cause)


@pytest.mark.parametrize(
    ("line", "times", "cause"),
    [
        ("Call to connect returned Connection refused, retrying", 20, NOBODY),
        ("Call to connect returned Connection refused, retrying", 300, "comms.connection-refused"),
        ("socketPollConnect: connect to 10.0.0.9<56821> returned Connection refused, retrying (3/34) after sleep for 300 msec", 3, NOBODY),
        ("socketPollConnect: connect to 10.0.0.9<56821> returned Connection refused, retrying (33/34) after sleep for 3300 msec", 1, "comms.connection-refused"),
        ("fallocate: Failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28) - retrying", 3, "comms.shm-too-small"),
    ],
)  # fmt: skip
def test_what_is_tried_again_is_trouble_when_it_goes_on(line, times, cause, tmp_path):
    check(roots(tmp_path, (INFO + line + "\n") * times), cause)


@pytest.mark.parametrize("row", nccl_rows.INFOS, ids=lambda row: row.text[:60])
def test_of_what_nccl_tolerates_nothing_is_certain(row, tmp_path):
    found = roots(tmp_path, INFO + row.text + "\n")
    assert all(one.confidence < 0.6 for one in found), found
