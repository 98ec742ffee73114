"""NUL bytes in front of a text.

``copytruncate`` of logrotate leaves them where a program writes on at its old place, and so does a
crash before the first page of a file was flushed. They hold no line end, so that leaving them out
keeps the numbers of the lines.
"""

import errno
import os
from typing import BinaryIO, cast

from diagnose.ingest.sniff import SAMPLE, is_text
from diagnose.ingest.stream import CHUNK, HEAD, Readable, Stream

FEWEST = HEAD
"""NULs from which on they are left out: fewer harm nobody, and UTF-16 begins with one."""

READ = 1 << 20


def leading_nulls(file: BinaryIO, name: str, size: int) -> int:
    """Return how many bytes of NULs stand in front of the text in a plain file.

    Args:
        file: Its bytes.
        name: Of the file.
        size: Its bytes as found.

    Returns:
        0 where what follows is no text, or nothing.

    Raises:
        OSError: It cannot be read.
        Unreadable: It cannot be read where it lies.
    """
    at = 0
    while at < size:
        at = _data_from(file, at)
        file.seek(at)
        part = file.read(READ)
        if not part:
            return 0
        text = part.lstrip(b"\x00")
        at += len(part) - len(text)
        if text:
            file.seek(at)
            return at if at < size and is_text(name, file.read(SAMPLE)) else 0
    return 0


def _data_from(file: BinaryIO, at: int) -> int:
    """Return where data begins that is no hole of a sparse file."""
    if not hasattr(os, "SEEK_DATA"):
        return at
    try:
        return os.lseek(file.fileno(), at, os.SEEK_DATA)
    except OSError as error:
        # No data at all behind this place; other errors: holes are not known where it lies.
        return file.seek(0, os.SEEK_END) if error.errno == errno.ENXIO else at


def behind_nulls(stream: BinaryIO, name: str) -> BinaryIO:
    """Return a stream without the NULs in front of a text; it reads nothing yet.

    Args:
        stream: The unpacked bytes.
        name: Of the source.
    """
    return cast(BinaryIO, Stream(_BehindNulls(stream, name), stream))


class _BehindNulls:
    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream if isinstance(stream, Stream) else Stream(cast(Readable, stream))
        self._name = name
        self._begun = False

    def read1(self, size: int = CHUNK, /) -> bytes:
        if not self._begun:
            self._begun = True
            head = self._stream.peek(FEWEST)
            if len(head) == FEWEST and not head.strip(b"\x00"):
                self._stream = self._skipped()
        return self._stream.read1(size)

    def _skipped(self) -> Stream:
        while head := self._stream.peek(SAMPLE):
            text = head.lstrip(b"\x00")
            self._stream.read(len(head) - len(text))
            if text:
                break
        if head and is_text(self._name, self._stream.peek(SAMPLE)):
            return self._stream
        # Not for this program: it shall look as it is.
        return Stream(_Nulls())

    def close(self) -> None:
        self._stream.close()


class _Nulls:
    """As many NULs as are looked at to see what a file is."""

    def __init__(self) -> None:
        self._left = SAMPLE

    def read1(self, size: int = CHUNK, /) -> bytes:
        part = bytes(min(size, self._left))
        self._left -= len(part)
        return part

    def close(self) -> None:
        pass
