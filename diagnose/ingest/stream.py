"""Streams of unpacked bytes that fail in plain words, and never before the bytes they hold.

A stream that breaks gives all bytes up to the break first and raises on the next call, so that a
cut-off log is used as far as it goes.
"""

import io
import lzma
import os
import tarfile
import zipfile
import zlib
from enum import StrEnum
from typing import BinaryIO, Protocol, cast

import zstandard

from diagnose.errors import Unreadable
from diagnose.ingest import frames
from diagnose.ingest.frames import FrameReader, Packing

MAX_RATIO = 500
"""Times its own size that an input may unpack to; text logs stay under 100."""

FREE_BYTES = 256 << 20
"""Bytes that may always be unpacked, whatever the ratio."""

CHUNK = 1 << 20
"""Bytes asked of a stream at a time."""

HEAD = 512
"""Bytes that tell the codec: the mark of a tar stands at 257."""


class Codec(StrEnum):
    """How the bytes of an input are packed.

    ``TAR`` whether compressed as well or not; ``PART`` is zstd with a mark of our own in front, see
    ``diagnose/scanning/partial_file.py``.
    """

    GZ = "gz"
    BZ2 = "bz2"
    XZ = "xz"
    ZST = "zst"
    TAR = "tar"
    ZIP = "zip"
    PART = "part"


CONTAINERS = frozenset({Codec.TAR, Codec.ZIP})

PART_MARK = b"diagnose.part/"

PART_MAGIC = b"\x50\x2a\x4d\x18" + (len(PART_MARK) + 2).to_bytes(4, "little") + PART_MARK
"""How a part begins: a frame that zstd passes over, with the mark and the number of the format."""

MAGICS = (
    (PART_MAGIC, Codec.PART),
    (b"\x1f\x8b", Codec.GZ),
    (b"BZh", Codec.BZ2),
    (b"\xfd7zXZ\x00", Codec.XZ),
    (b"\x28\xb5\x2f\xfd", Codec.ZST),
    (b"PK\x03\x04", Codec.ZIP),
    (b"PK\x05\x06", Codec.ZIP),
)


class Budget:
    """How much may still be unpacked; stops decompression bombs.

    Args:
        packed: Bytes of the input as stored.
    """

    def __init__(self, packed: int) -> None:
        self.allowed = max(FREE_BYTES, packed * MAX_RATIO)
        self.spent = 0

    def spend(self, count: int) -> None:
        """Count bytes that were unpacked.

        Raises:
            Unreadable: They are too many for the size of the input.
        """
        self.spent += count
        if self.spent > self.allowed:
            raise Unreadable(
                f"unpacks to more than {self.allowed} bytes, over {MAX_RATIO} times its size"
            )


class Readable(Protocol):
    """What a stream needs of the object below it."""

    def read1(self, size: int = ..., /) -> bytes:
        """Return some bytes, none at the end."""

    def close(self) -> None:
        """Release it."""


class Stream(io.BufferedIOBase):
    """A stream whose failures are ``Unreadable`` and come after the bytes read before them.

    Args:
        inner: Read through ``read1``, so that a failure loses nothing.
        below: Closed together with it.
        limit: Bytes after which it ends.
        budget: Charged for every byte.
        chunk: Bytes asked of ``inner`` at a time.
    """

    def __init__(
        self,
        inner: Readable,
        below: BinaryIO | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
        chunk: int = CHUNK,
    ) -> None:
        self._inner = inner
        self._below = below
        self._left = limit
        self._budget = budget
        self._chunk = chunk
        self._ahead = b""
        self._broken: Unreadable | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return ``size`` bytes, fewer only before the end or a break.

        Raises:
            Unreadable: The bytes before the break have been returned already.
        """
        if size is None or size < 0:
            size = 1 << 62
        parts: list[bytes] = []
        have = 0
        while have < size:
            part = self._next(size - have)
            if not part:
                break
            parts.append(part)
            have += len(part)
        if not parts and size and self._broken is not None:
            raise self._broken
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        """Return some bytes, none at the end.

        Raises:
            Unreadable: As in ``read``.
        """
        part = self._next(size if size >= 0 else CHUNK)
        if not part and size and self._broken is not None:
            raise self._broken
        return part

    def peek(self, size: int = HEAD, /) -> bytes:
        """Return ``size`` bytes or what there is without consuming them; ``readline`` needs it."""
        ahead = self.read(max(size, 1))
        self._ahead = ahead + self._ahead
        return ahead

    def close(self) -> None:
        """Close what it reads from."""
        if not self.closed:
            self._inner.close()
            if self._below is not None:
                self._below.close()
        super().close()

    def _next(self, size: int) -> bytes:
        if self._ahead:
            part, self._ahead = self._ahead[:size], self._ahead[size:]
            return part
        if self._broken is not None:
            return b""
        size = min(size, self._chunk, size if self._left is None else self._left)
        if size <= 0:
            return b""
        try:
            part = self._inner.read1(size)
            if self._budget is not None:
                self._budget.spend(len(part))
        except Unreadable as error:
            self._broken = error
            return b""
        except READ_ERRORS as error:
            self._broken = Unreadable(reason_of(error))
            return b""
        if self._left is not None:
            self._left -= len(part)
        return part


PACKINGS: dict[Codec, Packing] = {
    Codec.GZ: frames.GZ,
    Codec.BZ2: frames.BZ2,
    Codec.XZ: frames.XZ,
    Codec.ZST: frames.ZST,
    Codec.PART: frames.ZST,
}

READ_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    zipfile.BadZipFile,
    tarfile.TarError,
)
"""What the decompressors raise; ``RuntimeError`` is a zip member with a password."""

DENIED = "permission denied"
MISSING = "no such file or folder"
VANISHED = "vanished since it was found"

OS_REASONS = (
    (PermissionError, DENIED),
    (FileNotFoundError, VANISHED),
    (IsADirectoryError, "a folder, not a file"),
)


CUT_OFF = "cut off before its end"

WRONG_CHECKSUM = (
    "incorrect data check",
    "incorrect length check",
    "Bad CRC-32",
    "doesn't match checksum",
)
"""How zlib, zipfile and zstd say so."""


def unpacked(
    raw: BinaryIO, codec: Codec | None, budget: Budget | None, limit: int | None = None
) -> BinaryIO:
    """Return a stream of the bytes that ``raw`` packs with one codec that is no container.

    Args:
        raw: The packed bytes.
        codec: How; None leaves them as they are.
        budget: What may be unpacked.
        limit: Bytes after which the stream ends.
    """
    inner = cast(Readable, raw) if codec is None else FrameReader(raw, PACKINGS[codec])
    return cast(BinaryIO, Stream(inner, raw, limit, budget=None if codec is None else budget))


def peeked(stream: BinaryIO, size: int = HEAD) -> tuple[bytes, BinaryIO]:
    """Return the first bytes and a stream that still gives them.

    Raises:
        Unreadable: Not even the first byte can be read.
    """
    guarded = stream if isinstance(stream, Stream) else Stream(cast(Readable, stream))
    return guarded.peek(size), cast(BinaryIO, guarded)


def codec_of(head: bytes) -> Codec | None:
    """Return how bytes that begin like this are packed, by their magic numbers alone."""
    if head[257:262] == b"ustar":
        return Codec.TAR
    return next((codec for magic, codec in MAGICS if head.startswith(magic)), None)


def is_packed_tar(raw: BinaryIO, codec: Codec) -> bool:
    """Return whether compressed bytes hold a tar; the stream is used up."""
    try:
        with unpacked(raw, codec, None) as stream:
            head, _ = peeked(stream)
    except Unreadable:
        return False
    return codec_of(head) is Codec.TAR


def reason_of(error: Exception) -> str:
    """Return in plain words why reading failed."""
    for kind, words in OS_REASONS:
        if isinstance(error, kind):
            return words
    text = str(error)
    if isinstance(error, EOFError) or "unexpected end of data" in text:
        return CUT_OFF
    if isinstance(error, RuntimeError) and "password" in text:
        return "protected by a password"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    if isinstance(error, zipfile.BadZipFile) and "not a zip file" in text:
        return "cut off or damaged: the index at the end of the zip is missing"
    if any(words in text for words in WRONG_CHECKSUM):
        return "damaged: its checksum is wrong"
    return f"damaged: {text.rpartition(': ')[2].lower()}"
