"""Jobs of which all that is left is ranks that wait."""

from joblog import c10d, training
from joblog.book import Book
from joblog.job import Group, Job

ARRIVAL = 0.01
"""Seconds between the timeouts of two ranks whose watchdogs look in turn."""


def late(rank: int) -> float:
    """Return by how many seconds the watchdog of a rank looks later than the first one."""
    return rank * 37 % 90 * ARRIVAL


def never_entered(job: Job, culprit: int, seq: int = 1201, last_step: int = 1200) -> Book:
    """One rank gives no call to its GPU any more, the others wait in the next one.

    Args:
        job: Facts.
        culprit: The rank.
        seq: Number of the call.
        last_step: The last step that was logged.
    """
    book = Book(job)
    book.begin(edges=False)
    end = book.steps(last_step - 100, last_step, every=50)
    call = c10d.Call(seq=seq)
    for rank in job.everyone.ranks:
        moment = end + 2 + call.timeout + late(rank)
        if rank != culprit:
            book.rank(rank, moment, c10d.timeout(job, rank, moment, call))
            continue
        first = min(set(job.everyone.ranks) - {culprit}, key=late)
        book.rank(rank, moment + 1, c10d.dump_signal(job, rank, moment + 1, first, seq - 1))
    return book


def out_of_memory_long_before(job: Job, culprit: int, seq: int = 880) -> Book:
    """One rank runs out of GPU memory and stays; half an hour later the others time out.

    Args:
        job: Facts.
        culprit: The rank.
        seq: Number of the call it did not come to.
    """
    book = Book(job)
    book.begin(edges=False)
    end = book.steps(760, 860, every=50)
    book.rank(
        culprit,
        end + 1.2,
        training.message(job, culprit, end + 1.2, "train: step 861 failed", "ERROR")
        + training.out_of_memory(culprit, job.local(culprit)),
    )
    call = c10d.Call(seq=seq, op="_REDUCE_SCATTER_BASE", timeout=1800,
                     numel=job.world * 98304, numel_out=98304)  # fmt: skip
    for rank in job.everyone.ranks:
        moment = end + 1.4 + call.timeout + late(rank)
        if rank != culprit:
            book.rank(rank, moment, c10d.timeout(job, rank, moment, call))
    return book


def everybody_waits(job: Job, seq: int = 15804) -> Book:
    """All ranks have given the same call to their GPUs, and it ends on none."""
    book = Book(job)
    book.begin(edges=False)
    end = book.steps(1500, 1600, every=50)
    call = c10d.Call(seq=seq, numel=268435456)
    for rank in job.everyone.ranks:
        moment = end + 2 + call.timeout + late(rank)
        book.rank(rank, moment, c10d.timeout(job, rank, moment, call, enqueued=seq + 3))
    return book


def other_call(job: Job, culprit: int) -> Book:
    """One rank took another branch: under the same number it waits in another operation.

    Args:
        job: Facts.
        culprit: The rank.
    """
    book = Book(job)
    book.begin()
    end = book.steps(2000, 2100, every=20)
    usual = c10d.Call(seq=42018, numel=1)
    odd = c10d.Call(seq=42018, op="BROADCAST", numel=8192)
    for rank in job.everyone.ranks:
        call = odd if rank == culprit else usual
        moment = end + 2 + call.timeout + late(rank)
        text = c10d.timeout(job, rank, moment, call, enqueued=call.seq)
        book.rank(rank, moment, text)
    return book


def pipeline_chain(job: Job, culprit: int, stages: int = 4) -> Book:
    """A rank of the last pipeline stage stops; its chain waits for it, the others for the chain.

    The ranks of one stage share a data-parallel group, those of the same place in all stages the
    group that passes activations on.

    Args:
        job: Facts.
        culprit: The rank.
        stages: Number of pipeline stages, each of as many ranks one behind the other.
    """
    wide = job.world // stages
    chain = [culprit % wide + stage * wide for stage in range(stages)]
    book = Book(job)
    book.begin()
    end = book.steps(820, 920, every=20)
    reduce = c10d.Call(seq=922, op="_REDUCE_SCATTER_BASE", numel=41943040,
                       numel_out=41943040 // wide)  # fmt: skip
    passed = c10d.Call(seq=14737, op="COALESCED", numel=8388608)
    for rank in job.everyone.ranks:
        place = rank % wide
        group = Group(index=1, guid=str(1 + rank // wide), label="DATA_PARALLEL_GROUP",
                      ranks=tuple(range(rank - place, rank - place + wide)))  # fmt: skip
        call = reduce
        if rank in chain:
            group = Group(index=2, guid=str(1 + stages + place), label="PIPELINE_MODEL_PARALLEL_GROUP",
                          ranks=tuple(range(place, job.world, wide)))  # fmt: skip
            call = passed
        moment = end + 3 + call.timeout + late(rank)
        if rank == culprit:
            text = c10d.dump_signal(job, rank, moment + 1, chain[-2], 922)
        else:
            text = c10d.timeout(job, rank, moment, call, group=group, enqueued=call.seq)
        book.rank(rank, moment, text)
    return book


def loader_stuck(job: Job, culprit: int) -> Book:
    """The data loader of one rank never returns; after a while it prints its stacks.

    Args:
        job: Facts.
        culprit: The rank.
    """
    book = Book(job)
    book.begin()
    end = book.steps(5000, 5100, every=20)
    call = c10d.Call(seq=51010)
    library = "/opt/venv/lib/python3.11/site-packages"
    stack = [
        ("/usr/lib/python3.11/threading.py", 331, "wait"),
        ("/usr/lib/python3.11/multiprocessing/queues.py", 180, "get"),
        (f"{library}/torch/utils/data/dataloader.py", 1243, "_try_get_data"),
        (f"{library}/torch/utils/data/dataloader.py", 1402, "_get_data"),
        (f"{library}/torch/utils/data/dataloader.py", 1448, "_next_data"),
        (f"{library}/torch/utils/data/dataloader.py", 701, "__next__"),
        ("/app/train.py", 181, "main"),
        ("/app/train.py", 231, "<module>"),
    ]
    watchdog = training.message(job, culprit, end + 242, "train: no batch for 240 s", "WARNING")
    frames = "".join(f'  File "{file}", line {line} in {name}\n' for file, line, name in stack)
    stacks = f"Timeout (0:05:00)!\nThread 0x00007f1c2a8e0740 (most recent call first):\n{frames}"
    book.rank(culprit, end + 242, watchdog)
    book.rank(culprit, end + 302, stacks)
    first = min(set(job.everyone.ranks) - {culprit}, key=late)
    for rank in job.everyone.ranks:
        moment = end + 2 + call.timeout + late(rank)
        if rank == culprit:
            text = c10d.dump_signal(job, rank, moment + 1, first, call.seq - 1)
        else:
            text = c10d.timeout(job, rank, moment, call)
        book.rank(rank, moment, text)
    return book
