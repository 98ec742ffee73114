"""Write a folder of per-rank logs of a large NCCL job, for measuring how fast logs are read.

::

    python bench/generate.py /tmp/logs --size 2GiB --ranks 64

The same options give the same bytes. Each rank sets up communicators, whose channel lines make up
most of the bytes as they do with ``NCCL_DEBUG=INFO``, and traces its collectives as with
``NCCL_DEBUG_SUBSYS=COLL``; the last rank prints the training steps, as Megatron does. The end holds
what a dead InfiniBand port leaves: one port event, then errors of its peers.
"""

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

GPUS = 8
CHANNELS = 16
REPEATS = 16
"""Times that the channel lines of a communicator stand, so that few communicators fill a file."""

STEPS = 20
CALLS = 200
FIRST_SECOND = 8 * 3600
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

ECHOES = (
    "NCCL_SOCKET_IFNAME set by environment to eth0",
    "NCCL_IB_HCA set to mlx5",
    "NCCL_IB_TIMEOUT set by environment to 22.",
    "NCCL_IB_GID_INDEX set by environment to 3.",
)


class Rank:
    """One rank of the job and the lines it prints.

    Args:
        number: Global rank.
        ranks: World size.
        chance: Where its variations come from.
    """

    def __init__(self, number: int, ranks: int, chance: random.Random) -> None:
        self.number, self.ranks, self.chance = number, ranks, chance
        self.device = number % GPUS
        self.host = f"node-{number // GPUS:03d}"
        self.pid = 4000 + chance.randrange(30000)
        self.step = 0
        self.calls = 0
        self.communicators = 0
        self.channels = self._channels()

    def prefix(self, thread: int | str) -> str:
        """Return what NCCL puts before its INFO lines."""
        return f"{self.host}:{self.pid}:{thread} [{self.device}] NCCL INFO "

    def start(self) -> str:
        """Return what the process says before its first communicator."""
        info = self.prefix(self.pid)
        address = f"10.0.{self.number // GPUS // 250}.{self.number // GPUS % 250 + 1}"
        cards = " ".join(f"[{card}]mlx5_{card}:1/IB" for card in range(GPUS))
        lines = [
            f"{info}Bootstrap: Using eth0:{address}<0>",
            f"{info}cudaDriverVersion 12080",
            f"{info}NCCL version 2.27.6+cuda12.8",
            *(info + echo for echo in ECHOES),
            f"{info}NET/IB : Using {cards} [RO]; OOB eth0:{address}<0>",
            f"{info}Using network IB",
        ]
        return "\n".join(lines) + "\n"

    def _channels(self) -> str:
        """Return the channel lines of one communicator, ``@`` standing for the thread."""
        info = self.prefix("@")
        lines = []
        for peer in self._peers() * REPEATS:
            near = peer // GPUS == self.number // GPUS
            there = f"{peer}[{peer % GPUS}]"
            here = f"{self.number}[{self.device}]"
            for channel in range(CHANNELS):
                line = f"{info}Channel {channel:02d}/0 : "
                if near:
                    lines.append(f"{line}{here} -> {there} via P2P/CUMEM/read")
                    continue
                card = channel % GPUS
                lines.append(f"{line}{there} -> {here} [receive] via NET/IB/{card}/GDRDMA")
                lines.append(f"{line}{here} -> {there} [send] via NET/IB/{card}/GDRDMA")
        return "\n".join(lines) + "\n"

    def _peers(self) -> list[int]:
        near = [self.number - self.device + other for other in range(GPUS)]
        rail = range(self.device, self.ranks, GPUS)
        peers = [*near, *self.chance.sample(rail, min(8, len(rail)))]
        return [peer for peer in dict.fromkeys(peers) if peer < self.ranks and peer != self.number]

    def communicator(self) -> str:
        """Return the set-up of one more communicator."""
        self.communicators += 1
        thread = self.pid + self.chance.randrange(1, 900)
        info = self.prefix(thread)
        call = (
            f"ncclCommInitRankConfig comm 0x{self.chance.getrandbits(44):012x} "
            f"rank {self.number} nranks {self.ranks} cudaDev {self.device} nvmlDev {self.device} "
            f"busId {(self.device + 1) * 0x10:x}000 commId 0x{self.communicators:016x}"
        )
        return (
            f"{info}{call} - Init START\n"
            f"{self.channels.replace('@', str(thread))}"
            f"{info}Connected all rings, use ring PXN 0 GDR 1\n"
            f"{info}{CHANNELS} coll channels, {CHANNELS} collnet channels, 0 nvls channels, "
            f"{CHANNELS} p2p channels, 2 p2p channels per peer\n"
            f"{info}{call} - Init COMPLETE\n"
        )

    def steps(self) -> str:
        """Return a stretch of training steps."""
        lines = []
        for _ in range(STEPS):
            self.step += 1
            lines.append(
                f" [{self.clock()}] iteration {self.step:8d}/10000000 | "
                f"consumed samples: {self.step * 1024:12d} | elapsed time per iteration (ms): "
                f"{812 + 9 * self.chance.random():.1f} | learning rate: 1.500000E-04 | global "
                f"batch size:  1024 | lm loss: {2 + 1000 / (self.step + 500):.6E} | "
                f"loss scale: 1.0 | grad norm: {0.4 + 0.1 * self.chance.random():.3f} | number of "
                "skipped iterations:   0 | number of nan iterations:   0 |"
            )
        return "\n".join(lines) + "\n"

    def trace(self) -> str:
        """Return a stretch of traced collectives."""
        info = self.prefix(self.pid)
        lines = []
        for _ in range(CALLS):
            self.calls += 1
            buffer = f"0x7f3a{self.calls << 9 & 0xFFFFFFFF:08x}"
            lines.append(
                f"{info}AllReduce: opCount {self.calls:x} sendbuff {buffer} recvbuff {buffer} "
                f"count 8388608 datatype 9 op 0 root 0 comm 0x55d0c81f2{self.device}40 "
                f"[nranks={self.ranks}] stream 0x55d0c7a0b{self.device}10"
            )
        return "\n".join(lines) + "\n"

    def end(self) -> str:
        """Return what the dead port of the second host leaves in this log."""
        place = f"[{self.clock()}] {self.host}:{self.pid}:{self.pid + 901} [{self.device}] "
        if self.number // GPUS == min(1, (self.ranks - 1) // GPUS):
            return (
                f"{place}transport/net_ib.cc:221 NCCL WARN NET/IB : mlx5_2:1 Got async error "
                "event: port error\n"
            )
        return (
            f"{place}transport/net_ib.cc:2279 NCCL WARN NET/IB: Got completion from peer "
            "10.0.0.2<44206> with status=12 opcode=0 len=0 vendor err 129 (Send) "
            f"localGid ::ffff:10.20.3.4 remoteGids::ffff:10.20.3.9 hca mlx5_{self.device}\n"
        )

    def clock(self) -> str:
        """Return the time stamp of the latest step; a step takes one second."""
        seconds = FIRST_SECOND + self.step
        day, rest = divmod(seconds, 86400)
        return (
            f"2026-01-{day % 28 + 1:02d} {rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
        )


def log(rank: Rank, size: int, share: float) -> Iterator[bytes]:
    """Yield the log of one rank in pieces.

    Args:
        rank: Who writes.
        size: Bytes, exceeded by less than one stretch.
        share: Of the bytes that belongs to communicator set-ups.
    """
    setup = total = 0
    yield rank.start().encode()
    while total < size:
        if setup <= share * total:
            piece = rank.communicator().encode()
            setup += len(piece)
        else:
            piece = rank.trace().encode()
            if rank.number == rank.ranks - 1:
                piece += rank.steps().encode()
        total += len(piece)
        yield piece
    yield rank.end().encode()


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
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for number in range(options.ranks):
        rank = Rank(number, options.ranks, random.Random(f"{options.seed}/{number}"))
        with (options.folder / f"rank{number}.log").open("wb") as file:
            file.writelines(log(rank, options.size // options.ranks, options.share))


if __name__ == "__main__":
    main()
