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
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from diagnose.errors import Unreadable, UsageError
from diagnose.ingest.source import Entry, Source
from diagnose.ingest.stream import CHUNK, CUT_OFF, PART_MAGIC, PART_MARK
from diagnose.model.reading import Reading
from diagnose.scanning.partial import Saved, Scan
from diagnose.scanning.partial_columns import TEXT, WHOLE, TextsIn, TextsOut, blocks, checked
from diagnose.scanning.partial_records import (
    EVENTS,
    events_in,
    events_out,
    series_in,
    series_out,
    sources_in,
    sources_out,
)

VERSION_OF_FORMAT = 1

FORMAT = f"{PART_MARK.decode()}{VERSION_OF_FORMAT}"

MARK = PART_MAGIC + f"{VERSION_OF_FORMAT}\n".encode()

SUFFIX = ".part"

LEVEL = 3
"""Of compression; 9 takes three times as long for a twentieth less."""

LONGEST = 512 << 20
"""Bytes of a line; those that are written stay under a tenth of it."""

MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What decoding raises where something else stands than was written."""

Naming = Callable[[str], tuple[str, str]]
"""Returns how a scan is called here, and the prefix of its names, by its label."""


def label_of(target: Path) -> str:
    """Return what the files of a part are called after: its name without ``.part``."""
    name = target.name.removesuffix(SUFFIX) or target.name
    return name.encode("utf-8", "replace").decode()


def check_target(target: Path) -> None:
    """Refuse a place for a part before any work is done.

    Raises:
        UsageError: Its folder does not exist, or a file that is no part is there.
    """
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
    yield {"end": _counts(scan)}


def _counts(scan: Scan) -> dict[str, int]:
    return {"events": len(scan.reading.events), "series": len(scan.reading.points)}


def read_part(source: Source, naming: Naming, known: dict[str, str]) -> Iterator[Scan]:
    """Yield the scans in a part, the last as far as it goes.

    Args:
        source: The part.
        naming: How its scans and their files are called.
        known: Texts of all parts, so that each is in memory once.

    Raises:
        Unreadable: Behind the scans that were yielded there is something else.
    """
    section: _Section | None = None
    begun = False
    try:
        for record in _records_in(source):
            if "format" in record:
                if section is not None:
                    yield section.broken(CUT_OFF)
                section, begun = _Section(record, naming, known), True
            elif section is None:
                raise Unreadable("damaged: it does not begin as a part does")
            elif section.ends_with(record):
                yield section.scan
                section = None
    except Unreadable as error:
        if section is None:
            raise
        yield section.broken(str(error))
        return
    if section is not None:
        yield section.broken(CUT_OFF)
    if not begun:
        raise Unreadable(CUT_OFF)


def labels_in(source: Source) -> list[str]:
    """Return the labels of the scans in a part, up to where it breaks."""
    found: list[str] = []
    with suppress(Unreadable):
        found.extend(_label(one) for one in _records_in(source, only=b'{"format"'))
    return found


def _records_in(source: Source, only: bytes = b"{") -> Iterator[dict[str, Any]]:
    """Yield the lines of a part that begin with some bytes.

    Raises:
        Unreadable: A line is damaged, or of another format.
    """
    with source.open() as stream:
        for line in _lines(stream):
            if not line.startswith(only):
                continue
            try:
                record = json.loads(line)
                _check_format(record)
            except MALFORMED as error:
                raise _damaged(error) from error
            yield record


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines, each when the next one has begun: then its checksum was right."""
    begun: list[bytes] = []
    whole, size = None, 0
    while chunk := stream.read(CHUNK):
        first, *others = chunk.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > LONGEST:
            raise Unreadable(f"damaged: a line of over {LONGEST >> 20} MiB")
        for other in others:
            if whole is not None:
                yield whole
            whole = b"".join(begun)
            begun, size = [other], len(other)
    if whole is not None:
        yield whole
    if size:
        raise Unreadable(CUT_OFF)


def _check_format(record: dict[str, Any]) -> None:
    stated = record.get("format", FORMAT)
    if stated != FORMAT:
        raise Unreadable(
            f"a part of the format {stated}, and this version of diagnose reads {FORMAT}: "
            "bring it up to date, or scan again with this version"
        )


def _label(header: dict[str, Any]) -> str:
    label: str = checked([header["label"]], TEXT)[0]
    return label


def _damaged(error: Exception) -> Unreadable:
    return Unreadable(f"damaged: {type(error).__name__} where it is decoded")


class _Section:
    """One scan of a part, line by line.

    Args:
        header: The first line.
        naming: How the scan and its files are called.
        known: Texts of all parts.

    Raises:
        Unreadable: The header is damaged.
    """

    def __init__(self, header: dict[str, Any], naming: Naming, known: dict[str, str]) -> None:
        try:
            name, prefix = naming(_label(header))
            texts = header["texts"]
            checked([header["program"], *texts, *texts.values()], TEXT)
        except MALFORMED as error:
            raise _damaged(error) from error
        self.scan = Scan(name=name, prefix=prefix, program=header["program"], texts=texts)
        self._known = known
        self._texts: TextsIn | None = None

    def ends_with(self, record: dict[str, Any]) -> bool:
        """Take a line, and return whether it is the last.

        Raises:
            Unreadable: It is damaged.
        """
        try:
            return self._take(record)
        except MALFORMED as error:
            raise _damaged(error) from error

    def broken(self, reason: str) -> Scan:
        """Return what was read before a break."""
        note = {"file": self.scan.name, "what": f"not read to its end: {reason}", "count": 1}
        self.scan.reading.truncated.insert(0, note)
        return self.scan

    def _take(self, record: dict[str, Any]) -> bool:
        if self._texts is None:
            self._texts = self._begin(record)
        for kind, block in record.items():
            match kind:
                case "events":
                    self.scan.reading.events += events_in(block, self._texts)
                case "beside":
                    self.scan.beside += events_in(block, self._texts)
                case "series":
                    self.scan.reading.points += series_in(block, self._texts)
                case "end":
                    if block != _counts(self.scan):
                        raise ValueError("not as many records as were written")
                    return True
        return False

    def _begin(self, record: dict[str, Any]) -> TextsIn:
        """Take the line that lists the sources."""
        names = [self._shown(name) for name in checked(record["sources"], TEXT)]
        texts = TextsIn(names, self._known)
        self.scan.reading = Reading(
            sources=sources_in(record["about"], names, texts),
            skipped=self._skips(record["skipped"]),
            truncated=[
                {"file": self._shown(file), "what": what, "count": checked([count], WHOLE)[0]}
                for *texts_of, count in record["truncated"]
                for file, what in [checked(texts_of, TEXT)]
            ],
            looked_at=checked([record["looked_at"]], WHOLE)[0],
        )
        self.scan.passed_over = self._skips(record["passed_over"])
        self.scan.entries = [
            Entry(self._shown(name), checked([size], WHOLE)[0], base64.b64decode(head))
            for name, size, head in record["entries"]
        ]
        self.scan.nothing = record["nothing"] is True
        return texts

    def _skips(self, pairs: list[Any]) -> list[dict[str, str]]:
        for pair in pairs:
            checked(pair, TEXT)
        return [{"file": self._shown(file), "reason": reason} for file, reason in pairs]

    def _shown(self, name: str) -> str:
        return self.scan.prefix + name if name else self.scan.name
