"""One input, and how its bytes are opened: of a file, at an address, pasted; packed or plain.

Nothing is written to disk and nothing is read as a whole.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import BinaryIO

from diagnose.errors import Unreadable
from diagnose.ingest.holes import behind_nulls
from diagnose.ingest.storage import Storage, storage_of
from diagnose.ingest.stream import CONTAINERS, Budget, Codec, reason_of, unpacked


@dataclass(frozen=True, slots=True)
class Entry:
    """One file in a folder, for parsers that judge files without reading them whole (checkpoints).

    Args:
        name: Path relative to the folder, with ``/``.
        size: Bytes.
        head: Up to the first 64 bytes, empty where they were not read.
        path: File or address to read more of; None for one in memory, in an archive or in a
            listing.
        modified: When it was last written, seconds since 1970; None if unknown.
        stored: Bytes it occupies; less than ``size`` where it has holes. None if unknown.
        data: The bytes of a file held in memory.
        tail: The last bytes, where getting them would cost a request.
    """

    name: str
    size: int
    head: bytes = b""
    path: str | None = None
    modified: float | None = None
    stored: int | None = None
    data: bytes | None = None
    tail: bytes = b""

    def read(self, start: int, size: int) -> bytes | None:
        """Return some bytes of the file, None where it cannot be opened.

        Args:
            start: Byte to begin at.
            size: Bytes wanted; there may be fewer.
        """
        if self.path is None or self.is_at_hand(start):
            return self._at_hand(start, size)
        try:
            with storage_of(self.path).open(self.path, self.size, start + size) as file:
                file.seek(start)
                return file.read(size)
        except (OSError, Unreadable):
            return None

    def is_at_hand(self, start: int) -> bool:
        """Return whether the bytes from one on are in memory."""
        return self.data is not None or self.size - len(self.tail) <= start < self.size

    def _at_hand(self, start: int, size: int) -> bytes | None:
        if self.data is not None:
            return self.data[start : start + size]
        start -= self.size - len(self.tail)
        return self.tail[start : start + size] if self.tail else None


def read_pieces(asked: Iterable[tuple[Entry, int, int]]) -> Iterator[bytes | None]:
    """Yield what ``Entry.read`` gives, many at a time where each would cost a request.

    Args:
        asked: File, byte to begin at, bytes wanted: few each.
    """
    for storage, group in groupby(asked, key=_storage):
        if storage is None:
            yield from (entry.read(start, size) for entry, start, size in group)
            continue
        ranges = (
            (entry.path or "", start, min(start + size, entry.size)) for entry, start, size in group
        )
        yield from (one if isinstance(one, bytes) else None for one in storage.pieces(ranges))


def _storage(asked: tuple[Entry, int, int]) -> Storage | None:
    entry, start, _ = asked
    return None if entry.path is None or entry.is_at_hand(start) else storage_of(entry.path)


@dataclass(frozen=True, slots=True)
class Source:
    """One input. It can be pickled, since worker processes read it.

    Args:
        name: As reports show it.
        path: File or address to open, None where ``data`` holds the bytes.
        size: Bytes as found, still packed and without ``skip``; a file that grows is read up to
            here.
        codec: How it is packed, None for plain bytes.
        data: The bytes of a pasted text.
        skip: NULs in front of the text of a plain file, which are left out.
    """

    name: str
    path: str | None
    size: int
    codec: Codec | None = None
    data: bytes | None = None
    skip: int = 0

    def open(self, start: int = 0, stop: int | None = None) -> BinaryIO:
        """Return the unpacked bytes as a stream.

        Args:
            start: Byte to begin at, counted behind ``skip``; over 0 only for plain files.
            stop: Byte of a plain file behind which few will be asked for; None if all will.

        Raises:
            Unreadable: It cannot be opened, or is a container; reading raises it too.
        """
        if self.codec in CONTAINERS:
            raise Unreadable("an archive has members, not bytes of its own")
        if self.codec is None:
            stop = None if stop is None else self.skip + stop
            return unpacked(self.open_raw(self.skip + start, stop), None, None, self.size - start)
        stream = unpacked(self.open_raw(), self.codec, Budget(self.size))
        return behind_nulls(stream, self.name)

    def open_raw(self, start: int = 0, stop: int | None = None) -> BinaryIO:
        """Return the bytes as they are stored.

        Args:
            start: Byte to begin at.
            stop: Byte behind which few will be asked for; None if all will.

        Raises:
            Unreadable: It cannot be opened.
        """
        if self.data is not None:
            raw: BinaryIO = io.BytesIO(self.data)
        else:
            path = self.path or ""
            raw = storage_of(path).open(path, self.skip + self.size, stop)
        try:
            raw.seek(start)
        except OSError as error:
            raise Unreadable(reason_of(error)) from error
        return raw
