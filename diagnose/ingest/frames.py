"""Compressed bytes unpacked frame by frame, up to the very byte at which they break.

The readers of the standard library throw away what a call had unpacked when it meets damage, and
take a file for whole where something else follows it. For a log that is the part that counts: what
was written last before the disk, the copy or the program stopped.
"""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import zstandard

from diagnose.errors import Unreadable
from diagnose.ingest.lazy import LazyPattern

CHUNK = 8 << 10
"""Compressed bytes taken at a time."""

ZSTD_CHUNK = 1 << 10
"""The same for zstd, four of whose bytes may stand for 128 KiB."""

BITE = 16 << 10
"""Unpacked bytes asked for at a time."""

LONGEST_MAGIC = 6

MAX_REPLAY = 4 << 20
"""Compressed bytes of a frame that are kept, to be unpacked again byte by byte if it breaks."""

ERRORS = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


@dataclass(frozen=True, slots=True)
class Packing:
    """One way to compress.

    Args:
        name: As users write it.
        magic: What a frame begins with.
        start: Makes the decompressor of one frame.
        bites: Gives it compressed bytes and yields what they unpack to.
        checksum: Bytes of the checksum that ends a frame. At the end of the input they are unpacked
            alone, for a wrong one takes away what the same call unpacked.
        chunk: Compressed bytes taken at a time.
    """

    name: str
    magic: LazyPattern[bytes]
    start: Callable[[], Any]
    bites: Callable[[Any, bytes], Iterator[bytes]]
    checksum: int = 0
    chunk: int = CHUNK


def _zlib_bites(frame: Any, packed: bytes) -> Iterator[bytes]:
    part = frame.decompress(packed, BITE)
    yield part
    while not frame.eof and (frame.unconsumed_tail or len(part) == BITE):
        part = frame.decompress(frame.unconsumed_tail, BITE)
        yield part


def _buffered_bites(frame: Any, packed: bytes) -> Iterator[bytes]:
    yield frame.decompress(packed, BITE)
    while not frame.eof and not frame.needs_input:
        yield frame.decompress(b"", BITE)


def _zstd_bites(frame: Any, packed: bytes) -> Iterator[bytes]:
    yield frame.decompress(packed)


GZ = Packing(
    "gz", LazyPattern(rb"\x1f\x8b"), lambda: zlib.decompressobj(31), _zlib_bites, checksum=8
)
BZ2 = Packing("bz2", LazyPattern(rb"BZh"), bz2.BZ2Decompressor, _buffered_bites)
XZ = Packing("xz", LazyPattern(rb"\xfd7zXZ\x00"), lzma.LZMADecompressor, _buffered_bites)
ZST = Packing(
    "zst",
    # A table for seeking stands in a frame of its own, which unpacks to nothing.
    LazyPattern(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", re.DOTALL),
    lambda: zstandard.ZstdDecompressor().decompressobj(),
    _zstd_bites,
    checksum=4,
    chunk=ZSTD_CHUNK,
)
DEFLATE = Packing("zip", LazyPattern(rb"(?!)"), lambda: zlib.decompressobj(-15), _zlib_bites)
"""A member of a zip; nothing follows its one frame."""


class FrameReader:
    """Unpacks frames, one behind another, with any number of zeros between and behind them.

    Args:
        raw: Compressed bytes.
        packing: How.
    """

    def __init__(self, raw: BinaryIO, packing: Packing) -> None:
        self._raw = raw
        self._packing = packing
        self._held = b""
        self._parts = self._unpack()
        self._ready = b""

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes, none at the end.

        What it raises comes behind all bytes before the break.

        Raises:
            EOFError: The last frame is cut off.
            Unreadable: Something else follows the last frame.
            Exception: One of ``ERRORS``, for damage.
        """
        while not self._ready:
            part = next(self._parts, None)
            if part is None:
                return b""
            self._ready = part
        if size < 0:
            size = len(self._ready)
        part, self._ready = self._ready[:size], self._ready[size:]
        return part

    def close(self) -> None:
        """Close the compressed bytes, and part from the decompressor, which holds megabytes."""
        self._parts.close()
        self._raw.close()

    def _unpack(self) -> Generator[bytes, None, None]:
        packed = self._more()
        while packed:
            packed = yield from self._frame(packed)
            while not (packed := packed.lstrip(b"\x00")):
                packed = self._more()
                if not packed:
                    return
            while len(packed) < LONGEST_MAGIC and (more := self._more()):
                packed += more
            if self._packing.magic.match(packed) is None:
                raise Unreadable(
                    f"something that is not {self._packing.name} follows its end; "
                    "that part was not read"
                )

    def _frame(self, packed: bytes) -> Generator[bytes, None, bytes]:
        """Yield what one frame unpacks to and return the bytes behind it."""
        frame = self._packing.start()
        before: bytearray | None = bytearray()
        given = 0
        while packed:
            try:
                for bite in self._packing.bites(frame, packed):
                    given += len(bite)
                    yield bite
            except ERRORS:
                if before is not None:
                    yield self._replayed(bytes(before), packed, given)
                raise
            if frame.eof:
                return bytes(frame.unused_data)
            if before is not None:
                before += packed
                if len(before) > MAX_REPLAY:
                    before = None
            packed = self._more()
        raise EOFError("the last frame is cut off")

    def _replayed(self, before: bytes, last: bytes, given: int) -> bytes:
        """Return what a frame that breaks in its ``last`` bytes held beyond what was given."""
        frame = self._packing.start()
        parts: list[bytes] = []
        size = self._packing.chunk
        chunks = [before[at : at + size] for at in range(0, len(before), size)]
        try:
            for packed in [*chunks, *(last[at : at + 1] for at in range(len(last)))]:
                for bite in self._packing.bites(frame, packed):
                    parts.append(bite[given:])
                    given -= min(given, len(bite))
        except ERRORS:
            pass
        return b"".join(parts)

    def _more(self) -> bytes:
        """Return compressed bytes, none at the end; the last few of all come alone."""
        try:
            data = self._held + self._raw.read(self._packing.chunk)
        except (Unreadable, OSError):
            # It breaks again on the next call.
            data = self._held
            if not data:
                raise
            self._held = b""
            return data
        cut = len(data) - self._packing.checksum
        if cut <= 0:
            self._held = b""
            return data
        self._held = data[cut:]
        return data[:cut]
