"""Bytes of files at addresses, got in ranges: in turn as a file, or many small ones at a time."""

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, BinaryIO, cast

from diagnose.errors import Unreadable
from diagnose.ingest.found import Range
from diagnose.ingest.refusal import refusal
from diagnose.ingest.server import ask, scheme_of, server_of

BLOCK = 4 << 20
"""Bytes of one request: few requests for a large object, and in time over a slow line."""

FIRST, GROWTH = 256 << 10, 8
"""Bytes of the first request of a file, since the beginning of many a file tells that it is no log,
and how much more each further one asks for."""

BEHIND = 64 << 10
"""Bytes of one request behind the place up to which all will be asked for."""

AT_ONCE = 64
"""Ranges got at the same time; they have to come within the time of one answer."""


def pieces(asked: Iterable[Range]) -> Iterator[bytes | str]:
    """Yield small pieces of files, or why there are none.

    Args:
        asked: Any number; what is on one server should stand together.
    """
    for _, group in groupby(asked, key=lambda one: server_of(one[0])):
        while batch := list(islice(group, AT_ONCE)):
            some = iter(_got([one for one in batch if one[1] < one[2]]))
            yield from (next(some) if start < end else b"" for _, start, end in batch)


def _got(asked: Sequence[Range]) -> Iterator[bytes | str]:
    urls = [url for url, _, _ in asked]
    starts, ends = [start for _, start, _ in asked], [end for _, _, end in asked]

    def get(system: Any, path: str) -> list[bytes | Exception]:
        paths = [system._strip_protocol(url) for url in urls]
        return list(system.cat_ranges(paths, starts, ends, on_error="return", **_exact(system)))

    if not asked:
        return
    answers: list[bytes | Exception]
    try:
        answers = ask(urls[0], get)
    except Unreadable as error:
        answers = [error] * len(asked)
    for url, answer in zip(urls, answers, strict=True):
        yield answer if isinstance(answer, bytes) else str(refusal(answer, scheme_of(url)))


def _exact(system: Any) -> dict[str, Any]:
    """Return what keeps a file system from reading on behind what is asked for."""
    return {} if system.async_impl else {"cache_type": "none"}


_AHEAD: dict[str, bytes] = {}
"""Small files that will be opened soon, by address."""


def fetch_ahead(files: Iterable[tuple[str, int]]) -> None:
    """Get small files at a time that will be opened one after the other.

    Args:
        files: The address and size of each. What is too large or cannot be got is got, or says why
            it cannot, when it is opened.
    """
    small = [(url, 0, size) for url, size in files if size <= FIRST]
    got = zip(small, pieces(small), strict=True)
    _AHEAD.clear()
    _AHEAD.update((url, data) for (url, _, _), data in got if isinstance(data, bytes))


def as_file(url: str, size: int, stop: int | None = None) -> BinaryIO:
    """Return the bytes of a file, got as they are read.

    Args:
        url: Of the file.
        size: Its bytes.
        stop: Byte behind which few will be asked for; None if all will.
    """
    data = _AHEAD.pop(url, b"")
    return cast(BinaryIO, io.BytesIO(data) if len(data) == size else _Ranges(url, size, stop))


class _Ranges(io.BufferedIOBase):
    def __init__(self, url: str, size: int, stop: int | None) -> None:
        self._url = url
        self._size = size
        self._stop = size if stop is None else min(stop, size)
        self._step = FIRST if stop is None else BLOCK
        self._at = 0
        self._begin = 0
        self._block = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = max((0, self._at, self._size)[whence] + offset, 0)
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        left = self._size if size is None or size < 0 else size
        parts = []
        while left and (part := self.read1(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        if not self._begin <= self._at < self._begin + len(self._block):
            self._begin, self._block = self._at, self._get()
        start = self._at - self._begin
        part = self._block[start:] if size < 0 else self._block[start : start + size]
        self._at += len(part)
        return part

    def _get(self) -> bytes:
        start = self._at
        end = min(start + self._step, self._stop)
        if start >= end:
            end = min(start + BEHIND, self._size)
        if start >= end:
            return b""
        self._step = min(self._step * GROWTH, BLOCK)

        def get(system: Any, path: str) -> bytes:
            data: bytes = system.cat_file(path, start=start, end=end, **_exact(system))
            return data

        data = ask(self._url, get)
        if len(data) > end - start:
            raise Unreadable("the server gave other bytes than were asked for")
        return data
