"""Lines of torchrun's agents and of Slurm."""

from collections.abc import Sequence

from joblog.job import Job

ELASTIC = "site-packages/torch/distributed/elastic"
RULE, LINE = "=" * 60, "-" * 60


def agent(job: Job, host: str, moment: float, text: str, place: str, level: str) -> str:
    """Return a line of the agent on a host.

    Args:
        job: Facts.
        host: Where it runs.
        moment: Seconds since the start.
        text: Message.
        place: File below ``torch/distributed/elastic`` and line.
        level: ``I``, ``W`` or ``E``.
    """
    clock = job.clock(host, moment)
    return f"{level}{clock:%m%d %H:%M:%S.%f} {job.agent(host)} {ELASTIC}/{place}] {text}\n"


def exits(
    job: Job, host: str, moment: float, codes: dict[int, int], script: str = "train.py"
) -> str:
    """Return what an agent prints when workers end by themselves and it ends the others.

    Args:
        job: Facts.
        host: Where it runs.
        moment: Seconds since the start, when it noticed.
        codes: Exit code by rank, the one it notices first in front.
        script: Name of the program.
    """
    first = next(iter(codes))
    lines = [
        agent(
            job,
            host,
            moment,
            f"Sending process {job.pid(rank)} closing signal SIGTERM",
            "multiprocessing/api.py:897",
            "W",
        )
        for rank in job.ranks_on(host)
        if rank not in codes
    ]
    lines.append(
        agent(
            job,
            host,
            moment + 0.6,
            f"failed (exitcode: {codes[first]}) local_rank: {job.local(first)} "
            f"(pid: {job.pid(first)}) of binary: /opt/venv/bin/python",
            "multiprocessing/api.py:869",
            "E",
        )
    )
    others = [_failure(job, host, moment, rank, codes[rank], at + 1)
              for at, rank in enumerate(list(codes)[1:])]  # fmt: skip
    lines += [
        "Traceback (most recent call last):\n",
        '  File "/opt/venv/bin/torchrun", line 8, in <module>\n',
        "    sys.exit(main())\n",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
        f"{RULE}\n{script} FAILED\n{LINE}\nFailures:\n",
        "".join(others) or "  <NO_OTHER_FAILURES>\n",
        f"{LINE}\nRoot Cause (first observed failure):\n",
        _failure(job, host, moment, first, codes[first], 0),
        f"{RULE}\n",
    ]
    return "".join(lines)


def _failure(job: Job, host: str, moment: float, rank: int, code: int, index: int) -> str:
    names = {-6: "SIGABRT", -9: "SIGKILL", -15: "SIGTERM"}
    trace = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    if code < 0:
        trace = f"Signal {-code} ({names[code]}) received by PID {job.pid(rank)}"
    return (
        f"[{index}]:\n"
        f"  time      : {job.clock(host, moment):%Y-%m-%d_%H:%M:%S}\n"
        f"  host      : {host}.cluster\n"
        f"  rank      : {rank} (local_rank: {job.local(rank)})\n"
        f"  exitcode  : {code} (pid: {job.pid(rank)})\n"
        "  error_file: <N/A>\n"
        f"  traceback : {trace}\n"
    )


def restart(job: Job, host: str, moment: float, left: int) -> str:
    """Return the line of an agent that starts all workers again."""
    text = f"[default] Worker group FAILED. {left}/3 attempts left; will restart worker group"
    return agent(job, host, moment, text, "agent/server/api.py:930", "I")


def tasks(host: str, ranks: Sequence[int], what: str) -> str:
    """Return what srun says of tasks that ended.

    Args:
        host: Where they ran.
        ranks: Task ids, the global ranks.
        what: Such as ``Killed`` or ``Aborted (core dumped)``.
    """
    if len(ranks) == 1:
        return f"srun: error: {host}: task {ranks[0]}: {what}\n"
    return f"srun: error: {host}: tasks {ranks[0]}-{ranks[-1]}: {what}\n"


def cancelled(job: Job, host: str, moment: float, number: int, why: str) -> str:
    """Return what Slurm's step daemon says at the end of a step.

    Args:
        job: Facts.
        host: Where it runs.
        moment: Seconds since the start.
        number: Job id.
        why: Such as ``DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS``, empty for none.
    """
    when = f"{job.clock(host, moment):%Y-%m-%dT%H:%M:%S}"
    return f"slurmstepd: error: *** STEP {number}.0 ON {host} CANCELLED AT {when}{why and ' ' + why} ***\n"
