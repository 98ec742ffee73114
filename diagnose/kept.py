"""What is worked out from shipped files, kept in the user's cache folder between runs.

It is taken only while name, size and times of every file, and of the modules that read them, are
what they were, so that an edit is seen at the next run.

Whoever can write in this folder can make rules say something else. They cannot run code: what is
kept are texts, which the caller reads as JSON, and rules are data in which templates run in their
sandbox and patterns under their time limit. Still, a file counts only if it and its folder belong
to this user and nobody else may write them; links do not count. A digest over all of it tells a
damaged or torn file. Where anything is amiss, it is as if nothing had been kept.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from diagnose.version import VERSION

VARIABLE = "DIAGNOSE_CACHE"
"""Names another folder; empty, nothing is kept."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Kept:
    """What is kept of a shipped file or a folder of them, as lines of JSON.

    Args:
        files: The file or folder; of what is not on the disk nothing is kept.
        code: The module, or folder of modules, that reads it: with it, what is kept may change.
    """

    def __init__(self, files: Traversable, code: Path) -> None:
        try:
            parts = (VERSION, str(files), *_states(code, ".py"), *_states(files, ".yaml"))
        except OSError:  # what is wrong with the files is said where they are read
            parts = ()
        self._key = os.fsencode("\n".join(parts))
        place = hashlib.blake2b(os.fsencode(str(files)), digest_size=8).hexdigest()
        folder = _folder() if parts else None
        self._path = None if folder is None else folder / f"{files.name}-{place}"

    def find(self) -> list[bytes]:
        """Return the lines that were kept, none where the files have changed since."""
        if self._path is None:
            return []
        try:
            digest, _, data = _own_content(self._path).partition(b"\n")
        except OSError:
            return []
        return data.split(b"\n") if digest == self._digest(data) else []

    def keep(self, lines: Iterable[str]) -> None:
        """Keep lines for as long as the files are what they were when this object was made.

        Args:
            lines: Made only where they can be written; where that ends in a ValueError or a
                TypeError, nothing is kept.
        """
        if self._path is None:
            return
        folder = self._path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_own(folder.lstat()):
                self._write(self._path, lines)
        except (OSError, TypeError, ValueError):
            return

    def _write(self, path: Path, lines: Iterable[str]) -> None:
        """Write a file in one step: other processes find the old one or the new one."""
        with NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as stream:
            written = Path(stream.name)
            try:
                data = "\n".join(lines).encode()
                stream.write(self._digest(data) + b"\n" + data)
                stream.close()
                written.replace(path)
            finally:
                written.unlink(missing_ok=True)

    def _digest(self, data: bytes) -> bytes:
        return hashlib.blake2b(self._key + b"\n" + data).hexdigest().encode()


def exact(data: Any) -> str:
    """Return data as a line of JSON.

    Raises:
        TypeError: JSON has nothing like a part of them.
        ValueError: JSON would make something else of them.
    """
    line = json.dumps(data)
    if json.loads(line) != data:
        raise ValueError("not the same in JSON")
    return line


def _states(files: Traversable, ending: str) -> Iterator[str]:
    """Return name, size and times of a file, or of every file of a folder and the folders in it.

    Raises:
        OSError: The folder or a file cannot be looked at.
    """
    if not files.is_dir():
        yield _state(files.name, os.stat(str(files)))  # noqa: PTH116, may be no Path
        return
    with os.scandir(str(files)) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(ending):
                yield _state(entry.name, entry.stat())
            elif entry.is_dir():
                yield f"{entry.name}/"
                yield from _states(Path(entry), ending)


def _state(name: str, now: os.stat_result) -> str:
    return f"{name} {now.st_size} {now.st_mtime_ns} {now.st_ctime_ns}"


def _folder() -> Path | None:
    """Return where things are kept, None where that is nowhere."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    common = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (common if common.is_absolute() else Path.home() / ".cache") / "diagnose"
    except RuntimeError:  # a user without a home
        return None


def _own_content(path: Path) -> bytes:
    """Return what is in a file.

    Raises:
        OSError: It cannot be read, or others could have written it.
    """
    if not _is_own(path.parent.lstat()):
        raise PermissionError(f"{path.parent} is not this user's alone")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
        about = os.fstat(stream.fileno())
        if not (stat.S_ISREG(about.st_mode) and _is_own(about)):
            raise PermissionError(f"{path} is not this user's alone")
        return stream.read()


def _is_own(about: os.stat_result) -> bool:
    return about.st_uid == os.geteuid() and not about.st_mode & _OTHERS_WRITE
