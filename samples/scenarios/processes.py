"""Jobs of which a process, a GPU or a whole host ends."""

from joblog import c10d, launch, machine, nccl, training
from joblog.book import Book
from joblog.job import Job

from scenarios.waits import late


def gpu_lost(job: Job, culprit: int) -> Book:
    """A GPU leaves the bus; its rank stops at a CUDA error, the others time out.

    Args:
        job: Facts.
        culprit: The rank on that GPU.
    """
    book = Book(job)
    book.begin()
    end = book.steps(7400, 7500, every=20)
    host = job.host(culprit)
    place = f"dmesg-{host}.txt"
    book.other(place, -7210, machine.boot(job, host), host)
    book.other(place, end + 1, machine.gpu_lost(job, culprit, end + 1), host)
    error = training.cuda_error(culprit, "unspecified launch failure", "cudaErrorLaunchFailure")
    book.rank(culprit, end + 4, error)
    agent = launch.exits(job, host, end + 9, {culprit: 1})
    book.other(f"torchrun-{host}.log", end + 9, agent, host)
    call = c10d.Call(seq=75011, op="_ALLGATHER_BASE", numel=4096, numel_out=4096 * job.world)
    for rank in job.everyone.ranks:
        if job.host(rank) != host:
            at = end + 2 + call.timeout + late(rank)
            book.rank(rank, at, c10d.timeout(job, rank, at, call))
    return book


def killed_by_kernel(job: Job, culprit: int, slurm: int = 77121) -> Book:
    """The kernel kills a rank whose job has used up its memory.

    Args:
        job: Facts.
        culprit: The rank.
        slurm: Job id.
    """
    book = Book(job)
    book.begin()
    end = book.steps(400, 500, every=20)
    host = job.host(culprit)
    place = f"dmesg-{host}.txt"
    book.other(place, -7210, machine.boot(job, host), host)
    kill = machine.out_of_memory(job, culprit, end + 5, 612345 + culprit, slurm)
    book.other(place, end + 5, kill, host)
    out = f"slurm-{slurm}.out"
    step = (
        f"slurmstepd: error: Detected 1 oom_kill event in StepId={slurm}.0. "
        "Some of the step tasks have been OOM Killed.\n"
        + launch.tasks(host, [culprit], "Out Of Memory")
    )
    book.other(out, end + 6, step)
    call = c10d.Call(seq=5010)
    for rank in job.everyone.ranks:
        if rank == culprit:
            continue
        if job.host(rank) == host:
            at = end + 5.5 + 0.05 * job.local(rank)
            last = (
                f"socketProgress: Connection closed by remote peer {host}.cluster<{45000 + rank}>"
            )
            error = c10d.failed(job, rank, at, c10d.remote_error(job, last))
            book.rank(rank, at, nccl.peer_closed(job, rank, at, host) + error)
        else:
            at = end + 2 + call.timeout + late(rank)
            book.rank(rank, at, c10d.timeout(job, rank, at, call))
    return book


def node_failed(job: Job, host: str, slurm: int = 81904) -> Book:
    """A host dies; Slurm notices, and the connections to it time out.

    Args:
        job: Facts.
        host: Which one.
        slurm: Job id.
    """
    book = Book(job)
    book.begin()
    end = book.steps(9100, 9200, every=20)
    call = c10d.Call(seq=92101)
    for rank in job.everyone.ranks:
        if job.host(rank) != host:
            at = end + 2 + call.timeout + late(rank)
            book.rank(rank, at, c10d.timeout(job, rank, at, call, enqueued=call.seq + 2))
    out = f"slurm-{slurm}.out"
    why = "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
    first = job.hosts[0]
    text = (
        f"srun: error: Node failure on {host}\n"
        "srun: Job step aborted: Waiting up to 62 seconds for job step to finish.\n"
        + launch.cancelled(job, first, end + 640, slurm, why)
    )
    book.other(out, end + 640, text)
    return book


def traceback_elsewhere(job: Job, culprit: int) -> Book:
    """One rank stops at an error and hangs in its exit; torchrun sees rank 0 end first.

    Args:
        job: Facts.
        culprit: The rank.
    """
    book = Book(job)
    book.begin()
    end = book.steps(610, 710, every=20)
    frames = [
        ("/app/train.py", 231, "<module>", "main()"),
        ("/app/train.py", 181, "main", "batch = collate(next(batches))"),
        ("/app/data.py", 96, "collate", 'tokens = [one["input_ids"] for one in rows]'),
    ]
    failed = training.message(job, culprit, end + 1.5, "train: step 711 failed", "ERROR")
    error = training.traceback(culprit, frames, "KeyError: 'input_ids'")
    book.rank(culprit, end + 1.5, failed + error)
    call = c10d.Call(seq=7110, op="_ALLGATHER_BASE", numel=16384, numel_out=16384 * job.world)
    for rank in job.everyone.ranks:
        if rank != culprit:
            at = end + 2 + call.timeout + late(rank)
            book.rank(rank, at, c10d.timeout(job, rank, at, call))
    for host in job.hosts:
        at = end + 2 + call.timeout + 3
        codes = {rank: -6 for rank in job.ranks_on(host) if rank != culprit}
        book.other(f"torchrun-{host}.log", at, launch.exits(job, host, at, codes), host)
    return book


def failed_twice(job: Job, first: int, second: int) -> Book:
    """A rank is out of GPU memory, torchrun starts all again, and then another one fails.

    Args:
        job: Facts; all ranks run on one host.
        first: The rank that fails at the first attempt.
        second: The rank that fails at the second one, for another reason.
    """
    host = job.hosts[0]
    book = Book(job)
    book.begin()
    end = book.steps(100, 200, every=20)
    failed = training.message(job, first, end + 1, "train: step 201 failed", "ERROR")
    book.rank(first, end + 1, failed + training.out_of_memory(first, job.local(first)))
    book.other(f"torchrun-{host}.log", end + 6, launch.restart(job, host, end + 6, 2), host)

    again = end + 40
    for rank in job.everyone.ranks:
        loaded = "train: loaded checkpoint /ckpt/run-12/step_180, resuming at step 180"
        other = nccl.setup(job, rank).replace(f":{job.pid(rank)}:", f":{job.pid(rank) + 900}:")
        book.rank(rank, again, other + training.message(job, rank, again, loaded))
    end = book.steps(181, 301, every=20, begin=again + 20)
    frames = [
        ("/app/train.py", 231, "<module>", "main()"),
        ("/app/train.py", 181, "main", "batch = next(batches)"),
        ("/app/data.py", 77, "__getitem__", "return json.loads(self.lines[index])"),
    ]
    text = "json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 918 (char 917)"
    failed = training.message(job, second, end + 1, "train: step 302 failed", "ERROR")
    book.rank(second, end + 1, failed + training.traceback(second, frames, text))
    call = c10d.Call(seq=1422)
    for rank in job.everyone.ranks:
        if rank != second:
            at = end + 2 + call.timeout + late(rank)
            book.rank(rank, at, c10d.timeout(job, rank, at, call))
    return book
