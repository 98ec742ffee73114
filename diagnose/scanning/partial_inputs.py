"""The parts among the inputs, and how their files are called beside others."""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagnose.errors import Unreadable
from diagnose.ingest.discover import Discovery
from diagnose.ingest.paste import unique
from diagnose.ingest.source import Source
from diagnose.model.reading import Reading
from diagnose.scanning.partial import Scan
from diagnose.scanning.partial_read import labels_in, read_part
from diagnose.scanning.reading import Progress


def read_beside(found: Discovery, parts: Sequence[Source], progress: Progress | None) -> list[Scan]:
    """Return the scans in parts, named so that nothing beside them has the same name.

    Args:
        found: What else is read.
        parts: As they were found.
        progress: As for ``read_parts``.
    """
    logs = found.sources or any(folder.entries for folder in found.folders)
    alone = not logs and len(parts) == 1 and len(labels_in(parts[0])) == 1
    collects = gc.isenabled()
    # Millions of records that all stay: looking for garbage among them takes half as long again,
    # and as long once more in each later stage.
    gc.disable()
    try:
        return [*read_parts(parts, taken=folders_of(found), alone=alone, progress=progress)]
    finally:
        gc.freeze()
        if collects:
            gc.enable()


def read_parts(
    parts: Sequence[Source],
    *,
    taken: set[str],
    alone: bool = False,
    progress: Progress | None = None,
) -> Iterator[Scan]:
    """Yield the scans in parts.

    Args:
        parts: As they were found.
        taken: Folders of other inputs, whose names are not given a second time.
        alone: One scan is all there is, so that its files need no name in front.
        progress: Told the bytes of the parts that are read and of all parts.
    """
    known: dict[str, str] = {}
    done, total = 0, sum(part.size for part in parts)
    for part in parts:
        naming = _Naming(part.name, taken, alone=alone)
        try:
            yield from read_part(part, naming, known)
        except Unreadable as error:
            yield _broken(part.name, str(error), begun=naming.used)
        done += part.size
        if progress:
            progress(done, total)


def folders_of(found: Discovery) -> set[str]:
    """Return all folders in which sources lie, as they are shown."""
    folders: set[str] = set()
    for source in found.sources:
        folder = source.name.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


@dataclass(slots=True)
class _Naming:
    """Calls the scans of one part after their labels, as folders where the part lies.

    Args:
        part: Its name.
        taken: As for ``read_parts``.
        alone: As for ``read_parts``.
        used: Whether there was a scan.
    """

    part: str
    taken: set[str]
    alone: bool
    used: bool = False

    def __call__(self, label: str) -> tuple[str, str]:
        self.used = True
        if self.alone:
            return label or self.part, ""
        folder, _, name = self.part.rpartition("/")
        name = label or name
        name = unique(f"{folder}/{name}" if folder else name, self.taken)
        return name, f"{name}/"


def _broken(part: str, reason: str, *, begun: bool) -> Scan:
    reading = Reading()
    if begun:
        reading.broke_off(part, reason)
    else:
        reading.skipped.append({"file": part, "reason": reason})
    return Scan(reading=reading)
