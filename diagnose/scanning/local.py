"""Reading on the cores of this machine.

Small inputs are read in this process, since starting workers costs more than reading them.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
        if not small:
            keep_blocks()
        if jobs <= 1 or small or not hasattr(os, "fork"):
            for batch in batches(units):
                some = [units[number] for number in batch]
                yield from zip(batch, read_batch(some, reader, wants), strict=True)
            return
        # Imported here: a snippet is read without them, and they cost as much as reading it.
        from diagnose.scanning.workers import results

        # Forked workers have units and reader as they are: literals that are compiled here need not
        # be compiled again.
        reader.matcher.compile()

        def read_in_worker(batch: list[int]) -> list[list[Part]]:
            return list(read_batch([units[number] for number in batch], reader, wants))

        lost = []
        for batch, read in results(list(batches(units)), jobs, read_in_worker):
            if read is None:
                lost += batch
            else:
                yield from zip(batch, read, strict=True)
        # What killed one worker must not take its neighbours with it a second time.
        for (number,), again in results([[number] for number in lost], 1, read_in_worker):
            yield number, again[0] if again else [_killed(units[number])]


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


def _killed(unit: Unit) -> Part:
    return Part(SourceSummary(name=unit.source.name), skipped=KILLED)
