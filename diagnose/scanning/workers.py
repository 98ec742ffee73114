"""Worker processes, forked from this one, and batches of work handed to them.

Each has a pipe of its own: what one leaves half written, when it is killed, nobody waits for.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread
from traceback import format_exc
from typing import Generic, TypeVar

from diagnose.scanning.interrupts import interrupts_later

Batch = list[int]
Result = TypeVar("Result")


def results(
    work: Sequence[Batch], jobs: int, do: Callable[[Batch], Result]
) -> Iterator[tuple[Batch, Result | None]]:
    """Yield each batch with what came of it as it is done, None where its worker was lost with it.

    Args:
        work: The batches.
        jobs: How many processes.
        do: What each does with a batch, and with what it finds in memory.
    """
    left = deque(work)
    busy: dict[Connection, tuple[_Worker[Result], Batch]] = {}
    workers: list[_Worker[Result]] = []

    def hand_to(worker: _Worker[Result]) -> None:
        if left:
            busy[worker.pipe] = worker, left.popleft()
            worker.give(busy[worker.pipe][1])

    try:
        with interrupts_later():
            for _ in range(min(jobs, len(left))):
                workers.append(_Worker(do))
        for worker in workers:
            hand_to(worker)
        while busy:
            for pipe in wait(list(busy)):
                worker, batch = busy.pop(pipe)  # type: ignore[call-overload]
                result = worker.result()
                if result is None:
                    with interrupts_later():
                        worker.end()
                        worker.start()
                hand_to(worker)
                yield batch, result
    finally:
        for worker in workers:
            worker.end()


class _Worker(Generic[Result]):
    """One process at a time."""

    def __init__(self, do: Callable[[Batch], Result]) -> None:
        self._do = do
        self.start()

    def start(self) -> None:
        context = get_context("fork")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._do), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, batch: Batch) -> None:
        with suppress(OSError):  # it is gone, and its pipe will say so
            self.pipe.send(batch)

    def result(self) -> Result | None:
        try:
            result: Result | Exception = self.pipe.recv()
        except (EOFError, OSError):
            return None
        if isinstance(result, Exception):
            raise result
        return result

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection, do: Callable[[Batch], Result]) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    while True:
        batch = pipe.recv()
        try:
            pipe.send(do(batch))
        except Exception as error:
            error.add_note(format_exc())
            pipe.send(error)


def _end_with_parent() -> None:
    """End this worker when its parent is gone, however that ended."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)
