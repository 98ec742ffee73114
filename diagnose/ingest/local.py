"""Files on this machine: folders, links, patterns, pipes."""

import builtins
import errno
import glob
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from diagnose.errors import Unreadable
from diagnose.ingest import pipe
from diagnose.ingest.found import Found, Range, Seen
from diagnose.ingest.stream import HEAD, reason_of

ELSEWHERE = "a link to a folder elsewhere; name it as a path of its own to have it read"

flows = pipe.flows


def places(path: str) -> list[Found]:
    """Return what a path or pattern of the user stands for, named as shown; none if nothing.

    Args:
        path: As the user gave it; a pattern only where no such path exists.
    """
    if os.path.lexists(path):
        return [Found(path, _last_name(path), Path(path).is_dir())]
    matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []  # noqa: PTH207
    fixed = _fixed_folder(path)
    names = (os.path.relpath(match, fixed).replace(os.sep, "/") for match in matches)
    return [
        Found(match, name, Path(match).is_dir()) for match, name in zip(matches, names, strict=True)
    ]


def _fixed_folder(pattern: str) -> str:
    """Return the folders of a pattern before its first wildcard."""
    fixed = Path(pattern).parent
    while glob.has_magic(str(fixed)):
        fixed = fixed.parent
    return str(fixed)


def _last_name(path: str) -> str:
    return Path(path).name or Path(path).resolve().name or "/"


def walk(folder: str, wants: Callable[[str], bool]) -> Iterator[Found]:
    """Yield the files below a folder; a link to a folder is never followed.

    Args:
        folder: Its path.
        wants: Whether a hidden file is wanted nevertheless, by its name relative to the folder.
    """
    root = os.path.realpath(folder)
    return _walk(folder, "", root, root, wants)


def _walk(
    path: str, below: str, real: str, root: str, wants: Callable[[str], bool]
) -> Iterator[Found]:
    try:
        with os.scandir(path) as listing:
            items = sorted(listing, key=lambda item: item.name)
    except OSError as error:
        yield Found(path, below.rstrip("/") or ".", reason=reason_of(error))
        return
    for item in items:
        name = _clean(below + item.name)
        hidden = item.name.startswith(".")
        if item.is_dir(follow_symlinks=False):
            if not hidden:
                real_folder = os.path.join(real, item.name)  # noqa: PTH118
                yield from _walk(item.path, name + "/", real_folder, root, wants)
        elif hidden and not wants(name):
            continue
        elif not item.is_symlink():
            # No link led here from the root; to ask of each file whether one did takes long.
            yield Found(item.path, name, identity=os.path.join(real, item.name))  # noqa: PTH118
        elif _leads_up(item.path, path):
            yield Found(item.path, name, reason="a link to a folder that it is in")
        elif _is_below(item.path, root):
            continue
        elif _leads_to_folder(item.path):
            yield Found(item.path, name, reason=ELSEWHERE)
        else:
            yield Found(item.path, name)


def _leads_to_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116
    except OSError:
        return False


def _leads_up(path: str, folder: str) -> bool:
    """Return whether a link leads to the folder it is in or to one above that."""
    target = os.path.realpath(path)
    return f"{os.path.realpath(folder)}/".startswith(f"{target.rstrip('/')}/")


def _is_below(path: str, root: str) -> bool:
    """Return whether a link leads to something that is found in its own place anyway."""
    target = os.path.realpath(path)
    return (target == root or target.startswith(root.rstrip("/") + "/")) and (
        os.path.exists(target) and not _has_hidden(target[len(root) :])  # noqa: PTH110
    )


def _has_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _clean(name: str) -> str:
    """Return a name that can be printed and encoded, whatever bytes the file system holds."""
    return name.encode("utf-8", "replace").decode("utf-8")


def look(files: Iterable[Found]) -> Iterator[tuple[Found, Seen | str]]:
    """Yield each file with what a look at it shows, or why it is not read.

    Args:
        files: As found by ``places`` or ``walk``.
    """
    for found in files:
        try:
            yield found, found.reason or _look(found)
        except Unreadable as error:
            yield found, str(error)


def _look(found: Found) -> Seen:
    path = found.path
    try:
        status = os.stat(path)  # noqa: PTH116
        kind = _special(status.st_mode)
        if kind is not None:
            raise Unreadable(kind)
        head = _beginning(path)
    except FileNotFoundError as error:
        broken = os.path.lexists(path)
        raise Unreadable("a link to nothing" if broken else reason_of(error)) from error
    except OSError as error:
        loops = error.errno == errno.ELOOP
        raise Unreadable("a link to itself" if loops else reason_of(error)) from error
    identity = found.identity or os.path.realpath(path)
    return Seen(identity, status.st_size, head, status.st_mtime, status.st_blocks * 512)


def _beginning(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, HEAD)
    finally:
        os.close(descriptor)


def _special(mode: int) -> str | None:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "a device"
    return None if stat.S_ISREG(mode) else "not a regular file"


def drain(path: str) -> tuple[bytes, bool]:
    """Return what flows out of a pipe, up to a limit, and whether that is all.

    Args:
        path: Of the pipe.

    Raises:
        Unreadable: Nobody writes to it, or it cannot be opened or read.
    """
    try:
        return pipe.read_pipe(path)
    except OSError as error:
        raise Unreadable(reason_of(error)) from error


def open(path: str, size: int, stop: int | None = None) -> BinaryIO:
    """Return the bytes of a file.

    Args:
        path: Of the file.
        size: Unused: the file system knows it.
        stop: Unused: bytes nobody asks for cost nothing.

    Raises:
        Unreadable: It cannot be opened.
    """
    try:
        # Of many small files a ``Path`` each would take as long as opening them.
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            raise Unreadable("no longer a regular file")
        return builtins.open(path, "rb")  # noqa: PTH123
    except OSError as error:
        raise Unreadable(reason_of(error)) from error


def pieces(asked: Iterable[Range]) -> Iterator[bytes | str]:
    """Yield small pieces of files, or why there are none.

    Args:
        asked: Any number.
    """
    for path, start, end in asked:
        try:
            with Path(path).open("rb", buffering=0) as file:
                file.seek(start)
                yield file.read(end - start) or b""
        except OSError as error:
            yield reason_of(error)
