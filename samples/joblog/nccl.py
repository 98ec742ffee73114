"""Lines of NCCL with ``NCCL_DEBUG=INFO``.

Layouts of NCCL 2.18 to 2.28: the space before ``Bootstrap:`` goes with 2.24, the banner of each
process comes with 2.22, the stamp of warnings and the API names in init lines change with 2.26 and
2.21.
"""

from collections.abc import Iterable

from joblog.job import Job


def core(job: Job, rank: int, thread: int | None = None) -> str:
    """Return the ``host:pid:tid [gpu]`` that starts each line.

    Args:
        job: Facts.
        rank: Who prints.
        thread: Its number behind the first; None is the thread of the communicator.
    """
    pid = job.pid(rank)
    return f"{job.host(rank)}:{pid}:{pid + (301 if thread is None else thread)} [{job.local(rank)}]"


def info(job: Job, rank: int, message: str, thread: int | None = None) -> str:
    """Return an informational line."""
    return f"{core(job, rank, thread)} NCCL INFO {message}\n"


def warning(
    job: Job, rank: int, moment: float, place: str, message: str, trail: Iterable[str] = ()
) -> str:
    """Return a warning with the lines that trace it back.

    Args:
        job: Facts.
        rank: Who prints.
        moment: Seconds since the start.
        place: Source file and line, such as ``misc/socket.cc:49``.
        message: Text.
        trail: What follows as ``file:line -> code``.
    """
    stamped = version(job, rank) >= (2, 26)
    stamp = f"[{job.stamp(job.host(rank), moment)}] " if stamped else ""
    lines = [f"\n{stamp}{core(job, rank, 340)} {place} NCCL WARN {message}\n"]
    lines += [info(job, rank, step, 340) for step in trail]
    return "".join(lines)


def version(job: Job, rank: int) -> tuple[int, ...]:
    """Return the NCCL version that a rank runs."""
    return tuple(int(part) for part in job.nccl_version(job.host(rank)).split("."))


def banner(job: Job, rank: int) -> list[str]:
    """Return what a rank says of its versions and bootstrap network."""
    host, number = job.host(rank), version(job, rank)
    colon = "Bootstrap:" if number >= (2, 24) else "Bootstrap :"
    own = job.bootstrap_on.get(host, f"{job.interface}:{job.address(host)}")
    major, minor = job.cuda.split(".")
    lines = [f"{colon} Using {own}<0>", f"cudaDriverVersion {int(major) * 1000 + int(minor) * 10}"]
    if number >= (2, 22) or rank == 0:
        lines.append(f"NCCL version {job.nccl_version(host)}+cuda{job.cuda}")
    return [*lines, *(echo(name, value) for name, value in job.settings.items())]


def echo(name: str, value: str) -> str:
    """Return what NCCL says of a variable it uses: numbers end in a point, one has other words."""
    if name == "NCCL_IB_HCA":
        return f"{name} set to {value}"
    return f"{name} set by environment to {value}{'.' if value.isdigit() else ''}"


def adapters(job: Job, rank: int, number: int | None = None) -> list[str]:
    """Return the lines that choose the network.

    Args:
        job: Facts.
        rank: Who prints.
        number: Of adapters on the host, None one for each GPU.
    """
    host = job.host(rank)
    own = job.bootstrap_on.get(host, f"{job.interface}:{job.address(host)}")
    if job.network(host) == "Socket":
        return [
            "NET/IB : No device found.",
            f"NET/Socket : Using [0]{own}<0>",
            "Using network Socket",
        ]
    cards = " ".join(
        f"[{card}]mlx5_{card}:1/{job.network(host)}" for card in range(number or job.gpus)
    )
    return [f"NET/IB : Using {cards} [RO]; OOB {own}<0>", "Using network IB"]


def communicator(
    job: Job, rank: int, comm_id: int = 0x4B8E12D3F0A96C57, ranks: range | None = None
) -> str:
    """Return the call that makes a communicator, as its start and end lines name it.

    Args:
        job: Facts.
        rank: Global rank.
        comm_id: Of the communicator.
        ranks: Members, None all ranks of the job.
    """
    number, size = (rank, job.world) if ranks is None else (ranks.index(rank), len(ranks))
    api = "ncclCommInitRankConfig " if version(job, rank) >= (2, 23) else "ncclCommInitRank "
    if version(job, rank) < (2, 21):
        api = ""
    local = job.local(rank)
    pointer = 0x55D0C8000000 + (comm_id & 0xFFF) * 0x1000 + rank * 0x10
    return (
        f"{api}comm 0x{pointer:x} rank {number} nranks {size} cudaDev {local} nvmlDev {local} "
        f"busId {job.bus(rank)} commId 0x{comm_id:016x}"
    )


def setup(job: Job, rank: int, edges: bool = True) -> str:
    """Return all that one rank says while the communicator of the world is made.

    Args:
        job: Facts.
        rank: Who prints.
        edges: With the topology and the channels to its neighbours in the ring.
    """
    call = communicator(job, rank)
    lines = [*banner(job, rank), *adapters(job, rank), f"{call} - Init START"]
    if edges:
        lines += [topology(job, rank), *ring(job, rank)]
    lines.append(f"{call} - Init COMPLETE")
    return "".join(info(job, rank, line) for line in lines)


def topology(job: Job, rank: int) -> str:
    """Return how many ranks a rank finds on its host and in all, as NCCL 2.20 and newer say it."""
    pointer = communicator(job, rank).partition("comm ")[2].partition(" ")[0]
    here = len(job.ranks_on(job.host(rank)))
    return (
        f"comm {pointer} rank {rank} nRanks {job.world} nNodes {len(job.hosts)} "
        f"localRanks {here} localRank {job.local(rank)} MNNVL 0"
    )


def ring(job: Job, rank: int) -> list[str]:
    """Return the channels of a rank to its neighbours in a ring over all ranks."""
    before, after = (rank - 1) % job.world, (rank + 1) % job.world
    lines = []
    for source, target in ((before, rank), (rank, after)):
        ends = f"{source}[{job.local(source)}] -> {target}[{job.local(target)}]"
        way = "receive" if target == rank else "send"
        if job.host(source) == job.host(target):
            if source == rank:
                lines.append(f"Channel 00/0 : {ends} via P2P/CUMEM/read")
        elif job.network(job.host(rank)) == "Socket":
            lines.append(f"Channel 00/0 : {ends} [{way}] via NET/Socket/0")
        else:
            lines.append(f"Channel 00/0 : {ends} [{way}] via NET/IB/{job.local(rank)}/GDRDMA")
    direct = int(job.network(job.host(rank)) != "Socket")
    return [*lines, f"Connected all rings, use ring PXN 0 GDR {direct}"]


def completion_error(
    job: Job, rank: int, moment: float, peer: str, status: int = 12, vendor: int = 129
) -> str:
    """Return a failed RDMA request with the lines behind it.

    Args:
        job: Facts.
        rank: Who prints.
        moment: Seconds since the start.
        peer: Host at the other end.
        status: Of the completion; 12 is that all retries went unanswered.
        vendor: Code of the adapter.
    """
    port = 44000 + job.local(rank)
    return warning(
        job,
        rank,
        moment,
        "transport/net_ib.cc:2281",
        f"NET/IB: Got completion from peer {job.address(peer)}<{port}> with status={status} "
        f"opcode=0 len=0 vendor err {vendor} (Send) localGid ::ffff:10.20.3.{job.local(rank)} "
        f"remoteGids::ffff:10.20.4.{job.local(rank)} hca {job.card(rank)}",
        ["transport/net.cc:1404 -> 6", "proxy.cc:736 -> 6", "proxy.cc:916 -> 6 [Progress Thread]"],
    )


def peer_closed(job: Job, rank: int, moment: float, peer: str) -> str:
    """Return the end of a connection whose other end is gone."""
    return warning(
        job,
        rank,
        moment,
        "misc/socket.cc:49",
        f"socketProgress: Connection closed by remote peer {peer}.cluster<{45000 + rank}>",
        ["misc/socket.cc:751 -> 6", "transport/net_socket.cc:474 -> 6", "proxy.cc:736 -> 6"],
    )
