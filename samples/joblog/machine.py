"""What the kernel and the fabric tools of a host say."""

from collections.abc import Collection

from joblog.job import Job


def kernel(job: Job, host: str, moment: float, text: str) -> str:
    """Return a line as ``dmesg -T`` prints it, in the zone of the host."""
    return f"[{job.clock(host, moment):%a %b %e %H:%M:%S %Y}] {text}\n"


def boot(job: Job, host: str) -> str:
    """Return some harmless lines from before the job."""
    return "".join(
        kernel(job, host, before, text)
        for before, text in (
            (-7210.0, "mlx5_core 0000:52:00.0: firmware version: 28.41.1000"),
            (-7198.0, "nvidia-nvlink: Nvlink Core is being initialized, major device number 511"),
            (
                -7190.0,
                "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  "
                "Release Build  (builder@build)",
            ),
        )
    )


def gpu_lost(job: Job, rank: int, moment: float) -> str:
    """Return what the kernel says of a GPU that left the bus."""
    host, pci = job.host(rank), job.pci(rank)
    texts = [
        f"NVRM: GPU at PCI:{pci}: GPU-5d1f0c8a-77aa-4d4f-8f0e-{job.pid(rank):012x}",
        f"NVRM: Xid (PCI:{pci}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        f"NVRM: GPU {pci}.0: GPU has fallen off the bus.",
        f"NVRM: Xid (PCI:{pci}): 154, pid='<unknown>', name=<unknown>, GPU recovery action "
        "changed from 0x0 (None) to 0x2 (Node Reboot Required)",
    ]
    return "".join(kernel(job, host, moment, text) for text in texts)


def out_of_memory(job: Job, rank: int, moment: float, pid: int, slurm: int) -> str:
    """Return what the kernel says when a rank has used up the memory of its job on the host.

    Args:
        job: Facts.
        rank: Whose process dies.
        moment: Seconds since the start.
        pid: Of the process as the host counts.
        slurm: Job id.
    """
    host = job.host(rank)
    group = f"/system.slice/slurmstepd.scope/job_{slurm}"
    texts = [
        "pt_main_thread invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "memory: usage 943718400kB, limit 943718400kB, failcnt 9182",
        "Tasks state (memory values in pages):",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        f"[ {pid:6d}]  1001 {pid} 61234567 28311552 231276544        0             0 pt_main_thread",
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job_{slurm},mems_allowed=0-1,"
        f"oom_memcg={group},task_memcg={group}/step_0/user/task_{job.local(rank)},"
        f"task=pt_main_thread,pid={pid},uid=1001",
        f"Memory cgroup out of memory: Killed process {pid} (pt_main_thread) total-vm:244938268kB, "
        "anon-rss:112345678kB, file-rss:456780kB, shmem-rss:901112kB, UID:1001 pgtables:225856kB "
        "oom_score_adj:0",
    ]
    return "".join(kernel(job, host, moment, text) for text in texts)


def ibstatus(job: Job, host: str, down: Collection[str] = ()) -> str:
    """Return the ports of a host as ``ibstatus`` prints them.

    Args:
        job: Facts.
        host: Where.
        down: Adapters whose cable is out.
    """
    number = job.first_host + job.hosts.index(host)
    blocks = []
    for card in range(job.gpus):
        dead = f"mlx5_{card}" in down
        state, phys = ("1: DOWN", "2: Polling") if dead else ("4: ACTIVE", "5: LinkUp")
        rate = "10 Gb/sec (4X SDR)" if dead else "400 Gb/sec (4X NDR)"
        lid = "0xffff" if dead else f"0x{16 * number + card:x}"
        blocks.append(
            f"Infiniband device 'mlx5_{card}' port 1 status:\n"
            f"\tdefault gid:\t fe80:0000:0000:0000:a088:c203:00ab:{number:02x}{card:02x}\n"
            f"\tbase lid:\t {lid}\n\tsm lid:\t\t 0x1\n\tstate:\t\t {state}\n"
            f"\tphys state:\t {phys}\n\trate:\t\t {rate}\n\tlink_layer:\t InfiniBand\n"
        )
    return "\n".join(blocks) + "\n"
