"""Where inputs lie: on this machine, or at an address such as ``s3://bucket/run-17``.

Discovery and sources ask the same few things of both; ``local`` and ``remote`` answer them.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import BinaryIO, Protocol

from diagnose.ingest.address import ADDRESS
from diagnose.ingest.found import Found, Range, Seen


class Storage(Protocol):
    """A place where files lie. What fails there raises ``Unreadable`` and nothing else."""

    def places(self, path: str) -> list[Found]:
        """Return what a path or pattern of the user stands for, named as shown; none if nothing."""

    def walk(self, folder: str, wants: Callable[[str], bool]) -> Iterator[Found]:
        """Yield the files below a folder, without hidden ones unless they are wanted."""

    def look(self, files: Iterable[Found]) -> Iterator[tuple[Found, Seen | str]]:
        """Yield each file with what a look at it shows, or why it is not read."""

    def flows(self, path: str) -> bool:
        """Return whether a file can be read once only, from its first byte to its last."""

    def drain(self, path: str) -> tuple[bytes, bool]:
        """Return what flows, up to a limit, and whether that is all."""

    def open(self, path: str, size: int, stop: int | None = None) -> BinaryIO:
        """Return the bytes of a file that has ``size``; behind ``stop`` few will be asked for."""

    def pieces(self, asked: Iterable[Range]) -> Iterator[bytes | str]:
        """Yield small pieces of files, or why there are none."""


def storage_of(path: str) -> Storage:
    """Return where a path leads; what reads addresses is loaded with the first of them."""
    if ADDRESS.match(path):
        from diagnose.ingest import remote

        return remote
    from diagnose.ingest import local

    return local


def look(files: Iterable[Found]) -> Iterator[tuple[Found, Seen | str]]:
    """Yield each file with what a look at it shows, or why it is not read."""
    for storage, group in groupby(files, key=lambda found: storage_of(found.path)):
        yield from storage.look(group)


def fetch_ahead(files: Iterable[tuple[str, int]]) -> None:
    """Get what is small of some files that will be opened next, where each costs a request.

    Args:
        files: The path and size of each.
    """
    addresses = [(path, size) for path, size in files if ADDRESS.match(path)]
    if addresses:
        from diagnose.ingest import ranges

        ranges.fetch_ahead(addresses)
