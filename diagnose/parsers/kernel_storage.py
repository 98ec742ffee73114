"""Kernel lines of disks and file systems, local and shared.

::

    nfs: server 10.0.3.4 not responding, still trying
    nvme nvme2: I/O 771 QID 9 timeout, reset controller
    EXT4-fs (sda1): Remounting filesystem read-only

``kernel.fs_error`` has ``kind``: io, medium, filesystem, read-only, nvme-timeout, nvme-down, raid,
evicted, lustre, slow-reply, stale, gpfs, ceph. ``kernel.nfs_not_responding`` and
``kernel.storage_lost`` are servers that do not answer; ``kernel.nfs_ok`` and
``kernel.storage_restored`` end that.

*Empty*: no storage reported anything; a stuck FUSE daemon reports nothing. *Cut off*: a line cut
short keeps what stands before the cut.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern

LINUX = "Linux 5.4 to 6.12"


def _storage(kind: str, regex: str, sample: str) -> Pattern:
    return Pattern(
        event="kernel.fs_error",
        regex=regex,
        nature=Nature.ERROR,
        source=f"{LINUX}, block, fs and drivers/nvme; Lustre 2.12 and later",
        sample=sample,
        constants={"kind": kind},
    )


def _server(event: str, regex: str, nature: Nature, sample: str) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=nature,
        source=f"{LINUX}, net/sunrpc/clnt.c; Lustre 2.12 and later, ptlrpc/import.c",
        sample=sample,
    )


_DEVICE = r"(?P<device>[\w.-]+)"
STORAGE = LineParser(
    name="kernel-storage",
    title="kernel lines of disks and file systems, local and shared",
    patterns=(
        _storage("io", rf"I/O error, dev {_DEVICE}, sector \d+", "blk_update_request: I/O error, dev sda, sector 81234 op 0x0:(READ)"),
        _storage("io", rf"Buffer I/O error on dev {_DEVICE}", "Buffer I/O error on dev sda1, logical block 1, async page read"),
        _storage("medium", rf"critical medium error, dev {_DEVICE}", "critical medium error, dev sda, sector 81234 op 0x0:(READ)"),
        _storage("filesystem", rf"EXT4-fs error \(device {_DEVICE}\): (?P<message>.*)", "EXT4-fs error (device nvme0n1p2): ext4_find_entry:1463: inode #2: comm python3: reading directory lblock 0"),
        _storage("filesystem", rf"XFS \({_DEVICE}\): (?P<message>.*(?:I/O error|Corruption|shut).*)", "XFS (nvme0n1): metadata I/O error in \"xfs_da_read_buf\" at daddr 0x8 len 8 error 5"),
        _storage("read-only", r"(?P<message>Remounting filesystem read-only)", "EXT4-fs (sda1): Remounting filesystem read-only"),
        _storage("nvme-timeout", r"nvme (?P<device>nvme\d+): I/O (?:tag )?\d+ .{0,60}QID \d+ timeout, (?P<message>[\w ]+)", "nvme nvme2: I/O 771 QID 9 timeout, reset controller"),
        _storage("nvme-down", r"nvme (?P<device>nvme\d+): (?P<message>controller is down; will reset.*|Disabling device after reset failure.*|Removing after probe failure.*)", "nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff"),
        _storage("nvme-down", rf"block {_DEVICE}: (?P<message>no available path - failing I/O)", "block nvme2n1: no available path - failing I/O"),
        _storage("io", r"(?P<message>attempt to access beyond end of device)", "python3: attempt to access beyond end of device"),
        _storage("raid", rf"md/raid[^:]*:.{{0,40}} Disk failure on {_DEVICE}", "md/raid1:md0: Disk failure on sda1, disabling device."),
        _storage("evicted", r"LustreError: .{0,120}This client was evicted by (?P<device>[\w-]+)", "LustreError: 167-0: fs0-OST0003-osc-ffff8: This client was evicted by fs0-OST0003; in progress operations using this service will fail."),
        _storage("lustre", r"LustreError: .{0,120}operation (?P<message>\w+ to node \S+ failed: rc = -\d+)", "LustreError: 11-0: fs0-OST0003-osc-ffff8: operation ost_write to node 10.0.1.7@o2ib failed: rc = -107"),
        _storage("slow-reply", r"(?P<message>Request sent has timed out for slow reply).{0,200}->(?P<device>[\w-]+)@", "Lustre: 8123:0:(client.c:2289:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply: [sent 1789361000/real 1789361000]  req@ffff8 x1/t0(0) o4->fs0-OST0003-osc-ffff8@10.0.1.7@o2ib:6/4"),
        _storage("gpfs", r"(?:\bmmfs\w*(?:\[\d+\])?: \[[EX]\] |^\[[EX]\] )(?P<message>.*(?:file system manager|expel|unmount|quorum|disk lease|[Dd]isk failure|Stale NFS).*)", "mmfs: [E] The current file system manager failed and no new manager will be appointed."),
        _storage("ceph", r"(?P<device>libceph: osd\d+) .{0,60}(?P<message>socket closed)", "libceph: osd12 (1)10.0.0.9:6801 socket closed (con state OPEN)"),
        _storage("stale", r"NFS: .{0,80}(?P<message>Lock reclaim failed|Stale file handle)", "NFS: nfs4_reclaim_open_state: Lock reclaim failed!"),
        _server("kernel.nfs_not_responding", r"nfs: server (?P<server>\S+) not responding, (?P<message>still trying|timed out)", Nature.ERROR, "nfs: server 10.0.3.4 not responding, still trying"),
        _server("kernel.nfs_ok", r"nfs: server (?P<server>\S+) OK", Nature.MEASUREMENT, "nfs: server 10.0.3.4 OK"),
        _server("kernel.storage_lost", r"Lustre: .{0,80}Connection to (?P<server>[\w-]+) \(at (?P<address>\S+)\) was lost", Nature.ERROR, "Lustre: fs0-OST0003-osc-ffff8: Connection to fs0-OST0003 (at 10.0.1.7@o2ib) was lost; in progress operations using this service will wait for recovery to complete"),
        _server("kernel.storage_restored", r"Lustre: .{0,80}Connection restored to (?P<server>\S+)", Nature.MEASUREMENT, "Lustre: fs0-OST0003-osc-ffff8: Connection restored to 10.0.1.7@o2ib (at 10.0.1.7@o2ib)"),
        _server("kernel.storage_lost", r"(?P<server>ceph: mds\d+) .{0,60}(?:hung|caps stale)", Nature.ERROR, "ceph: mds0 caps stale"),
    ),
)  # fmt: skip

PARSERS = (STORAGE,)
