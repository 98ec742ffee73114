"""From the paths a user gives to the inputs to read, in the order of their names."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice

from diagnose.errors import Unreadable
from diagnose.ingest.address import shown
from diagnose.ingest.found import Found, Seen
from diagnose.ingest.holes import FEWEST, leading_nulls
from diagnose.ingest.paste import split, unique
from diagnose.ingest.pipe import MAX_BYTES
from diagnose.ingest.sniff import binary_reason, zip_kind
from diagnose.ingest.source import Entry, Source
from diagnose.ingest.storage import look, storage_of
from diagnose.ingest.stream import CONTAINERS, MISSING, Codec, codec_of, is_packed_tar

MAX_FILES = 200_000
"""Files taken from one folder; a checkpoint tree on shared storage may hold millions."""

ENTRY_HEAD = 64

PACKED_HEAD = 64 << 10
"""Compressed bytes that are enough to see whether they hold a tar."""


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
        paths: As the user gave them, on this machine or addresses such as ``s3://bucket/run``.
        wants: Decides by its name relative to its folder whether a file becomes an entry. A
            wanted file that is not text is an entry only.
    """
    search = _Search(wants)
    paths = [path.removeprefix("file://") for path in paths]
    places = [place for path in paths for place in _places(path, search)]
    taken: set[str] = set()
    for folder, group in groupby(places, key=lambda place: place.folder):
        if folder:
            for place in group:
                label = unique(place.name, taken)
                _folder(place.path, label, f"{label}/" if len(places) > 1 else "", search)
        else:
            _files(_standing(group, paths, taken, search), "", None, search)
    search.found.sources.sort(key=lambda source: source.name)
    search.found.skipped.sort(key=lambda skipped: skipped["file"])
    return search.found


def _places(path: str, search: _Search) -> list[Found]:
    """Return what a path stands for, each with the name it is shown by."""
    try:
        places = storage_of(path).places(path)
    except Unreadable as error:
        search.skip(shown(path), str(error))
        return []
    if not places:
        search.skip(shown(path), MISSING)
        search.found.missing.append(shown(path))
    return places


def _standing(
    places: Iterable[Found], paths: Sequence[str], taken: set[str], search: _Search
) -> Iterator[Found]:
    """Yield files under names of their own; what flows is read now."""
    for place in places:
        if place.path in paths and storage_of(place.path).flows(place.path):
            _pipe(place.path, place.name, taken, search)
        else:
            yield replace(place, name=unique(place.name, taken))


def _pipe(path: str, name: str, taken: set[str], search: _Search) -> None:
    try:
        data, whole = storage_of(path).drain(path)
    except Unreadable as error:
        search.skip(unique(name, taken), str(error))
        return
    if not whole:
        search.skip(name, f"gave over {MAX_BYTES >> 20} MiB; only that much of it was read")
    for source in split(data, name):
        search.found.sources.append(replace(source, name=unique(source.name, taken)))


def _folder(path: str, label: str, prefix: str, search: _Search) -> None:
    folder = Folder(label)
    search.found.folders.append(folder)
    files = storage_of(path).walk(path, search.wants)
    _files(islice(files, MAX_FILES), prefix, folder, search)
    if next(files, None) is not None:
        search.skip(label, f"holds more than {MAX_FILES} files; the rest was not read")
    folder.entries.sort(key=lambda entry: entry.name)


def _files(files: Iterable[Found], prefix: str, folder: Folder | None, search: _Search) -> None:
    for found, seen in look(files):
        if isinstance(seen, str):
            search.skip(prefix + found.name, seen)
        elif seen.identity not in search.seen:
            search.seen.add(seen.identity)
            _file(found, seen, prefix, folder, search)


def _file(found: Found, seen: Seen, prefix: str, folder: Folder | None, search: _Search) -> None:
    if folder is not None and search.wants(found.name):
        entry = Entry(
            found.name,
            seen.size,
            seen.head[:ENTRY_HEAD],
            path=found.path,
            modified=seen.modified,
            stored=seen.stored,
            tail=seen.tail,
        )
        folder.entries.append(entry)
        if binary_reason(found.name, seen.head) is not None:
            return
    codec = _codec(found, seen)
    skip = _nulls(found, seen) if codec is None else 0
    source = Source(prefix + found.name, found.path, seen.size - skip, codec, skip=skip)
    search.found.sources.append(source)


def _nulls(found: Found, seen: Seen) -> int:
    if len(seen.head) < FEWEST or seen.head.strip(b"\x00"):
        return 0
    try:
        with storage_of(found.path).open(found.path, seen.size) as file:
            return leading_nulls(file, found.name, seen.size)
    except (OSError, Unreadable):
        return 0


def _codec(found: Found, seen: Seen) -> Codec | None:
    """Return how a file is packed; a zip that holds no logs is left to be seen as binary."""
    codec = codec_of(seen.head)
    if codec is Codec.ZIP and zip_kind(found.name, seen.head) is not None:
        return None
    if codec is None or codec in CONTAINERS:
        return codec
    try:
        with storage_of(found.path).open(found.path, seen.size, PACKED_HEAD) as raw:
            return Codec.TAR if is_packed_tar(raw, codec) else codec
    except Unreadable:
        return codec
