"""Lines of PyTorch's ProcessGroupNCCL, of the versions 2.3 to 2.9.

From 2.4 on they are stamped with a second of the wall clock and, behind the point, with the
nanoseconds of the monotonic clock, which have another phase on each host. The layouts of the group,
of the counters and of the dump signal change with 2.4, 2.5 and 2.6.
"""

from dataclasses import dataclass

from joblog.job import Group, Job

CORRUPT = (
    "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
    "kernels, subsequent GPU operations might run on corrupted/incomplete data."
)
REASONS = (
    "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across "
    "ranks, the order of collectives is not same for all ranks or the scheduled collective, for "
    "some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons "
    "such as network errors or bugs in the communications library (e.g. NCCL), etc. "
)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One collective.

    Args:
        seq: Its number within the group.
        op: Name, such as ``ALLREDUCE``.
        numel: Elements that go in.
        numel_out: Elements that come out, None as many.
        timeout: Seconds after which the watchdog gives up.
    """

    seq: int
    op: str = "ALLREDUCE"
    numel: int = 25165824
    numel_out: int | None = None
    timeout: int = 600


def line(job: Job, rank: int, moment: float, message: str, place: int, level: str = "E") -> str:
    """Return a line as libc10 stamps it.

    Args:
        job: Facts.
        rank: Global rank.
        moment: Seconds since the start.
        message: Text.
        place: Line of ProcessGroupNCCL.cpp.
        level: ``I``, ``W``, ``E`` or ``F``.
    """
    if job.torch_version < (2, 4):
        return f"[rank{rank}]:[{level} ProcessGroupNCCL.cpp:{place}] {message}\n"
    host = job.host(rank)
    clock = job.clock(host, moment)
    phase = job.chance("monotonic", host).random()
    nanoseconds = int((moment + phase) % 1 * 1e9) // 1000 * 1000 + place % 1000
    return (
        f"[rank{rank}]:[{level}{clock.month}{clock:%d %H:%M:%S}.{nanoseconds:09d} "
        f"ProcessGroupNCCL.cpp:{place}] {message}\n"
    )


def member(job: Job, rank: int, group: Group) -> str:
    """Return how a line names the group and the rank in it."""
    number = group.number(rank)
    if job.torch_version < (2, 4):
        return f"[PG {group.index} Rank {number}] "
    if job.torch_version < (2, 5):
        return f"[PG {group.index} ({group.label}) Rank {number}] "
    return f"[PG ID {group.index} PG GUID {group.guid}({group.label}) Rank {number}] "


def timeout(
    job: Job,
    rank: int,
    moment: float,
    call: Call,
    *,
    group: Group | None = None,
    enqueued: int | None = None,
    completed: int | None = None,
    abort: bool = True,
) -> str:
    """Return what the watchdog of a waiting rank prints.

    Args:
        job: Facts.
        rank: Global rank.
        moment: Seconds since the start.
        call: What it waits in.
        group: The call's, None the default one.
        enqueued: Number of the last call given to the GPU, None the one after ``call``.
        completed: Number of the last call that ended, None the one before ``call``.
        abort: With the lines that announce the end of the process.
    """
    group = group or job.everyone
    out = call.numel if call.numel_out is None else call.numel_out
    lasted = call.timeout * 1000 + job.chance("lasted", rank, call.seq).randrange(3, 95)
    enqueued = call.seq + 1 if enqueued is None else enqueued
    completed = call.seq - 1 if completed is None else completed
    who = member(job, rank, group)
    first = f"[Rank {group.number(rank)}] "
    lines = [
        line(
            job,
            rank,
            moment,
            f"{first}Watchdog caught collective operation timeout: WorkNCCL(SeqNum={call.seq}, "
            f"OpType={call.op}, NumelIn={call.numel}, NumelOut={out}, "
            f"Timeout(ms)={call.timeout * 1000}) ran for {lasted} milliseconds before timing out.",
            632,
        ),
        line(job, rank, moment, who + _counters(job, call.seq, enqueued, completed), 2268),
    ]
    if abort:
        lines += [
            line(job, rank, moment + 0.1, first + CORRUPT, 684),
            line(
                job,
                rank,
                moment + 0.1,
                f"{first}To avoid data inconsistency, we are taking the entire process down.",
                698,
            ),
        ]
    return "".join(lines)


def _counters(job: Job, seq: int, enqueued: int, completed: int) -> str:
    if job.torch_version < (2, 4):
        return (
            f"Timeout at NCCL work: {seq}, last enqueued NCCL work: {enqueued}, "
            f"last completed NCCL work: {completed}."
        )
    if job.torch_version < (2, 6):
        return (
            f"Exception (either an error or timeout) detected by watchdog at work: {seq}, "
            f"last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
        )
    return (
        f" failure detected by watchdog at work sequence id: {seq} PG status: "
        f"last enqueued work: {enqueued}, last completed work: {completed}"
    )


def dump_signal(
    job: Job,
    rank: int,
    moment: float,
    first: int,
    enqueued: int,
    completed: int | None = None,
    group: Group | None = None,
) -> str:
    """Return what a rank prints that did not time out when another one did; nothing before 2.4.

    Args:
        job: Facts.
        rank: Global rank.
        moment: Seconds since the start.
        first: The rank that timed out first.
        enqueued: Number of the last call given to the GPU.
        completed: Number of the last call that ended, None the same.
        group: Whose counters they are, None the default one.
    """
    if job.torch_version < (2, 4):
        return ""
    if job.torch_version < (2, 4):
        return ""
    who = member(job, rank, group or job.everyone)
    counters = (
        f"Last enqueued NCCL work: {enqueued}, last completed NCCL work: "
        f"{enqueued if completed is None else completed}."
    )
    if job.torch_version < (2, 5):
        text = f"Received a global dump signal from rank {first}, and will start to dump the debug info. {counters}"
        return line(job, rank, moment, who + text, 1254)
    text = (
        f"Received a dump signal due to a collective timeout from  rank {first} and we will try "
        f"our best to dump the debug info. {counters}{REASONS}"
    )
    observed = "Observed flight recorder dump signal from another rank via TCPStore."
    return (
        line(job, rank, moment, who + observed, 1682)
        + line(job, rank, moment, who + text, 1743)
        + line(job, rank, moment, f"{who}ProcessGroupNCCL preparing to dump debug info.", 1534)
    )


def terminated(job: Job, rank: int, moment: float) -> str:
    """Return the last line of a process that ends itself after a dump."""
    who = member(job, rank, job.everyone)
    text = "Terminating the process after attempting to dump debug info, due to collective timeout or exception."
    return line(job, rank, moment, who + who + text, 1557, "F")


def failed(job: Job, rank: int, moment: float, error: str) -> str:
    """Return what the watchdog prints when it ends by an error.

    Args:
        job: Facts.
        rank: Global rank.
        moment: Seconds since the start.
        error: Its text, several lines perhaps.
    """
    who = member(job, rank, job.everyone)
    text = f"{who}Process group watchdog thread terminated with exception: {error}"
    return line(job, rank, moment, text, 2057)


def remote_error(job: Job, last: str) -> str:
    """Return the text of an NCCL error whose other end is to blame.

    Args:
        job: Facts.
        last: Text of the last NCCL warning.
    """
    return (
        "NCCL error: remote process exited or there was a network error, "
        f"NCCL version {job.nccl}\nncclRemoteError: A call failed possibly due to a network error "
        f"or a remote process exiting prematurely.\nLast error:\n{last}"
    )
