"""Parts: scans in a file, to be made where the logs lie and read where all come together.

A part is zstd over lines of JSON, so that ``zstdcat`` shows it::

    {"format":"diagnose.part/1","program":"0.1.0","label":"node-07","texts":{...}}
    {"sources":["rank0.log","rank1.log"],"about":{...},"skipped":[...],...}
    {"events":{...}}            blocks of columns, see partial_records
    {"beside":{...}}            what parsers of folders say
    {"series":{...}}
    {"end":{"events":5210,"series":64}}

In front stands a frame that zstd passes over and that says what the file is, whatever it is called.
Every line is a frame of its own with a checksum, and is used once that has been held against it. A
part may hold several scans, one behind another: ``cat`` puts parts together.

*Empty*: a scan of nothing has the first two lines and the last. *Cut off*: the last is missing.
What stands before a break is used, and the report says that it broke.
"""

import base64
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from diagnose.errors import UsageError
from diagnose.ingest.stream import PART_MAGIC, PART_MARK
from diagnose.scanning.partial import Saved, Scan
from diagnose.scanning.partial_columns import TextsOut, blocks
from diagnose.scanning.partial_records import EVENTS, events_out, series_out, sources_out

VERSION_OF_FORMAT = 1

FORMAT = f"{PART_MARK.decode()}{VERSION_OF_FORMAT}"

MARK = PART_MAGIC + f"{VERSION_OF_FORMAT}\n".encode()

SUFFIX = ".part"

LEVEL = 9
"""Of compression; against 3 it costs a fiftieth of the scan and saves up to a fifth."""


def label_of(target: Path) -> str:
    """Return what the files of a part are called after: its name without ``.part``."""
    name = target.name.removesuffix(SUFFIX) or target.name
    return name.encode("utf-8", "replace").decode()


def check_target(target: Path, paths: Iterable[str]) -> None:
    """Refuse a place for a part before any work is done.

    Args:
        target: Where it is to be saved.
        paths: What is to be read.

    Raises:
        UsageError: Its folder does not exist, a file that is no part is there, or it is itself
            one of the paths: it would be lost.
    """
    place = os.path.realpath(target)
    if any(os.path.realpath(path) == place for path in paths):
        raise UsageError(f"{target} is to be read as well; save under another name")
    if not target.parent.is_dir():
        raise UsageError(f"the folder of {target} does not exist")
    try:
        if not target.exists() or (target.is_file() and _may_be_replaced(target)):
            return
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from error
    raise UsageError(f"{target} is there and is no part; save under another name")


def _may_be_replaced(target: Path) -> bool:
    with target.open("rb") as file:
        return file.read(len(PART_MAGIC)) in (b"", PART_MAGIC)


def write_part(scans: Iterable[Scan], target: Path) -> Saved:
    """Write scans to a file, which is there as a whole or not at all.

    Args:
        scans: Whose prefixes become their labels.
        target: The file; one that is there is replaced.

    Raises:
        UsageError: It cannot be written.
    """
    saved = Saved()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            for scan in scans:
                _write(scan, file)
                saved.add(scan)
            saved.size = file.tell()
        beside.replace(target)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            beside.unlink()
    return saved


def _write(scan: Scan, file: BinaryIO) -> None:
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    file.write(MARK)
    for record in _records(scan):
        line = json.dumps(record, separators=(",", ":")) + "\n"
        file.write(compressor.compress(line.encode()))


def _records(scan: Scan) -> Iterator[dict[str, Any]]:
    reading = scan.reading
    yield {
        "format": FORMAT,
        "program": scan.program,
        "label": scan.prefix.removesuffix("/"),
        "texts": dict(scan.texts),
    }

    def bare(name: str) -> str:
        return name.removeprefix(scan.prefix) if name.startswith(scan.prefix) else ""

    texts = TextsOut(source.name for source in reading.sources)
    yield {
        "sources": [bare(source.name) for source in reading.sources],
        "about": sources_out(reading.sources, texts),
        "passed_over": [[bare(one["file"]), one["reason"]] for one in scan.passed_over],
        "skipped": [[bare(one["file"]), one["reason"]] for one in reading.skipped],
        "truncated": [[bare(one["file"]), one["what"], one["count"]] for one in reading.truncated],
        "entries": [
            [bare(one.name), one.size, base64.b64encode(one.head).decode()] for one in scan.entries
        ],
        "looked_at": reading.looked_at,
        "nothing": scan.nothing,
    }
    for events in blocks(reading.events, EVENTS):
        yield {"events": events_out(events, texts)}
    for events in blocks(scan.beside, EVENTS):
        yield {"beside": events_out(events, texts)}
    for series in series_out(reading.points, texts):
        yield {"series": series}
    yield {"end": counts(scan)}


def counts(scan: Scan) -> dict[str, int]:
    """Return what the last line of a scan says."""
    return {"events": len(scan.reading.events), "series": len(scan.reading.points)}
