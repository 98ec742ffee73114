"""Write the logs of the samples that come from stated facts.

::

    python samples/generate.py            # all of them
    python samples/generate.py NAME...    # some

What happened stands in ``scenarios``, how a program prints it in ``joblog``. The expected reports
are written by hand, beside the logs; the tests hold the logs to what this writes.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from joblog.book import Book, Files, by_host, by_rank
from joblog.delivery import hosts_gzipped, srun_labels, torchrun_tee
from joblog.job import Job
from scenarios import network, processes, waits

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """One sample.

    Args:
        tell: Makes the book of what was written.
        layout: Of its files.
    """

    tell: Callable[[], Book]
    layout: Callable[[Book], Files] = by_rank

    def files(self) -> Files:
        """Return the logs by name."""
        return self.layout(self.tell())


def job(world: int, start: str, **more: object) -> Job:
    """Return the facts of a job that starts at a time such as ``2026-02-03 04:05:06``."""
    return Job(world=world, start=datetime.fromisoformat(start), **more)  # type: ignore[arg-type]


def _without_host(book: Book, host: str) -> Book:
    return Book(book.job, [entry for entry in book.entries if entry.host != host])


SAMPLES = {
    "comms/rank-never-entered-256": Sample(
        lambda: waits.never_entered(job(256, "2026-05-04 09:00:00"), 137), hosts_gzipped
    ),
    "comms/all-wait-nobody-to-blame": Sample(
        lambda: waits.everybody_waits(job(64, "2026-02-11 22:10:00", torch="2.4")), srun_labels
    ),
    "comms/link-down-peers-retry": Sample(
        lambda: network.link_down(
            job(32, "2026-03-17 01:30:00", nccl="2.27.5", cuda="12.8", torch="2.8", first_host=41,
                settings={"NCCL_SOCKET_IFNAME": "eth0", "NCCL_IB_HCA": "mlx5", "NCCL_IB_TIMEOUT": "22"}),
            "node-43", 6,
        )
    ),
    "comms/leaf-down-behind-inventory": Sample(
        lambda: network.leaf_down(
            job(128, "2026-06-09 13:20:00", nccl="2.27.5", cuda="12.8", torch="2.8"),
            [f"node-{number:02d}" for number in range(5, 9)], 2,
        ),
        by_host,
    ),
    "comms/one-host-other-nccl": Sample(
        lambda: network.other_version(
            job(32, "2026-01-22 15:00:00", nccl="2.26.2", nccl_on={"node-12": "2.22.3"},
                first_host=11)
        ),
        by_host,
    ),
    "comms/one-host-on-sockets": Sample(
        lambda: network.slow_over_sockets(
            job(32, "2026-04-09 06:20:00", net_on={"node-24": "Socket"}, first_host=21)
        )
    ),
    "comms/bridge-chosen-on-one-host": Sample(
        lambda: network.wrong_interface(
            job(16, "2026-02-02 08:00:00", gpus=4, net="Socket", interface="eno1", first_host=61,
                bootstrap_on={"node-63": "virbr0:192.168.122.1"})
        ),
        by_host,
    ),
    "comms/one-rank-other-collective": Sample(
        lambda: waits.other_call(job(16, "2026-06-01 11:00:00", torch="2.5", first_host=31), 9)
    ),
    "comms/pipeline-chain-waits": Sample(
        lambda: waits.pipeline_chain(job(16, "2026-12-31 23:50:00", first_host=71), 13)
    ),
    "comms/peers-gone-logs-missing": Sample(
        lambda: _without_host(
            network.peers_gone(job(24, "2026-07-14 19:05:00", nccl="2.21.5"), "node-03"), "node-03"
        )
    ),
    "dataflow/loader-stuck-one-rank": Sample(
        lambda: waits.loader_stuck(job(16, "2026-08-19 03:00:00", first_host=51), 11)
    ),
    "dataflow/traceback-torchrun-blames-another": Sample(
        lambda: processes.traceback_elsewhere(job(8, "2026-09-03 17:45:00", first_host=8), 5)
    ),
    "dataflow/second-attempt-fails-otherwise": Sample(
        lambda: processes.failed_twice(job(8, "2026-10-05 12:00:00", first_host=19), 6, 3)
    ),
    "resources/oom-half-an-hour-before-timeouts": Sample(
        lambda: waits.out_of_memory_long_before(job(256, "2026-03-30 20:00:00"), 77), hosts_gzipped
    ),
    "resources/gpu-lost-peers-time-out": Sample(
        lambda: processes.gpu_lost(
            job(32, "2026-05-21 07:15:00", torch="2.8", nccl="2.27.5", first_host=81,
                offsets={"node-83": -41.0}),
            18,
        )
    ),
    "resources/host-oom-one-rank": Sample(
        lambda: processes.killed_by_kernel(job(16, "2026-11-08 04:00:00", first_host=91), 12)
    ),
    "resources/node-failure": Sample(
        lambda: processes.node_failed(job(32, "2026-06-27 13:30:00", torch="2.4"), "node-02"),
        torchrun_tee,
    ),
    "healthy/inventory-agrees": Sample(
        lambda: network.as_listed(
            job(32, "2026-06-11 08:05:00", nccl="2.27.5", cuda="12.8", torch="2.8", first_host=61)
        ),
        by_host,
    ),
    "healthy/retries-then-steps": Sample(
        lambda: network.retries_then_progress(
            job(16, "2026-04-26 10:00:00", nccl="2.27.5", first_host=13)
        )
    ),
}  # fmt: skip


def main() -> None:
    """Write the samples that the command line names, or all."""
    for name in sys.argv[1:] or SAMPLES:
        folder = HERE / name / "logs"
        shutil.rmtree(folder, ignore_errors=True)
        for file, data in SAMPLES[name].files().items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        size = sum(path.stat().st_size for path in folder.rglob("*"))
        print(f"{name}: {len(list(folder.rglob('*')))} files, {size} bytes")


if __name__ == "__main__":
    main()
