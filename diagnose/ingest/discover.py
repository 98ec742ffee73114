"""From the paths a user gives to the inputs to read, in the order of their names."""

import errno
import glob
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from diagnose.errors import Unreadable
from diagnose.ingest.holes import FEWEST, leading_nulls
from diagnose.ingest.paste import split, unique
from diagnose.ingest.pipe import MAX_BYTES, flows, read_pipe
from diagnose.ingest.sniff import binary_reason, zip_kind
from diagnose.ingest.source import Entry, Source
from diagnose.ingest.stream import CONTAINERS, HEAD, Codec, codec_of, is_packed_tar, reason_of

MAX_FILES = 200_000
"""Files taken from one folder; a checkpoint tree on shared storage may hold millions."""

ELSEWHERE = "a link to a folder elsewhere; name it as a path of its own to have it read"

ENTRY_HEAD = 64


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder the user gave.

    Args:
        name: As it begins the names of its files where several paths were given.
        entries: The files in it that were asked for, in the order of names.
    """

    name: str
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found.

    Args:
        sources: In the order of names.
        skipped: ``{"file", "reason"}`` of what is not read.
        folders: One for each folder given.
        missing: The paths at which nothing is.
    """

    sources: list[Source] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Found:
    path: str
    name: str
    reason: str | None = None


@dataclass(slots=True)
class _Search:
    wants: Callable[[str], bool]
    found: Discovery = field(default_factory=Discovery)
    seen: set[str] = field(default_factory=set)

    def skip(self, name: str, reason: str) -> None:
        self.found.skipped.append({"file": name, "reason": reason})


def _nothing(name: str) -> bool:
    return False


def discover(paths: Sequence[str], wants: Callable[[str], bool] = _nothing) -> Discovery:
    """Return the inputs below paths: folders, files, and patterns where no such path exists.

    Hidden files and folders inside a folder are left out in silence, unless they are wanted;
    nothing is read twice; a path at which nothing is goes to ``skipped`` and ``missing``. A pipe is
    read to its end if the user gave it by name, and never otherwise.

    Args:
        paths: As the user gave them.
        wants: Decides by its name relative to its folder whether a file becomes an entry. A
            wanted file that is not text is an entry only.
    """
    search = _Search(wants)
    places = [place for path in paths for place in _places(path, search)]
    taken: set[str] = set()
    for path, shown in places:
        if Path(path).is_dir():
            label = unique(shown, taken)
            _folder(path, label, f"{label}/" if len(places) > 1 else "", search)
        elif path in paths and flows(path):
            _pipe(path, shown, taken, search)
        else:
            _file(_Found(path, unique(shown, taken)), "", None, search)
    search.found.sources.sort(key=lambda source: source.name)
    search.found.skipped.sort(key=lambda skipped: skipped["file"])
    return search.found


def _places(path: str, search: _Search) -> list[tuple[str, str]]:
    """Return what a path stands for, each with the name it is shown by."""
    if os.path.lexists(path):
        return [(path, _last_name(path))]
    matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []  # noqa: PTH207
    if not matches:
        search.skip(path, "no such file or folder")
        search.found.missing.append(path)
    fixed = _fixed_folder(path)
    return [(match, os.path.relpath(match, fixed).replace(os.sep, "/")) for match in matches]


def _fixed_folder(pattern: str) -> str:
    """Return the folders of a pattern before its first wildcard."""
    fixed = Path(pattern).parent
    while glob.has_magic(str(fixed)):
        fixed = fixed.parent
    return str(fixed)


def _last_name(path: str) -> str:
    return Path(path).name or Path(path).resolve().name or "/"


def _pipe(path: str, shown: str, taken: set[str], search: _Search) -> None:
    try:
        data, whole = read_pipe(path)
    except OSError as error:
        search.skip(unique(shown, taken), reason_of(error))
        return
    except Unreadable as error:
        search.skip(unique(shown, taken), str(error))
        return
    if not whole:
        search.skip(shown, f"gave over {MAX_BYTES >> 20} MiB; only that much of it was read")
    for source in split(data, shown):
        search.found.sources.append(replace(source, name=unique(source.name, taken)))


def _folder(path: str, label: str, prefix: str, search: _Search) -> None:
    folder = Folder(label)
    search.found.folders.append(folder)
    files = _walk(path, "", os.path.realpath(path), search.wants)
    for count, found in enumerate(files):
        if count == MAX_FILES:
            search.skip(label, f"holds more than {MAX_FILES} files; the rest was not read")
            break
        _file(found, prefix, folder, search)
    folder.entries.sort(key=lambda entry: entry.name)


def _walk(path: str, below: str, root: str, wants: Callable[[str], bool]) -> Iterator[_Found]:
    """Yield the files under a folder; a link to a folder is never followed."""
    try:
        with os.scandir(path) as listing:
            items = sorted(listing, key=lambda item: item.name)
    except OSError as error:
        yield _Found(path, below.rstrip("/") or ".", reason_of(error))
        return
    for item in items:
        name = _clean(below + item.name)
        hidden = item.name.startswith(".")
        if item.is_dir(follow_symlinks=False):
            if not hidden:
                yield from _walk(item.path, name + "/", root, wants)
        elif hidden and not wants(name):
            continue
        elif not item.is_symlink():
            yield _Found(item.path, name)
        elif _leads_up(item.path, path):
            yield _Found(item.path, name, "a link to a folder that it is in")
        elif _is_below(item.path, root):
            continue
        elif _leads_to_folder(item.path):
            yield _Found(item.path, name, ELSEWHERE)
        else:
            yield _Found(item.path, name)


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


def _file(found: _Found, prefix: str, folder: Folder | None, search: _Search) -> None:
    name = prefix + found.name
    if found.reason is not None:
        search.skip(name, found.reason)
        return
    try:
        status, head = _look(found.path, search)
    except Unreadable as error:
        search.skip(name, str(error))
        return
    if status is None:
        return
    size = status.st_size
    if folder is not None and search.wants(found.name):
        binary = binary_reason(found.name, head) is not None
        entry = Entry(
            found.name,
            size,
            head[:ENTRY_HEAD],
            path=found.path,
            modified=status.st_mtime,
            stored=status.st_blocks * 512,
        )
        folder.entries.append(entry)
        if binary:
            return
    codec = _codec(found, head)
    skip = _nulls(found.path, size, head) if codec is None else 0
    search.found.sources.append(Source(name, found.path, size - skip, codec, skip=skip))


def _nulls(path: str, size: int, head: bytes) -> int:
    if len(head) < FEWEST or head.strip(b"\x00"):
        return 0
    try:
        return leading_nulls(path, size)
    except OSError:
        return 0


def _look(path: str, search: _Search) -> tuple[os.stat_result | None, bytes]:
    """Return what the file system says of a file, None for one seen before, and its first bytes."""
    try:
        status = Path(path).stat()
        kind = _special(status.st_mode)
        if kind is not None:
            raise Unreadable(kind)
        real = os.path.realpath(path)
        if real in search.seen:
            return None, b""
        search.seen.add(real)
        with Path(path).open("rb", buffering=0) as file:
            head = file.read(HEAD) or b""
    except FileNotFoundError as error:
        broken = os.path.lexists(path)
        raise Unreadable("a link to nothing" if broken else reason_of(error)) from error
    except OSError as error:
        loops = error.errno == errno.ELOOP
        raise Unreadable("a link to itself" if loops else reason_of(error)) from error
    return status, head


def _special(mode: int) -> str | None:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "a device"
    return None if stat.S_ISREG(mode) else "not a regular file"


def _codec(found: _Found, head: bytes) -> Codec | None:
    """Return how a file is packed; a zip that holds no logs is left to be seen as binary."""
    codec = codec_of(head)
    if codec is Codec.ZIP and zip_kind(found.name, head) is not None:
        return None
    if codec is None or codec in CONTAINERS:
        return codec
    try:
        with Path(found.path).open("rb") as raw:
            return Codec.TAR if is_packed_tar(raw, codec) else codec
    except OSError:
        return codec
