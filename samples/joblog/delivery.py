"""What launchers, collectors and people do to the logs of a job before somebody reads them."""

import gzip
import json
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta

from joblog.book import Book, Entry, Files, by_host, by_rank, gather

Prefix = Callable[[Entry], str]


def merged(book: Book, last: Collection[int] = (), first: Collection[int] = ()) -> Files:
    """Return one file with the logs of all ranks one behind the other.

    Args:
        book: What was written.
        last: Ranks whose logs come behind all others.
        first: Ranks whose logs come before all others.
    """

    def place(entry: Entry) -> tuple[int, str]:
        number = 1 + (entry.rank in last) - (entry.rank in first)
        return number, entry.place or f"rank{entry.rank}"

    entries = sorted(book.in_time(), key=place)
    return gather(entries, lambda entry: entry.place or "all.log")


def in_order_of_arrival(book: Book) -> Files:
    """Return one file with the lines of all ranks as they came."""
    return gather(book.in_time(), lambda entry: entry.place or "all.log")


def renamed(book: Book) -> Files:
    """Return the files of the ranks under names that say nothing, in another order."""
    ranks = list(book.job.everyone.ranks)
    book.job.chance("names").shuffle(ranks)
    names = {rank: f"part-{at:04d}.txt" for at, rank in enumerate(ranks)}
    return gather(book.in_time(), lambda entry: entry.place or names[entry.rank or 0])


def prefixed(book: Book, prefix: Prefix, name: Callable[[Entry], str]) -> Files:
    """Return the lines of the ranks with something before each.

    Args:
        book: What was written.
        prefix: What comes before the lines of an entry.
        name: Of the file an entry of a rank goes to.
    """
    entries = (_behind(entry, prefix) for entry in book.in_time())
    return gather(entries, lambda entry: entry.place or name(entry))


def _behind(entry: Entry, prefix: Prefix) -> Entry:
    if entry.place is not None:
        return entry
    before = prefix(entry)
    text = "".join(f"{before}{line}" for line in entry.text.splitlines(keepends=True))
    return Entry(moment=entry.moment, text=text, rank=entry.rank, host=entry.host)


def srun_labels(book: Book) -> Files:
    """Return one file of ``srun -l``: the number of the task before each line."""
    width = len(str(book.job.world - 1))
    return prefixed(book, lambda entry: f"{entry.rank:>{width}}: ", lambda entry: "srun.out")


def torchrun_tee(book: Book) -> Files:
    """Return one file for each host with torchrun's role and local rank before each line."""

    def prefix(entry: Entry) -> str:
        return f"[default{book.job.local(entry.rank or 0)}]:"

    return prefixed(book, prefix, lambda entry: f"{entry.host}.log")


def kubectl(book: Book) -> Files:
    """Return what ``kubectl logs --prefix --timestamps`` prints of one pod for each host."""
    job = book.job

    def prefix(entry: Entry) -> str:
        pod = job.hosts.index(entry.host or job.hosts[0])
        moment = job.start + timedelta(seconds=entry.moment)
        return f"[pod/trainer-{pod}/pytorch] {moment:%Y-%m-%dT%H:%M:%S.%f}000Z "

    return prefixed(book, prefix, lambda entry: "pods.log")


def docker_json(book: Book) -> Files:
    """Return the files of Docker's json-file driver, one container for each host."""
    job = book.job

    def record(entry: Entry) -> str:
        moment = job.start + timedelta(seconds=entry.moment)
        return "".join(
            json.dumps({"log": line, "stream": "stderr", "time": f"{moment:%FT%T.%f}000Z"}) + "\n"
            for line in entry.text.splitlines(keepends=True)
        )

    def container(entry: Entry) -> str:
        return f"{job.chance('container', entry.host).getrandbits(48):012x}-json.log"

    entries = (
        entry
        if entry.place
        else Entry(moment=entry.moment, text=record(entry), rank=entry.rank, host=entry.host)
        for entry in book.in_time()
    )
    return gather(entries, lambda entry: entry.place or container(entry))


def gzipped(files: Files) -> Files:
    """Return the files compressed, the same bytes each time."""
    return {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in files.items()}


def with_carriage_returns(files: Files) -> Files:
    """Return the files with line ends of Windows."""
    return {name: data.replace(b"\n", b"\r\n") for name, data in files.items()}


def coloured(files: Files) -> Files:
    """Return the files with each line in red."""
    return {
        name: b"".join(b"\x1b[31m%s\x1b[0m\n" % line for line in data.splitlines())
        for name, data in files.items()
    }


def without_a_quarter(book: Book, keep: Collection[int]) -> Files:
    """Return the files of the ranks without every fourth one.

    Args:
        book: What was written.
        keep: Ranks whose logs stay.
    """
    return without(book, [rank for rank in range(1, book.job.world, 4) if rank not in keep])


def without(book: Book, ranks: Iterable[int]) -> Files:
    """Return the files of the ranks without those of some."""
    files = by_rank(book)
    for rank in ranks:
        files.pop(f"rank{rank}.log", None)
    return files


def hosts_gzipped(book: Book) -> Files:
    """Return one compressed file for each host."""
    return gzipped(by_host(book))
