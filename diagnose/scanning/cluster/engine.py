"""The engine: what can be sent goes to a cluster, what is held in memory is read here."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from diagnose.ingest.address import ADDRESS
from diagnose.parsers.reader import Reader
from diagnose.scanning.cluster.connect import connected
from diagnose.scanning.cluster.meet import meet
from diagnose.scanning.cluster.work import Work
from diagnose.scanning.cluster.worker import order
from diagnose.scanning.units import Part, Unit, Wants, read_unit


@dataclass(frozen=True, slots=True)
class Dask:
    """The engine that reads on the workers of a Dask scheduler.

    Args:
        scheduler: Its address, or the file it wrote. None takes the one that Dask is configured for
            (``DASK_SCHEDULER_ADDRESS``), else starts workers on this machine.
        jobs: Workers to start on this machine; None takes the cores this process may use.
        warn: Told in a sentence that a worker was lost and what it had is read again.
    """

    scheduler: str | None = None
    jobs: int | None = None
    warn: Callable[[str], None] | None = None

    def read(
        self, units: Sequence[Unit], reader: Reader, wants: Wants
    ) -> Iterator[tuple[int, list[Part]]]:
        """Yield the number of each unit with what it gave; see ``Engine``.

        Raises:
            ClusterError: There is no such scheduler, it has no workers, or they have another
                release of this program or do not see the files.
        """
        sent = []
        for number, unit in enumerate(units):
            if unit.source.data is None:
                sent.append(number)
            else:
                yield number, read_unit(unit, reader, wants)
        if not sent:
            return
        elsewhere = [_from_anywhere(units[number]) for number in sent]
        how = order(reader, wants)
        with connected(self.scheduler, self.jobs) as client:
            meet(client, how.release, elsewhere)
            for place, parts in Work(client, how, elsewhere, self.warn).read():
                yield sent[place], parts


def _from_anywhere(unit: Unit) -> Unit:
    """Return a unit whose path does not depend on the working folder."""
    path = unit.source.path
    if path is None or ADDRESS.match(path):
        return unit
    return replace(unit, source=replace(unit.source, path=str(Path(path).absolute())))
