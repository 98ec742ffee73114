"""Reading on the cores of this machine.

Small inputs are read in this process, since starting workers costs more than reading them.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Thread

from diagnose.model.reading import SourceSummary
from diagnose.parsers.reader import Reader
from diagnose.scanning.units import Part, Unit, Wants, batches, read_batch

WORTH_WORKERS = 24 << 20
"""Bytes of input from which on worker processes pay."""

LARGEST_KEPT = 31 << 20
"""Bytes of a block whose release teaches glibc to keep such blocks; its limit is 32 MiB."""

KILLED = "the process that read it was killed twice; it may need more memory than there is"


@dataclass(frozen=True, slots=True)
class Local:
    """The engine that is always there.

    Args:
        jobs: Worker processes; None takes the cores this process may use.
    """

    jobs: int | None = None

    def read(
        self, units: Sequence[Unit], reader: Reader, wants: Wants
    ) -> Iterator[tuple[int, list[Part]]]:
        """Yield the number of each unit with what it gave; see ``Engine``."""
        jobs = min(self.jobs or cores(), len(units))
        small = sum(unit.weight for unit in units) < WORTH_WORKERS
        if jobs <= 1 or small or not hasattr(os, "fork"):
            if not small:
                keep_blocks()
            for batch in batches(units):
                some = [units[number] for number in batch]
                yield from zip(batch, read_batch(some, reader, wants), strict=True)
            return
        _STATE.units, _STATE.reader, _STATE.wants = units, reader, wants
        # Forked workers have the reader as it is: its literals, once compiled here, need not be
        # compiled again.
        reader.matcher.compile()
        lost = []
        for batch, read in _in_workers(list(batches(units)), jobs):
            if read is None:
                lost += batch
            else:
                yield from zip(batch, read, strict=True)
        # What killed one worker must not take its neighbours with it a second time.
        for (number,), read in _in_workers([[number] for number in lost], 1, alone=True):
            yield number, read[0] if read else [_killed(units[number])]


ALL_CORES = Local()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_blocks() -> None:
    """Keep freed megabytes in this process.

    The C library gives them back to the kernel until it has seen a larger block come and go
    (mallopt(3), M_MMAP_THRESHOLD); getting them anew for each piece takes a tenth of the time.
    """
    bytes(LARGEST_KEPT)


def _in_workers(
    work: list[list[int]], jobs: int, *, alone: bool = False
) -> Iterator[tuple[list[int], list[list[Part]] | None]]:
    """Yield each batch as it is read, with None where the worker that had it is gone.

    Args:
        work: Numbers of units, by batch.
        jobs: Worker processes.
        alone: Every batch gets workers of its own.
    """
    # Imported here: a snippet is read without them, and they cost as much as reading it.
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children, get_context

    strangers = set(active_children())
    for group in [[batch] for batch in work] if alone else [work]:
        with ProcessPoolExecutor(
            min(jobs, len(group)), get_context("fork"), initializer=_start_worker
        ) as pool:
            futures = {pool.submit(_read_batch, batch): batch for batch in group}
            try:
                for future in as_completed(futures):
                    # Whoever takes what was read keeps what is needed of it.
                    batch = futures.pop(future)
                    try:
                        yield batch, future.result()
                    except BrokenProcessPool:
                        yield batch, None
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for worker in set(active_children()) - strangers:
                    worker.kill()
                raise


def _killed(unit: Unit) -> Part:
    return Part(SourceSummary(name=unit.source.name), skipped=KILLED)


class _State:
    """What a forked worker process finds in its memory."""

    units: Sequence[Unit]
    reader: Reader
    wants: Wants


_STATE = _State()


def _start_worker() -> None:
    # Ctrl-C reaches all processes of a terminal; the one that started the others ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    keep_blocks()


def _end_with_parent() -> None:
    """End this worker when its parent is gone, however that ended."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _read_batch(batch: list[int]) -> list[list[Part]]:
    units = [_STATE.units[number] for number in batch]
    return list(read_batch(units, _STATE.reader, _STATE.wants))
