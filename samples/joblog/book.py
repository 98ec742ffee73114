"""What all writers of a job wrote, in time, and the files it ends up in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from joblog import nccl, training
from joblog.job import Job

Files = dict[str, bytes]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One write of one writer.

    Args:
        moment: Seconds since the start of the job, by an exact clock.
        text: Whole lines.
        rank: Global rank where a rank wrote it.
        host: Where it was written.
        place: Name of the file where no rank wrote it.
    """

    moment: float
    text: str
    rank: int | None = None
    host: str | None = None
    place: str | None = None


@dataclass
class Book:
    """The entries of a job.

    Args:
        job: Facts.
        entries: In the order they were added.
    """

    job: Job
    entries: list[Entry] = field(default_factory=list)

    def rank(self, rank: int, moment: float, text: str) -> None:
        """Add what a rank wrote."""
        host = self.job.host(rank)
        self.entries.append(Entry(moment=moment, text=text, rank=rank, host=host))

    def other(self, place: str, moment: float, text: str, host: str | None = None) -> None:
        """Add what no rank wrote: a kernel, a launcher, a tool.

        Args:
            place: Name of its file.
            moment: Seconds since the start.
            text: Whole lines.
            host: Where it was written.
        """
        self.entries.append(Entry(moment=moment, text=text, host=host, place=place))

    def begin(self, ranks: Iterable[int] | None = None, edges: bool = True) -> None:
        """Add the making of the world's communicator.

        Args:
            ranks: Who takes part, None all.
            edges: With the channels to the neighbours.
        """
        for rank in self.job.everyone.ranks if ranks is None else ranks:
            self.rank(rank, 20, nccl.setup(self.job, rank, edges))

    def steps(
        self,
        first: int,
        last: int,
        *,
        of: int = 20000,
        seconds: float = 2.0,
        every: int = 10,
        begin: float = 60,
        ranks: Iterable[int] | None = None,
    ) -> float:
        """Add the steps that ranks log.

        Args:
            first: Number of the first step logged.
            last: Number of the last step.
            of: Steps in all.
            seconds: How long one takes.
            every: Steps between two lines.
            begin: When the first one ends.
            ranks: Who logs, None all.

        Returns:
            When the last one ended.
        """
        ranks = list(self.job.everyone.ranks if ranks is None else ranks)
        numbers = range(first, last + 1, every)
        for number in numbers:
            moment = begin + (number - first) * seconds
            for rank in ranks:
                text = training.step(self.job, rank, moment, number, of, seconds)
                self.rank(rank, moment, text)
        return begin + (numbers[-1] - first) * seconds

    def in_time(self) -> list[Entry]:
        """Return the entries by time, those of one moment as added."""
        return sorted(self.entries, key=lambda entry: entry.moment)


def gather(entries: Iterable[Entry], name: Callable[[Entry], str]) -> Files:
    """Return the files that entries make up, by the name that each goes to."""
    texts: dict[str, list[str]] = {}
    for entry in entries:
        texts.setdefault(name(entry), []).append(entry.text)
    return {name: "".join(parts).encode() for name, parts in sorted(texts.items())}


def by_rank(book: Book) -> Files:
    """Return one file for each rank, and those of the other writers."""
    return gather(
        book.in_time(),
        lambda entry: entry.place or f"rank{entry.rank}.log",
    )


def by_host(book: Book) -> Files:
    """Return one file for each host with its ranks mixed, and those of the other writers."""
    return gather(book.in_time(), lambda entry: entry.place or f"{entry.host}.log")


def by_worker(book: Book) -> Files:
    """Return the folders that torchrun writes: a host, an attempt, a local rank."""
    job = book.job

    def name(entry: Entry) -> str:
        if entry.place or entry.rank is None:
            return entry.place or "other.log"
        return f"{entry.host}/attempt_0/{job.local(entry.rank)}/stderr.log"

    return gather(book.in_time(), name)
