"""Files at addresses, through fsspec: object stores, ssh, the web.

Only ranges of bytes are asked for, so that worker processes can share a large object. A store that
does not answer is given up, and what it holds is listed as not read.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from glob import has_magic
from itertools import groupby, islice
from typing import Any, BinaryIO, cast

from diagnose.errors import Unreadable
from diagnose.ingest.pipe import MAX_BYTES
from diagnose.ingest.refusal import Missing, refusal
from diagnose.ingest.server import ask, begin, end, forget, scheme_of, server_of
from diagnose.ingest.storage import WEB, Found, Seen, shown
from diagnose.ingest.stream import CHUNK, HEAD

BLOCK = 4 << 20
"""Bytes of one request: few requests for a large object, and in time over a slow line."""

FIRST, GROWTH = 256 << 10, 8
"""Bytes of the first request of a file, since the beginning of many a file tells that it is no log,
and how much more each further one asks for."""

BEHIND = 64 << 10
"""Bytes of one request behind the place up to which all will be asked for."""

AT_ONCE = 64
"""Folders to list, and files whose first bytes to get, at the same time."""

LINK = "a link; name it as a path of its own to have it read"


def places(url: str) -> list[Found]:
    """Return what an address or pattern of the user stands for, named as shown; none if nothing.

    Args:
        url: As the user gave it; a pattern only where nothing has that very address.

    Raises:
        Unreadable: The store gives no answer, or does not let us in.
    """
    forget(url)
    try:
        info = ask(url, lambda system, path: system.info(path))
    except Missing:
        return [] if WEB.match(url) or not has_magic(url) else list(_matches(url))
    return [_found(info, url, _last_name(url))]


def _matches(pattern: str) -> Iterator[Found]:
    """Yield what matches a pattern; as in a shell, ``*`` leaves out hidden files."""
    fixed = re.split(r"[^/]*[*?[]", pattern, maxsplit=1)[0]
    above = ask(fixed, lambda system, path: path)
    matches = ask(pattern, lambda system, path: system.glob(path, detail=True))
    for path, info in sorted(matches.items()):
        name = path.removeprefix(above).strip("/")
        if "/." in pattern or not any(part.startswith(".") for part in name.split("/")):
            yield _found(info, fixed + name, name)


def _last_name(url: str) -> str:
    scheme, _, rest = shown(url).partition("://")
    return rest.rstrip("/").rpartition("/")[2] or scheme


def _found(info: dict[str, Any], url: str, name: str) -> Found:
    kind = info["type"]
    if kind == "directory":
        return Found(url, name, folder=True)
    if kind != "file":
        return Found(url, name, reason=LINK if kind == "link" else "not a regular file")
    return Found(url, name, size=info["size"], modified=_modified(info))


def _modified(info: dict[str, Any]) -> float | None:
    """Return when a file was last written; each kind of store has its own name for it."""
    times = (info.get(key) for key in ("mtime", "LastModified", "last_modified"))
    time = next((time for time in times if time is not None), None)
    return time.timestamp() if isinstance(time, datetime) else None


def walk(folder: str, wants: Callable[[str], bool]) -> Iterator[Found]:
    """Yield the files below a folder, level by level; links are not followed.

    Args:
        folder: Its address.
        wants: Whether a hidden file is wanted nevertheless, by its name relative to the folder.
    """
    folders = [Found(folder, "", folder=True)]
    while folders:
        asked, folders = folders[:AT_ONCE], folders[AT_ONCE:]
        for found in (found for listing in _listings(asked) for found in listing):
            hidden = found.path.rpartition("/")[2].startswith(".")
            if found.folder and not hidden:
                folders.append(found)
            elif not found.folder and (not hidden or wants(found.name)):
                yield found


def _listings(folders: Sequence[Found]) -> Iterator[list[Found]]:
    """Yield what is in each folder; where that is not told, the folder with the reason."""
    answers = [begin(folder.path, _listed) for folder in folders]
    for folder, answer in zip(folders, answers, strict=True):
        try:
            infos = end(folder.path, answer)
        except Unreadable as error:
            yield [Found(folder.path, folder.name or ".", reason=str(error))]
            continue
        below = f"{folder.name}/" if folder.name else ""
        start = folder.path if folder.path.endswith("/") else f"{folder.path}/"
        yield [_found(info, start + name, below + name) for name, info in sorted(infos.items())]


def _listed(system: Any, path: str) -> dict[str, dict[str, Any]]:
    """Return what is in a folder by name; an object store may list the folder as an empty file."""
    infos = {info["name"].rstrip("/"): info for info in system.ls(path, detail=True)}
    infos.pop(path.rstrip("/"), None)
    return {name.rpartition("/")[2]: info for name, info in infos.items()}


def look(files: Iterable[Found]) -> Iterator[tuple[Found, Seen | str]]:
    """Yield each file with what a look at it shows, or why it is not read.

    Args:
        files: As found by ``places`` or ``walk``.
    """
    for _, group in groupby(files, key=lambda found: server_of(found.path)):
        while batch := list(islice(group, AT_ONCE)):
            asked = [(one.path, min(one.size, HEAD)) for one in batch if one.size]
            heads = dict(_starts(asked))
            for found in batch:
                yield found, found.reason or _seen(found, heads.get(found.path, b""))


def _seen(found: Found, head: bytes | str) -> Seen | str:
    if isinstance(head, str):
        return head
    if found.size is None:
        return "its size is not known"
    return Seen(found.path, found.size, head, found.modified)


def _starts(files: Sequence[tuple[str, int]]) -> Iterator[tuple[str, bytes | str]]:
    """Yield the address of each file with its first bytes, or why there are none.

    Args:
        files: Addresses on one server, and the bytes wanted of each, at least one.
    """
    urls = [url for url, _ in files]
    starts, ends = [0] * len(files), [wanted for _, wanted in files]

    def get(system: Any, path: str) -> list[bytes | Exception]:
        paths = [system._strip_protocol(url) for url in urls]
        return list(system.cat_ranges(paths, starts, ends, on_error="return", **_exact(system)))

    if not files:
        return
    answers: list[bytes | Exception]
    try:
        answers = ask(urls[0], get)
    except Unreadable as error:
        answers = [error] * len(files)
    for url, answer in zip(urls, answers, strict=True):
        yield url, answer if isinstance(answer, bytes) else str(refusal(answer, scheme_of(url)))


def flows(url: str) -> bool:
    """Return whether a server of the web gives a file as a whole only.

    Args:
        url: Of the file.
    """

    def is_stream(system: Any, path: str) -> bool:
        with system.open(path, block_size=BLOCK, cache_type="none") as file:
            try:
                file.seek(1)
                file.read(1)
            except ValueError:
                return True
        return False

    try:
        return WEB.match(url) is not None and ask(url, is_stream)
    except Unreadable:
        return False


def drain(url: str) -> tuple[bytes, bool]:
    """Return a file that is given as a whole only, up to a limit, and whether that is all.

    Args:
        url: Of the file.

    Raises:
        Unreadable: It cannot be got.
    """
    stream = ask(url, lambda system, path: system.open(path, block_size=0))
    parts = []
    have = 0
    while have <= MAX_BYTES and (part := ask(url, lambda system, path: stream.read(CHUNK))):
        parts.append(part)
        have += len(part)
    ask(url, lambda system, path: stream.close())
    return b"".join(parts)[:MAX_BYTES], have <= MAX_BYTES


def open(url: str, size: int, stop: int | None = None) -> BinaryIO:
    """Return the bytes of a file, got in ranges as they are read.

    Args:
        url: Of the file.
        size: Its bytes.
        stop: Byte behind which few will be asked for; None if all will.
    """
    return cast(BinaryIO, _Ranges(url, size, stop))


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


def _exact(system: Any) -> dict[str, Any]:
    """Return what keeps a file system from reading on behind what is asked for."""
    return {} if system.async_impl else {"cache_type": "none"}
