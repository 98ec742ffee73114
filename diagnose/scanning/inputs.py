"""From paths or pasted sources to a reading: contents through the parsers, files that lie together.

The parsers of folders get names, sizes and a way to look into the files; see ``FolderParser``.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from diagnose.ingest.discover import ENTRY_HEAD, Folder, discover
from diagnose.ingest.source import Entry, Source
from diagnose.model.reading import Reading
from diagnose.parsers import shipped
from diagnose.parsers.late import LateFolderParser
from diagnose.parsers.reader import Reader
from diagnose.scanning.engine import Engine
from diagnose.scanning.local import ALL_CORES, Local
from diagnose.scanning.reading import Progress, read_all


def read_paths(
    paths: Sequence[str],
    reader: Reader,
    *,
    engine: Engine = ALL_CORES,
    progress: Progress | None = None,
    keep_partial: bool = False,
) -> tuple[Reading, bool]:
    """Return what paths hold, and whether that is nothing at all.

    Args:
        paths: Folders, files, archives and globs.
        reader: All parsers.
        engine: Who reads them.
        progress: Told the bytes read and the bytes in all, now and then.
        keep_partial: As for ``read_all``.
    """
    found = discover(paths, _wants)
    reading, entries = read_all(
        found.sources,
        reader,
        wants=_wants,
        engine=engine,
        progress=progress,
        keep_partial=keep_partial,
    )
    reading.skipped[:0] = found.skipped
    folders = [*found.folders, *([Folder("", entries)] if entries else [])]
    _read_folders(folders, reading)
    read = {source.path for source in found.sources}
    reading.looked_at = sum(
        entry.path is None or entry.path not in read
        for folder in folders
        for entry in folder.entries
    )
    nothing = not any(source.bytes for source in reading.sources)
    return reading, nothing and not any(folder.entries for folder in folders)


def read_texts(sources: Sequence[Source], reader: Reader) -> tuple[Reading, bool]:
    """Return what sources held in memory say, and whether that is nothing at all.

    Args:
        sources: With their bytes as ``data``.
        reader: All parsers.
    """
    reading, _ = read_all(sources, reader, wants=_wants, engine=Local(1))
    entries = [
        Entry(one.name, one.size, one.data[:ENTRY_HEAD], data=one.data)
        for one in sources
        if one.data is not None and _wants(one.name)
    ]
    _read_folders([Folder("", entries)], reading)
    return reading, not entries and not any(source.bytes for source in reading.sources)


@cache
def _folder_parsers() -> tuple[LateFolderParser, ...]:
    return tuple(one for one in shipped() if isinstance(one, LateFolderParser))


def _wants(name: str) -> bool:
    """Return whether a file belongs to a dialect of folders."""
    return any(parser.wants(name) for parser in _folder_parsers())


def _read_folders(folders: Iterable[Folder], reading: Reading) -> None:
    """Add what the parsers of folders say of the files that lie together."""
    for folder in folders:
        for parser in _folder_parsers():
            wanted = [entry for entry in folder.entries if parser.wants(entry.name)]
            reading.events.extend(parser.read(folder.name, wanted) if wanted else ())
