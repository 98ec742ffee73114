"""Write a folder of per-rank logs of a large NCCL job, for measuring how fast logs are read.

::

    python bench/generate.py /tmp/logs --size 2GiB --ranks 64
    python bench/generate.py /tmp/hang --size 1GiB --ranks 1024 --fault hang --steps all

The same options give the same bytes. Each rank sets up communicators, whose channel lines make up
most of the bytes as they do with ``NCCL_DEBUG=INFO``, and traces its collectives as with
``NCCL_DEBUG_SUBSYS=COLL``; the last rank, or each, prints the training steps. The end holds
what the fault leaves: of a dead InfiniBand port one event, then errors of its peers; of a hang the
timeouts of all ranks but one. The lines are those of ``samples/joblog``.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "samples"))

from joblog import c10d, nccl, training
from joblog.job import Job

CHANNELS = 16
REPEATS = 16
"""Times that the channel lines of a communicator stand, so that few communicators fill a file."""

STEPS = 20
CALLS = 200
START = datetime(2026, 1, 1, 8, 0, 0)
WORLD_ID = 0x4B8E12D3F0A96C57
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

SETTINGS = {
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_IB_HCA": "mlx5",
    "NCCL_IB_TIMEOUT": "22",
    "NCCL_IB_GID_INDEX": "3",
}
DEAD_CARD = 2
SEQ = 1201


class Rank:
    """One rank of the job and the lines it prints.

    Args:
        job: Facts.
        number: Global rank.
    """

    def __init__(self, job: Job, number: int) -> None:
        self.job, self.number = job, number
        self.local = job.local(number)
        self.info = nccl.info(job, number, "").rstrip("\n")
        self.step = 0
        self.calls = 0
        self.communicators = 0
        self.channels = self._channels()

    def start(self) -> str:
        """Return what the process says before its first communicator."""
        lines = [*nccl.banner(self.job, self.number), *nccl.adapters(self.job, self.number)]
        return self._said(lines)

    def _said(self, lines: list[str]) -> str:
        return "".join(f"{self.info}{line}\n" for line in lines)

    def _channels(self) -> str:
        """Return the channel lines of one communicator."""
        lines = []
        for peer in self._peers() * REPEATS:
            near = self.job.host(peer) == self.job.host(self.number)
            there = f"{peer}[{self.job.local(peer)}]"
            here = f"{self.number}[{self.local}]"
            for channel in range(CHANNELS):
                line = f"Channel {channel:02d}/0 : "
                if near:
                    lines.append(f"{line}{here} -> {there} via P2P/CUMEM/read")
                    continue
                card = channel % self.job.gpus
                lines.append(f"{line}{there} -> {here} [receive] via NET/IB/{card}/GDRDMA")
                lines.append(f"{line}{here} -> {there} [send] via NET/IB/{card}/GDRDMA")
        return self._said(lines)

    def _peers(self) -> list[int]:
        near = self.job.ranks_on(self.job.host(self.number))
        rail = range(self.local, self.job.world, self.job.gpus)
        chosen = self.job.chance("peers", self.number).sample(rail, min(8, len(rail)))
        return [peer for peer in dict.fromkeys([*near, *chosen]) if peer != self.number]

    def communicator(self) -> str:
        """Return the set-up of one more communicator."""
        call = nccl.communicator(self.job, self.number, WORLD_ID + self.communicators)
        self.communicators += 1
        return (
            self._said([f"{call} - Init START"])
            + self.channels
            + self._said(
                [
                    "Connected all rings, use ring PXN 0 GDR 1",
                    f"{CHANNELS} coll channels, {CHANNELS} collnet channels, 0 nvls channels, "
                    f"{CHANNELS} p2p channels, 2 p2p channels per peer",
                    f"{call} - Init COMPLETE",
                ]
            )
        )

    def steps(self) -> str:
        """Return a stretch of training steps, each of which takes a second."""
        first = self.step
        self.step += STEPS
        return "".join(
            training.megatron_step(self.job, self.number, step, step, 10_000_000, 0.8)
            for step in range(first + 1, self.step + 1)
        )

    def trace(self) -> str:
        """Return a stretch of traced collectives."""
        lines = []
        for _ in range(CALLS):
            self.calls += 1
            buffer = f"0x7f3a{self.calls << 9 & 0xFFFFFFFF:08x}"
            lines.append(
                f"AllReduce: opCount {self.calls:x} sendbuff {buffer} recvbuff {buffer} "
                f"count 8388608 datatype 9 op 0 root 0 comm 0x55d0c81f2{self.local}40 "
                f"[nranks={self.job.world}] stream 0x55d0c7a0b{self.local}10"
            )
        return self._said(lines)

    def dead_port(self) -> str:
        """Return what the dead port of the second host leaves in this log."""
        host = self.job.hosts[min(1, len(self.job.hosts) - 1)]
        moment = 100_000.0
        if self.job.host(self.number) == host:
            text = f"NET/IB : mlx5_{DEAD_CARD}:1 Got async error event: port error"
            place = "transport/net_ib.cc:221"
            return nccl.warning(self.job, self.number, moment, place, text)
        return nccl.completion_error(self.job, self.number, moment + 31, host)

    def hang(self) -> str:
        """Return what is left of the wait for a rank in the middle, which enters nothing more."""
        moment = 100_000.0
        culprit = self.job.world * 137 // 256
        if self.number == culprit:
            return c10d.dump_signal(self.job, self.number, moment + 1, 0, SEQ - 1)
        return c10d.timeout(self.job, self.number, moment, c10d.Call(seq=SEQ))


FAULTS = {"port": Rank.dead_port, "hang": Rank.hang}


def log(rank: Rank, size: int, share: float, fault: str, steps: bool) -> Iterator[bytes]:
    """Yield the log of one rank in pieces.

    Args:
        rank: Who writes.
        size: Bytes, exceeded by less than one stretch of traces, or one set-up in all.
        share: Of the bytes that belongs to communicator set-ups.
        fault: One of ``FAULTS``.
        steps: It prints the steps.
    """
    setup = total = 0
    yield rank.start().encode()
    while total < size:
        if not total or (setup <= share * total and total + len(rank.channels) <= size):
            piece = rank.communicator().encode()
            setup += len(piece)
        else:
            piece = rank.trace().encode()
            if steps:
                piece += rank.steps().encode()
        total += len(piece)
        yield piece
    yield FAULTS[fault](rank).encode()


def bytes_of(text: str) -> int:
    """Return the number of bytes that ``2GiB`` or ``300MiB`` stands for."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]iB|)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 300MiB or 2GiB")
    return int(float(found[1]) * UNITS[found[2]])


def main() -> None:
    """Write the folder that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=bytes_of, default="256MiB", help="of all logs together")
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--share", type=float, default=0.6, help="of set-up lines in the bytes")
    parser.add_argument("--fault", choices=FAULTS, default="port", help="what the job dies of")
    parser.add_argument("--steps", choices=("last", "all"), default="last", help="who prints them")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    job = Job(
        world=options.ranks,
        start=START,
        nccl="2.27.6",
        cuda="12.8",
        settings=SETTINGS,
        seed=options.seed,
    )
    size = options.size // options.ranks
    for number in range(options.ranks):
        rank, prints = Rank(job, number), options.steps == "all" or number == options.ranks - 1
        with (options.folder / f"rank{number}.log").open("wb") as file:
            file.writelines(log(rank, size, options.share, options.fault, prints))


if __name__ == "__main__":
    main()
