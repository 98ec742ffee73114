"""Simulate a job of up to 100,000 ranks: a part of each node, and one run over all parts.

::

    python bench/parts.py /tmp/parts --ranks 1000 10000 100000

Each rank says what NCCL, PyTorch and the training loop say that a scan keeps: versions, variables,
adapters, four communicators, their first channels, and the end in a hang, in which all ranks but
one time out. The lines are those of ``samples/joblog`` and go through the parsers, a node at a
time; what of them a scan leaves out is not written. The same options give the same parts.

A process of its own then runs over the parts. Columns: parts and their bytes, bytes a rank, events,
seconds of processor time until all parts are one reading and in all, elapsed seconds, MiB of memory
at the most, and the answer.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from multiprocessing import Pool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "samples"))

from joblog import c10d, nccl, training
from joblog.job import Group, Job

from diagnose import api
from diagnose.ingest.source import Source
from diagnose.scanning.inputs import read_paths
from diagnose.scanning.local import Local
from diagnose.scanning.partial import Scan
from diagnose.scanning.partial_file import SUFFIX, write_part
from diagnose.scanning.reading import read_all

GPUS = 8
STEPS = 20
START = datetime(2026, 1, 1, 8, 0, 0)
END = 100_000.0
SEQ = 1201
WORLD_ID = 0x4B8E12D3F0A96C57

SETTINGS = {
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_IB_HCA": "mlx5",
    "NCCL_IB_TIMEOUT": "22",
    "NCCL_IB_GID_INDEX": "3",
    "NCCL_IB_RETRY_CNT": "7",
    "NCCL_CROSS_NIC": "0",
    "NCCL_NVLS_ENABLE": "1",
}

CONNECTED = (
    "Connected all rings, use ring PXN 0 GDR 1",
    "Connected all trees",
    "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per "
    "peer",
)

KNOWLEDGE = api.load_knowledge()


class Hosts(list[str]):
    """Names of hosts, whose places follow from their numbers."""

    def index(self, host: str, *_: object) -> int:
        """Return the place of a host."""
        return int(host.rpartition("-")[2]) - 1


class LargeJob(Job):
    """A job in which looking up a host or a rank takes the same time at any size."""

    @cached_property
    def hosts(self) -> list[str]:
        """Names of the hosts, in the order of their ranks."""
        return Hosts(f"node-{at + 1:05d}" for at in range(-(-self.world // self.gpus)))

    @cached_property
    def everyone(self) -> Group:
        """The default process group."""
        return Group(ranks=range(self.world))  # type: ignore[arg-type]


def log(job: Job, rank: int, steps: bool) -> str:
    """Return what one rank says, but for lines that a scan counts and does not keep.

    Args:
        job: Facts.
        rank: Who says it.
        steps: It prints the training steps.
    """
    lines = nccl.setup(job, rank)
    rail = range(rank % GPUS, job.world, GPUS)
    for number, ranks in enumerate((rail, job.ranks_on(job.host(rank)), rail), 1):
        call = nccl.communicator(job, rank, WORLD_ID + number * job.world + ranks.start, ranks)
        made = [f"{call} - Init START", *CONNECTED, f"{call} - Init COMPLETE"]
        lines += "".join(nccl.info(job, rank, text) for text in made)
    if steps:
        for step in range(1, STEPS + 1):
            lines += training.megatron_step(job, rank, step, step, 10_000_000, 0.8)
    if rank == job.world * 137 // 256:
        return lines + c10d.dump_signal(job, rank, END + 1, 0, SEQ - 1)
    return lines + c10d.timeout(job, rank, END, c10d.Call(seq=SEQ))


def save(task: tuple[Job, int, int, Path]) -> None:
    """Write the part of some nodes.

    Args:
        task: The job, the first node and the one behind the last, and the folder of parts.
    """
    job, first, last, folder = task
    label = job.hosts[first] if last - first == 1 else f"nodes-{first + 1:05d}"
    scan = Scan(name=label, prefix=f"{label}/", texts=KNOWLEDGE.texts, nothing=False)
    sources = [*_sources(job, first, last, scan.prefix)]
    scan.reading, _ = read_all(sources, KNOWLEDGE.reader, wants=lambda name: False, engine=Local(1))
    write_part([scan], folder / (label + SUFFIX))


def _sources(job: Job, first: int, last: int, prefix: str) -> Iterator[Source]:
    for host in job.hosts[first:last]:
        folder = prefix if last - first == 1 else f"{prefix}{host}/"
        for rank in job.ranks_on(host):
            data = log(job, rank, rank == job.world - 1).encode()
            yield Source(f"{folder}rank{rank}.log", None, len(data), None, data)


def simulate(folder: Path, ranks: int, nodes: int) -> None:
    """Write the parts of a job.

    Args:
        folder: For the parts; one that is there is taken as it is.
        ranks: Of the job.
        nodes: Of one part.
    """
    if folder.exists():
        return
    job = LargeJob(
        world=ranks, start=START, gpus=GPUS, nccl="2.27.6", cuda="12.8", settings=SETTINGS
    )
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    count = len(job.hosts)
    tasks = [
        (job, first, min(first + nodes, count), unfinished) for first in range(0, count, nodes)
    ]
    with Pool() as pool:
        for _ in pool.imap_unordered(save, tasks, chunksize=8):
            pass
    unfinished.rename(folder)


def measure(folder: str, *, judged: bool) -> dict[str, object]:
    """Return what a run over parts takes, in this process.

    Args:
        folder: With the parts.
        judged: The run goes on to its report; otherwise it ends with one reading.
    """
    reader, texts = KNOWLEDGE.reader, KNOWLEDGE.texts
    started, used = time.perf_counter(), time.process_time()
    reading, nothing = read_paths([folder], reader, texts=lambda: texts)
    events = len(reading.events)
    merged = time.process_time()
    answer = "not judged"
    if judged:
        answer = api._report(
            reading, KNOWLEDGE, api.NO_LIMITS, "en", api.Expected(), nothing_read=nothing
        ).summary
    return {
        "events": events,
        "merge": merged - used,
        "cpu": time.process_time() - used,
        "wall": time.perf_counter() - started,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "answer": answer,
    }


def main() -> None:
    """Print a row for each size of the job."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--nodes", type=int, default=1, help="in one part")
    parser.add_argument("--merge-only", action="store_true", help="do not judge")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        found = measure(str(options.folder), judged=not options.merge_only)
        print(json.dumps(found))
        return
    print("ranks   parts   MiB     B/rank events   merge s  cpu s   wall s  MiB RAM  answer")
    for ranks in options.ranks:
        folder = options.folder / f"{ranks}-{options.nodes}"
        simulate(folder, ranks, options.nodes)
        sizes = [part.stat().st_size for part in folder.iterdir()]
        run = [sys.executable, __file__, str(folder), "--measure"]
        run += ["--merge-only"] if options.merge_only else []
        found = json.loads(subprocess.run(run, capture_output=True, check=True).stdout)
        size = sum(sizes)
        print(
            f"{ranks:<7} {len(sizes):<7} {size / (1 << 20):<7.1f} {size // ranks:<6} "
            f"{found['events']:<8} {found['merge']:<8.1f} {found['cpu']:<7.1f} "
            f"{found['wall']:<7.1f} {found['mib']:<8} {found['answer']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
