"""Batches on their way through a cluster, few at a time, and what becomes of those of lost workers.

Dask itself gives the work of a lost worker to another. What has lost several of them is read once
more, each unit alone, and then given up.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed

from diagnose.errors import ClusterError
from diagnose.ingest.stream import VANISHED
from diagnose.model.reading import SourceSummary
from diagnose.scanning.cluster.meet import await_workers
from diagnose.scanning.cluster.worker import Done, Order, fill
from diagnose.scanning.units import Part, Unit, batches

BATCHES_A_THREAD = 4
FEWEST_BATCHES = 256
"""Batches handed over and not yet read: workers that come late find some, none waits for long, and
the scheduler never holds many."""

SILENCE = 20.0
"""Seconds without a batch after which it is asked whether there are workers at all."""

KILLED = "the workers that read it were lost, each time; it may need more memory than they have"


@dataclass(slots=True)
class Work:
    """The units of a run and the batches of them that are under way.

    Args:
        client: Of the scheduler.
        order: How they are read.
        units: With paths that workers can open.
        warn: Told of lost workers.
    """

    client: Client
    order: Order
    units: Sequence[Unit]
    warn: Callable[[str], None] | None
    _pending: dict[str, tuple[Future, list[int]]] = field(default_factory=dict)
    _losses: list[dict[str, Any]] = field(default_factory=list)

    def read(self) -> Iterator[tuple[int, list[Part]]]:
        """Yield the number of each unit with what it gave.

        Raises:
            ClusterError: The scheduler or all workers are gone.
        """
        most = max(BATCHES_A_THREAD * sum(self.client.nthreads().values()), FEWEST_BATCHES)
        lost = []
        try:
            self.client.subscribe_topic("all", self._note)
            for batch, done in self._done(batches(self.units), most):
                if done is None:
                    lost += batch
                else:
                    yield from zip(batch, self._parts(batch, done), strict=True)
            # What killed its workers must not take its neighbours with it a second time.
            for number in lost:
                for batch, done in self._done(iter([[number]]), 1):
                    yield number, self._parts(batch, done)[0] if done else [self._killed(number)]
        finally:
            self.client.unsubscribe_topic("all")
            self.client.cancel([future for future, _ in self._pending.values()])

    def _done(
        self, work: Iterator[list[int]], most: int
    ) -> Iterator[tuple[list[int], Done | None]]:
        """Yield each batch as it is read, with None where worker after worker was lost with it."""
        for batch in islice(work, most):
            self._submit(batch)
        while self._pending:
            await_workers(self.client)
            completed = as_completed(
                [future for future, _ in self._pending.values()],
                loop=self.client.loop,
                with_results=True,
                raise_errors=False,
                timeout=SILENCE,
            )
            while (news := _next(completed)) is not None:
                self._tell_losses()
                _, batch = self._pending.pop(news[0].key)
                for following in islice(work, 1):
                    completed.add(self._submit(following))
                yield batch, outcome(*news)
            completed.clear()

    def _submit(self, batch: list[int]) -> Future:
        units = [self.units[number] for number in batch]
        future = self.client.submit(fill, self.order, units, pure=False)
        self._pending[future.key] = (future, batch)
        return future

    def _note(self, event: tuple[float, dict[str, Any]]) -> None:
        """Take note of what the scheduler says of its workers, in a thread of the client."""
        message = event[1]
        if message.get("action") == "remove-worker":
            self._losses.append(message)

    def _tell_losses(self) -> None:
        """Tell which of the lost workers had batches of this run."""
        while self._losses:
            loss = self._losses.pop(0)
            keys = {*loss.get("processing-tasks", ()), *loss.get("lost-computed-tasks", ())}
            had = [self._pending[key][1] for key in keys if key in self._pending]
            files = {self.units[number].source.name for batch in had for number in batch}
            if files and self.warn:
                count = "one file" if len(files) == 1 else f"{len(files)} files"
                self.warn(
                    f"lost the worker {loss.get('worker')}; {count} it had to read go to others"
                )

    def _parts(self, batch: list[int], done: Done) -> list[list[Part]]:
        """Return what a batch gave; of files that a worker does not see, say so."""
        for number, parts in zip(batch, done.parts, strict=True):
            path = self.units[number].source.path or ""
            for part in parts:
                if part.skipped == VANISHED and Path(path).exists():
                    part.skipped = f"{done.host}, which was to read it, does not see it"
        return done.parts

    def _killed(self, number: int) -> Part:
        return Part(SourceSummary(name=self.units[number].source.name), skipped=KILLED)


def _next(completed: as_completed) -> tuple[Future, Any] | None:
    """Return the next future with its result, None if there are no more or none came for long."""
    try:
        news: tuple[Future, Any] = next(completed)
    except (StopIteration, TimeoutError):
        return None
    return news


def outcome(future: Future, result: Any) -> Done | None:
    """Return what a batch gave, None where worker after worker was lost with it.

    Args:
        future: Of the batch, over.
        result: What came with it.

    Raises:
        ClusterError: The scheduler is gone, or a worker cannot run this program.
    """
    # A result that is here stays good when the worker that had it leaves, which makes it "lost".
    if isinstance(result, Done):
        return result
    if future.status != "error":
        raise ClusterError("the connection to the Dask scheduler was lost")
    error = result[1]
    if isinstance(error, KilledWorker):
        return None
    if isinstance(error, ImportError):
        raise ClusterError(f"a worker cannot run this program: {error}") from error
    raise error
