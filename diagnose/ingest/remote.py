"""Files at addresses, through fsspec: object stores, ssh, the web.

Only ranges of bytes are asked for, so that worker processes can share a large object. A store that
does not answer is given up, and what it holds is listed as not read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from glob import has_magic
from itertools import islice
from typing import Any

from diagnose.errors import Unreadable
from diagnose.ingest import ranges
from diagnose.ingest.address import WEB, shown
from diagnose.ingest.found import Found, Range, Seen
from diagnose.ingest.pipe import MAX_BYTES
from diagnose.ingest.refusal import Missing
from diagnose.ingest.server import ask, begin, end, forget
from diagnose.ingest.sniff import is_text
from diagnose.ingest.stream import CHUNK, HEAD

LINK = "a link; name it as a path of its own to have it read"

open = ranges.as_file
pieces = ranges.pieces


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
        asked, folders = folders[: ranges.AT_ONCE], folders[ranges.AT_ONCE :]
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
    left = iter(files)
    while batch := list(islice(left, ranges.AT_ONCE)):
        heads = list(pieces(_beginning(found) for found in batch))
        tails = list(pieces(_end(found, head) for found, head in zip(batch, heads, strict=True)))
        for found, head, tail in zip(batch, heads, tails, strict=True):
            yield found, found.reason or _seen(found, head, tail)


def _beginning(found: Found) -> Range:
    return found.path, 0, min(found.size or 0, HEAD)


def _end(found: Found, head: bytes | str) -> Range:
    """Return the end of a file, where its index stands if it is a checkpoint; none of a text."""
    size = found.size or 0
    text = isinstance(head, str) or is_text(found.name, head)
    return found.path, size if text else max(size - HEAD, 0), size


def _seen(found: Found, head: bytes | str, tail: bytes | str) -> Seen | str:
    if isinstance(head, str):
        return head
    if found.size is None:
        return "its size is not known"
    tail = tail if isinstance(tail, bytes) else b""
    return Seen(found.path, found.size, head, found.modified, tail=tail)


def flows(url: str) -> bool:
    """Return whether a server of the web gives a file as a whole only.

    Args:
        url: Of the file.
    """

    def is_stream(system: Any, path: str) -> bool:
        with system.open(path, block_size=ranges.BLOCK, cache_type="none") as file:
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
