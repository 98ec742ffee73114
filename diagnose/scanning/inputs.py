"""From paths or pasted sources to a reading: contents through the parsers, files that lie together.

The parsers of folders get names, sizes and a way to look into the files; see ``FolderParser``. What
is found is a scan, which can be saved and read again; see ``partial``.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from diagnose.ingest.discover import ENTRY_HEAD, Discovery, Folder, discover
from diagnose.ingest.source import Entry, Source
from diagnose.ingest.stream import Codec
from diagnose.model.event import Event
from diagnose.model.reading import Reading
from diagnose.parsers import shipped
from diagnose.parsers.late import LateFolderParser
from diagnose.parsers.reader import Reader
from diagnose.scanning.engine import Engine
from diagnose.scanning.local import ALL_CORES, Local
from diagnose.scanning.partial import Scan, settle, together
from diagnose.scanning.reading import Progress, read_all


def read_paths(
    paths: Sequence[str],
    reader: Reader,
    *,
    texts: Callable[[], Mapping[str, str]] = dict,
    engine: Engine = ALL_CORES,
    progress: Progress | None = None,
    keep_partial: bool = False,
) -> tuple[Reading, bool]:
    """Return what paths hold, and whether that is nothing at all.

    Args:
        paths: Folders, files, archives, globs, and parts of earlier scans.
        reader: All parsers.
        texts: Gives what the rules select by text, see ``Scan.texts``; asked where there are parts.
        engine: Who reads them.
        progress: Told the bytes read and the bytes in all, now and then.
        keep_partial: As for ``read_all``.
    """
    found = discover(paths, _wants)
    parts = take_parts(found)
    scans = [scan_logs(found, reader, engine=engine, progress=progress, keep_partial=keep_partial)]
    if parts:
        # Imported here: few runs have parts.
        from diagnose.scanning.partial_inputs import read_beside

        scans += read_beside(found, parts, progress)
    notes = settle(scans[1:], texts()) if parts else []
    reading = together(scans)
    reading.truncated += notes
    entries = [entry for scan in scans for entry in scan.entries]
    reading.events += _of_folders([Folder("", entries)])
    return reading, all(scan.nothing for scan in scans)


def scan_paths(
    paths: Sequence[str],
    reader: Reader,
    label: str,
    *,
    texts: Mapping[str, str],
    leave_out: Path | None = None,
    engine: Engine = ALL_CORES,
    progress: Progress | None = None,
) -> Iterator[Scan]:
    """Yield scans that are worth saving: of the logs at some paths, and those of parts there.

    Args:
        paths: As for ``read_paths``.
        reader: All parsers.
        label: Logs are read as files of a folder of this name, so that they have its host.
        texts: What the rules select by text.
        leave_out: A file that is not read: the part of an earlier scan, which is to be replaced.
        engine: As for ``read_paths``.
        progress: As for ``read_paths``.
    """
    from diagnose.scanning.partial_inputs import folders_of, read_parts

    found = discover(paths, _wants)
    out = None if leave_out is None else os.path.realpath(leave_out)
    prefix = f"{label}/"
    parts = [part for part in take_parts(found) if os.path.realpath(part.path or "") != out]
    found.sources[:] = [replace(one, name=prefix + one.name) for one in found.sources]
    found.skipped[:] = [{**one, "file": prefix + one["file"]} for one in found.skipped]
    scan = scan_logs(found, reader, engine=engine, progress=progress)
    scan.name, scan.prefix, scan.texts = label, prefix, texts
    if not parts or found.sources or found.skipped or not scan.nothing:
        yield scan
    yield from read_parts(parts, taken={label, *folders_of(found)}, progress=progress)


def scan_logs(
    found: Discovery,
    reader: Reader,
    *,
    engine: Engine,
    progress: Progress | None = None,
    keep_partial: bool = False,
) -> Scan:
    """Return what the logs say that were found; parts are none.

    Args:
        found: By discovery.
        reader: All parsers.
        engine: As for ``read_paths``.
        progress: As for ``read_paths``.
        keep_partial: As for ``read_all``.
    """
    reading, entries = read_all(
        found.sources,
        reader,
        wants=_wants,
        engine=engine,
        progress=progress,
        keep_partial=keep_partial,
    )
    read = {source.path for source in found.sources}
    beside = [*entries, *(entry for folder in found.folders for entry in folder.entries)]
    reading.looked_at = sum(entry.path is None or entry.path not in read for entry in beside)
    return Scan(
        reading=reading,
        passed_over=found.skipped,
        beside=_of_folders(found.folders),
        entries=entries,
        nothing=not beside and not any(source.bytes for source in reading.sources),
    )


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
    reading.events += _of_folders([Folder("", entries)])
    return reading, not entries and not any(source.bytes for source in reading.sources)


def take_parts(found: Discovery) -> list[Source]:
    """Return the parts among what was found, which are then no longer there."""
    parts = [source for source in found.sources if source.codec is Codec.PART]
    if parts:
        found.sources[:] = [source for source in found.sources if source.codec is not Codec.PART]
    return parts


@cache
def _folder_parsers() -> tuple[LateFolderParser, ...]:
    return tuple(one for one in shipped() if isinstance(one, LateFolderParser))


def _wants(name: str) -> bool:
    """Return whether a file belongs to a dialect of folders."""
    return any(parser.wants(name) for parser in _folder_parsers())


def _of_folders(folders: Iterable[Folder]) -> list[Event]:
    """Return what the parsers of folders say of the files that lie together."""
    events: list[Event] = []
    for folder in folders:
        for parser in _folder_parsers():
            wanted = [entry for entry in folder.entries if parser.wants(entry.name)]
            events.extend(parser.read(folder.name, wanted) if wanted else ())
    return events
