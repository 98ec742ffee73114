"""The log of one rank of a large NCCL job, made from a seed.

Each rank sets up communicators, whose channel lines make up most of the bytes as they do with
``NCCL_DEBUG=INFO``, and traces its collectives as with ``NCCL_DEBUG_SUBSYS=COLL``; the last rank,
or each, prints the training steps. Errors that the job survives may lie between. The end holds what
the fault leaves: of a dead InfiniBand port one event, then errors of its peers; of a hang the
timeouts of all ranks but one. The lines are those of ``samples/joblog``.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
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

SETTINGS = {
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_IB_HCA": "mlx5",
    "NCCL_IB_TIMEOUT": "22",
    "NCCL_IB_GID_INDEX": "3",
}
DEAD_CARD = 2
SEQ = 1201
LAST_CALL = 1_000_000
"""Number of the call that a hang ends in, the same for all ranks but one."""


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
        self.lost = 0
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

    def errors(self) -> str:
        """Return a lost connection that is made anew, and a batch that is read again."""
        self.lost += 1
        moment = float(self.lost)
        host = self.job.hosts[self.lost % len(self.job.hosts)]
        peer = f"{self.job.address(host)}<{40000 + self.lost % 9999}>"
        text = f"socketProgressOpt: Call to recv from {peer} failed : Connection reset by peer"
        again = f"reading shard {self.lost} failed, retry 1 of 5"
        return (
            nccl.warning(self.job, self.number, moment, "misc/socket.cc:523", text)
            + training.message(self.job, self.number, moment, again, "ERROR")
            + training.traceback(
                self.number,
                [("/app/data.py", 118, "fetch", "return self.store.read(shard)")],
                f"ConnectionResetError: [Errno 104] Connection reset by peer, shard {self.lost}",
            )
        )

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
        late = self.number == culprit
        self.calls = LAST_CALL - CALLS - late
        last = self.trace()
        if late:
            return last + c10d.dump_signal(self.job, self.number, moment + 1, 0, SEQ - 1)
        return last + c10d.timeout(self.job, self.number, moment, c10d.Call(seq=SEQ))


FAULTS = {"port": Rank.dead_port, "hang": Rank.hang}


@dataclass(frozen=True, kw_only=True)
class Content:
    """What the logs of a job hold.

    Args:
        ranks: Of the job.
        setups: Share of the bytes that belongs to set-ups of communicators.
        errors: Share that belongs to errors which the job survives.
        steps: Who prints the training steps, the ``last`` rank or ``all``.
        fault: What the job dies of, one of ``FAULTS``.
        seed: Of all chance.
    """

    ranks: int = 64
    setups: float = 0.6
    errors: float = 0.0
    steps: str = "last"
    fault: str = "port"
    seed: int = 1

    def logs(self, size: int) -> list[Iterator[bytes]]:
        """Return the log of each rank, in pieces.

        Args:
            size: Bytes of all logs together; each has less than one stretch of traces or one
                set-up more than its part.
        """
        job = Job(
            world=self.ranks,
            start=START,
            nccl="2.27.6",
            cuda="12.8",
            settings=SETTINGS,
            seed=self.seed,
        )
        return [self._log(Rank(job, number), size // self.ranks) for number in range(self.ranks)]

    def _log(self, rank: Rank, size: int) -> Iterator[bytes]:
        setups = errors = total = 0
        steps = self.steps == "all" or rank.number == self.ranks - 1
        yield rank.start().encode()
        while total < size:
            if not total or (setups <= self.setups * total and total + len(rank.channels) <= size):
                piece = rank.communicator().encode()
                setups += len(piece)
            elif errors < self.errors * total:
                piece = rank.errors().encode()
                errors += len(piece)
            else:
                piece = (rank.trace() + (rank.steps() if steps else "")).encode()
            total += len(piece)
            yield piece
        yield FAULTS[self.fault](rank).encode()
