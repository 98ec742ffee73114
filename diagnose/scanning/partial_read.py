"""Parts read again, line by line and as far as they go; ``partial_file`` says how they look."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from diagnose.errors import Unreadable
from diagnose.ingest.source import Entry, Source
from diagnose.ingest.stream import CHUNK, CUT_OFF
from diagnose.model.reading import Reading
from diagnose.scanning.partial import Scan
from diagnose.scanning.partial_columns import TEXT, WHOLE, TextsIn, checked
from diagnose.scanning.partial_file import FORMAT, counts
from diagnose.scanning.partial_records import events_in, series_in, sources_in

LONGEST = 512 << 20
"""Bytes of a line; what is written stays under a tenth of it."""

MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What decoding raises where something else stands than was written."""

Naming = Callable[[str], tuple[str, str]]
"""Returns how a scan is called here, and the prefix of its names, by its label."""


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
    with suppress(Unreadable, *MALFORMED):
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
                    if block != counts(self.scan):
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
