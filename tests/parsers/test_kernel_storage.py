import pytest
from communication import check_table, read

from diagnose.model.event import Nature
from diagnose.parsers import kernel_storage


def test_samples_match_and_patterns_are_safe():
    check_table(kernel_storage)


@pytest.mark.parametrize(
    ("text", "kind", "device"),
    [
        ("nvme nvme2: I/O 123 QID 4 timeout, aborting", "nvme-timeout", "nvme2"),
        ("nvme nvme2: I/O 123 (Read) QID 4 timeout, aborting", "nvme-timeout", "nvme2"),
        ("nvme nvme2: I/O tag 123 (007b) opcode 0x2 (Read) QID 4 timeout, aborting req_op:READ(0) size:131072", "nvme-timeout", "nvme2"),
        ("nvme nvme2: I/O 123 QID 4 timeout, completion polled", "nvme-timeout", "nvme2"),
        ("nvme nvme2: Disabling device after reset failure: -19", "nvme-down", "nvme2"),
        ("block nvme2n1: no available path - failing I/O", "nvme-down", "nvme2n1"),
        ("blk_update_request: I/O error, dev sda, sector 81234 op 0x0:(READ) flags 0x80700", "io", "sda"),
        ("I/O error, dev nvme0n1, sector 81234 op 0x1:(WRITE) flags 0x800", "io", "nvme0n1"),
        ("Buffer I/O error on dev sda1, logical block 123, async page read", "io", "sda1"),
        ("python3: attempt to access beyond end of device", "io", None),
        ("critical medium error, dev sda, sector 81234 op 0x0:(READ)", "medium", "sda"),
        ("EXT4-fs (sda1): Remounting filesystem read-only", "read-only", None),
        ("XFS (nvme0n1): log I/O error -5", "filesystem", "nvme0n1"),
        ("XFS (nvme0n1): Corruption of in-memory data (0x8) detected at xfs_trans_cancel", "filesystem", "nvme0n1"),
        ("md/raid10:md127: Disk failure on nvme3n1, disabling device.", "raid", "nvme3n1"),
        ("LustreError: 167-0: fs0-OST0003-osc-ffff8: This client was evicted by fs0-OST0003; in progress operations using this service will fail.", "evicted", "fs0-OST0003"),
        ("Lustre: 8123:0:(client.c:2289:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply: [sent 1789361000/real 1789361000]  req@ffff8 x1/t0(0) o4->fs0-OST0003-osc-ffff8@10.0.1.7@o2ib:6/4", "slow-reply", "fs0-OST0003-osc-ffff8"),
        ("mmfs: [E] The current file system manager failed and no new manager will be appointed.", "gpfs", None),
        ("libceph: osd12 (1)10.0.0.9:6801 socket closed (con state OPEN)", "ceph", "libceph: osd12"),
    ],
)  # fmt: skip
def test_errors_of_disks_and_file_systems(text, kind, device):
    (event,) = read(kernel_storage, f"[ 8123.456789] {text}")
    assert event.name == "kernel.fs_error"
    assert (event.fields["kind"], event.fields.get("device")) == (kind, device)


def test_the_log_of_gpfs_itself():
    text = "2026-09-14_04:48:45.123+0000: [E] The current file system manager failed and no new manager will be appointed."
    (event,) = read(kernel_storage, text)
    assert event.fields["kind"] == "gpfs"


@pytest.mark.parametrize(
    ("text", "name", "server", "nature"),
    [
        ("nfs: server 10.0.3.4 not responding, timed out", "kernel.nfs_not_responding", "10.0.3.4", Nature.ERROR),
        ("nfs: server 10.0.3.4 OK", "kernel.nfs_ok", "10.0.3.4", Nature.MEASUREMENT),
        ("ceph: mds0 caps stale", "kernel.storage_lost", "ceph: mds0", Nature.ERROR),
        ("ceph: mds0 hung", "kernel.storage_lost", "ceph: mds0", Nature.ERROR),
    ],
)  # fmt: skip
def test_servers(text, name, server, nature):
    (event,) = read(kernel_storage, f"[ 8123.456789] {text}")
    assert (event.name, event.fields["server"], event.nature) == (name, server, nature)


@pytest.mark.parametrize(
    "text",
    [
        "EXT4-fs (sda1): mounted filesystem with ordered data mode",
        "nvme nvme2: 64/0/0 default/read/poll queues",
        "XFS (nvme0n1): Ending clean mount",
        "Lustre: fs0-OST0003-osc-ffff8: Connection to 10.0.1.7@o2ib is established",
        "loss [E] 3 of 4 experts lost their quorum",
    ],
)
def test_near_misses(text):
    assert read(kernel_storage, text) == []
