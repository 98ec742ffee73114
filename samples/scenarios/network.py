"""Jobs whose network is at fault, or only looks like it."""

from collections.abc import Sequence

from joblog import c10d, launch, machine, nccl, training
from joblog.book import Book
from joblog.job import Job

from scenarios.waits import late


def link_down(job: Job, host: str, card: int) -> Book:
    """The cable of one adapter comes off; its peers run out of retries, the rest time out.

    Args:
        job: Facts.
        host: Where the adapter is.
        card: Number of the adapter, and of the GPU that uses it.
    """
    book = Book(job)
    book.begin()
    end = book.steps(3000, 3100, every=20)
    address = "0000:d2:00.0"
    unplugged = f"mlx5_core {address}: Port module event: module 0, Cable unplugged"
    book.other(f"dmesg-{host}.txt", -7210, machine.boot(job, host), host)
    book.other(f"dmesg-{host}.txt", end + 1, machine.kernel(job, host, end + 1, unplugged), host)
    down = machine.ibstatus(job, host, [f"mlx5_{card}"])
    book.other(f"ibstatus-{host}.txt", end + 900, down, host)

    rail = [rank for rank in job.everyone.ranks if job.local(rank) == card]
    cut = job.ranks_on(host)[card]
    call = c10d.Call(seq=31004)
    gave_up = end + 34
    for rank in rail:
        if rank == cut:
            continue
        at = gave_up + rank * 0.03
        retries = nccl.completion_error(job, rank, at, host)
        last = retries.partition("NCCL WARN ")[2].partition("\n")[0]
        error = c10d.remote_error(job, last)
        book.rank(rank, at, retries + c10d.failed(job, rank, at + 0.4, error))
    for rank in job.everyone.ranks:
        if rank in rail and rank != cut:
            continue
        at = end + 1 + call.timeout + late(rank)
        book.rank(rank, at, c10d.timeout(job, rank, at, call, enqueued=call.seq + 2))
    for name in job.hosts:
        task = [rank for rank in job.ranks_on(name) if rank in rail and rank != cut]
        for rank in task:
            book.other("slurm-50417.out", gave_up + 5,
                       launch.tasks(name, [rank], "Aborted (core dumped)"))  # fmt: skip
    return book


def leaf_down(job: Job, behind: Sequence[str], card: int) -> Book:
    """A leaf switch dies; hosts behind it lose one adapter each, and the job waits for them.

    Args:
        job: Facts.
        behind: The hosts that the switch connects; kernel logs are there of the first three.
        card: Number of the adapter that each of them has on it.
    """
    book = Book(job)
    book.begin()
    end = book.steps(1200, 1240, every=20)
    for at, host in enumerate(behind[:3]):
        lost = f"mlx5_core 0000:52:00.0 mlx5_{card}: port 1 state change to down"
        moment = end + 1 + 0.2 * at
        book.other(f"dmesg-{host}.txt", moment, machine.kernel(job, host, moment, lost), host)
    gave_up = end + 34
    call = c10d.Call(seq=12413)
    for at, host in enumerate(job.hosts):
        following = job.hosts[(at + 1) % len(job.hosts)]
        for rank in job.ranks_on(host):
            if job.local(rank) == card and (host in behind or following in behind):
                moment = gave_up + 0.1 * at
                retries = nccl.completion_error(job, rank, moment, following)
                last = retries.partition("NCCL WARN ")[2].partition("\n")[0]
                error = c10d.failed(job, rank, moment + 0.4, c10d.remote_error(job, last))
                book.rank(rank, moment, retries + error)
            elif job.local(rank) == 0:
                moment = end + 1 + call.timeout + late(rank)
                book.rank(rank, moment, c10d.timeout(job, rank, moment, call, enqueued=call.seq))
    return book


def as_listed(job: Job) -> Book:
    """A job runs on the adapters that it should, and the ports of two hosts are looked at."""
    book = Book(job)
    book.begin()
    end = book.steps(1, 201, every=20)
    for host in job.hosts[:2]:
        book.other(f"ibstatus-{host}.txt", end, machine.ibstatus(job, host), host)
    return book


def other_version(job: Job) -> Book:
    """The hosts of ``job.nccl_on`` have another NCCL, and the communicator never comes up."""
    book = Book(job)
    odd = [rank for host in job.nccl_on for rank in job.ranks_on(host)]
    first = odd[0]
    for rank in job.everyone.ranks:
        call = nccl.communicator(job, rank)
        lines = [*nccl.banner(job, rank), *nccl.adapters(job, rank), f"{call} - Init START"]
        book.rank(rank, 20, "".join(nccl.info(job, rank, text) for text in lines))
        truncated = nccl.warning(
            job,
            rank,
            24,
            "bootstrap.cc:78",
            "Message truncated : received 256 bytes instead of 232"
            if rank in odd
            else "Message truncated : received 232 bytes instead of 256",
            ["bootstrap.cc:640 -> 3", "bootstrap.cc:702 -> 3", "init.cc:1052 -> 3"],
        )
        neighbours = {(first - 1) % job.world, first, odd[-1], (odd[-1] + 1) % job.world}
        if rank in neighbours:
            book.rank(rank, 24, truncated)
        else:
            peer = job.host((rank + 1) % job.world)
            book.rank(rank, 24.5, nccl.peer_closed(job, rank, 24.5, peer))
    return book


def slow_over_sockets(job: Job) -> Book:
    """The hosts of ``job.net_on`` fell back to TCP; all steps take six times as long."""
    book = Book(job)
    book.begin()
    book.steps(1, 201, every=20, seconds=14.2, ranks=range(0, job.world, job.gpus))
    return book


def wrong_interface(job: Job) -> Book:
    """The hosts of ``job.bootstrap_on`` chose a bridge that no other host reaches."""
    book = Book(job)
    wrong = next(iter(job.bootstrap_on))
    address = job.address(wrong)
    before = (job.ranks_on(wrong)[0] - 1) % job.world
    for rank in job.everyone.ranks:
        call = nccl.communicator(job, rank)
        lines = [*nccl.banner(job, rank), *nccl.adapters(job, rank), f"{call} - Init START"]
        book.rank(rank, 20, "".join(nccl.info(job, rank, text) for text in lines))
    peer = f"{address}<43871>"
    refused = f"socketPollConnect: connect to {peer} returned Connection refused"
    tries = (1, 2, 33, 34)
    for attempt in tries:
        at = 20 + 0.05 * attempt * (attempt + 1)
        wait = f"{refused}, retrying ({attempt}/34) after sleep for {attempt * 100} msec"
        book.rank(before, at, nccl.info(job, before, wait, 340))
    end = 80.0
    error = f"{refused}, exceeded error retry count after 35 attempts"
    trail = ["misc/socket.cc:618 -> 6", "bootstrap.cc:440 -> 6"]
    book.rank(before, end, nccl.warning(job, before, end, "misc/socket.cc:562", error, trail))
    book.rank(before, end + 0.2, training.distributed_error(before, job, error))
    for rank in job.everyone.ranks:
        if rank != before:
            peer_host = job.host(before)
            book.rank(rank, end + 1, nccl.peer_closed(job, rank, end + 1, peer_host))
    return book


def peers_gone(job: Job, host: str) -> Book:
    """All ranks of one host vanish at once; the connections of their peers close.

    Args:
        job: Facts.
        host: Which one; of its own ranks nothing is left but the start.
    """
    book = Book(job)
    book.begin()
    end = book.steps(5200, 5300, every=20)
    gone = list(job.ranks_on(host))
    ring = {(gone[0] - 1) % job.world, (gone[-1] + 1) % job.world}
    rail = {rank for rank in job.everyone.ranks if job.local(rank) < 4}
    for rank in job.everyone.ranks:
        if rank in gone:
            continue
        at = end + 3 + 0.02 * rank
        if rank in ring | rail:
            last = (
                f"socketProgress: Connection closed by remote peer {host}.cluster<{45000 + rank}>"
            )
            closed = nccl.peer_closed(job, rank, at, host)
            error = c10d.failed(job, rank, at + 0.4, c10d.remote_error(job, last))
            book.rank(rank, at, closed + error)
        else:
            call = c10d.Call(seq=53044)
            later = end + 2 + call.timeout + late(rank)
            book.rank(rank, later, c10d.timeout(job, rank, later, call))
    return book


def retries_then_progress(job: Job) -> Book:
    """The first connections need some tries, a port goes and comes back, and the job goes on."""
    book = Book(job)
    for rank in job.everyone.ranks:
        call = nccl.communicator(job, rank)
        lines = [*nccl.banner(job, rank), *nccl.adapters(job, rank), f"{call} - Init START"]
        if job.local(rank) == 3:
            gid = f"local GID index 3, local GID ::ffff:10.20.3.{rank}, remote GID ::ffff:10.20.4.3"
            lines += [
                "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, "
                f"curr state INIT, next state RTR, {gid}, retrying {attempt}/34 after "
                f"{attempt * 100} msec of sleep"
                for attempt in (1, 2)
            ]
        lines += [*nccl.ring(job, rank), f"{call} - Init COMPLETE"]
        book.rank(rank, 20, "".join(nccl.info(job, rank, text) for text in lines))
    middle = book.steps(1, 101, every=10)
    for rank in job.ranks_on(job.hosts[1]):
        for after, event in ((0.5, "port error"), (3.5, "port active")):
            at = middle + after
            text = f"NET/IB : mlx5_5:1 Got async error event: {event}"
            book.rank(rank, at, nccl.warning(job, rank, at, "transport/net_ib.cc:237", text))
    book.steps(111, 401, every=10, begin=middle + 24)
    return book
