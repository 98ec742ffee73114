"""Members of a tar or zip, read once from front to back and never written to disk.

An archive is one unit of work. A member that must not or cannot be read comes out like the
others and says why when it is opened, so that one bad member never costs the rest.
"""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from diagnose.errors import Unreadable
from diagnose.ingest.frames import DEFLATE, FrameReader
from diagnose.ingest.holes import behind_nulls
from diagnose.ingest.sniff import zip_kind
from diagnose.ingest.source import Source
from diagnose.ingest.stream import (
    CHUNK,
    CONTAINERS,
    READ_ERRORS,
    Budget,
    Codec,
    Readable,
    Stream,
    codec_of,
    peeked,
    reason_of,
    unpacked,
)
from diagnose.ingest.tarball import tar_members

MAX_MEMBERS = 100_000
"""Members of one archive, nested ones included."""

MAX_DEPTH = 2
"""Archives inside one another: the one given and one more."""

MAX_NESTED_ZIP = 256 << 20
"""Bytes of a zip inside an archive; its index stands at its end, so it is held in memory."""

ZIP_HEADER = 30
"""Bytes in front of the name of a member; its last two numbers are the lengths that follow."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file in an archive.

    Args:
        name: ``archive!member``.
        size: Bytes as stored in the archive.
        stream: Its unpacked bytes; valid until the next member is asked for.
        reason: Why it is not read, None where it is.
    """

    name: str
    size: int
    stream: BinaryIO | None = field(default=None, repr=False)
    reason: str | None = None

    def open(self) -> BinaryIO:
        """Return its unpacked bytes.

        Raises:
            Unreadable: It is refused or damaged.
        """
        if self.stream is None:
            raise Unreadable(self.reason or "not a file")
        return self.stream


@dataclass(slots=True)
class _Walk:
    budget: Budget
    seen: int = 0

    def count(self) -> None:
        self.seen += 1
        if self.seen > MAX_MEMBERS:
            raise Unreadable(f"holds more than {MAX_MEMBERS} members; the rest was not read")


def members(source: Source) -> Iterator[Member]:
    """Yield the files of an archive in the order they are stored.

    Args:
        source: With a container as its codec.

    Raises:
        Unreadable: It cannot be opened, breaks off, or exceeds a limit; what was yielded before
            stays good.
    """
    with source.open_raw() as raw:
        yield from _archive(raw, source.codec, source.name, 1, _Walk(Budget(source.size)))


def _archive(
    raw: BinaryIO, codec: Codec | None, name: str, depth: int, walk: _Walk
) -> Iterator[Member]:
    inner = _zip(raw, name, depth, walk) if codec is Codec.ZIP else _tar(raw, name, depth, walk)
    try:
        yield from inner
    except READ_ERRORS as error:
        raise Unreadable(reason_of(error)) from error


def _tar(raw: BinaryIO, name: str, depth: int, walk: _Walk) -> Iterator[Member]:
    head, stream = peeked(raw)
    codec = codec_of(head)
    if codec is not None and codec not in CONTAINERS:
        stream = unpacked(stream, codec, walk.budget)
    for info, content in tar_members(stream):
        walk.count()
        if info.isdir():
            continue
        reason = _refusal(info.name) or _special(info)
        full = f"{name}!{info.name}"
        yield from _member(None if reason else content, full, info.size, reason, depth, walk)


def _zip(raw: BinaryIO, name: str, depth: int, walk: _Walk) -> Iterator[Member]:
    with zipfile.ZipFile(raw) as archive:
        for info in archive.infolist():
            walk.count()
            if info.is_dir():
                continue
            reason = _refusal(info.filename)
            if info.external_attr >> 28 == 0o12:
                reason = reason or "a link"
            content = None
            if reason is None:
                try:
                    content = _zip_content(raw, archive, info)
                except (*READ_ERRORS, NotImplementedError) as error:
                    reason = reason_of(error)
            full = f"{name}!{info.filename}"
            yield from _member(content, full, info.file_size, reason, depth, walk)


def _zip_content(raw: BinaryIO, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Readable:
    content = cast(Readable, archive.open(info))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return content
    # The library's reader gives nothing of what it has read when it meets damage.
    content.close()
    raw.seek(info.header_offset)
    header = raw.read(ZIP_HEADER)
    lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    raw.seek(info.header_offset + ZIP_HEADER + lengths)
    packed = _Stored(raw, info.compress_size)
    deflated = info.compress_type == zipfile.ZIP_DEFLATED
    return _Checked(FrameReader(cast(BinaryIO, packed), DEFLATE) if deflated else packed, info.CRC)


class _Stored:
    """The bytes of a member of a zip as they are stored."""

    def __init__(self, raw: BinaryIO, size: int) -> None:
        self._raw = raw
        self._left = size

    def read1(self, size: int = CHUNK, /) -> bytes:
        part = self._raw.read(min(size, self._left))
        self._left -= len(part)
        return part

    read = read1

    def close(self) -> None:
        """Leave the archive open for the next member."""


class _Checked:
    """A member of a zip; a wrong checksum is told behind its last byte."""

    def __init__(self, inner: Readable, expected: int) -> None:
        self._inner = inner
        self._expected = expected
        self._sum = 0

    def read1(self, size: int = CHUNK, /) -> bytes:
        part = self._inner.read1(size)
        if not part and size and self._sum != self._expected:
            raise zipfile.BadZipFile("Bad CRC-32")
        self._sum = zlib.crc32(part, self._sum)
        return part

    def close(self) -> None:
        """Leave the archive open for the next member."""
        self._inner.close()


def _member(
    content: object, name: str, size: int, reason: str | None, depth: int, walk: _Walk
) -> Iterator[Member]:
    if content is None:
        yield Member(name, size, reason=reason or "not a regular file")
        return
    try:
        guarded = Stream(cast(Readable, content), budget=walk.budget)
        head, stream = peeked(cast(BinaryIO, guarded))
        codec = codec_of(head)
        if codec is not None and codec not in CONTAINERS:
            head, stream = peeked(unpacked(stream, codec, walk.budget))
            codec = Codec.TAR if codec_of(head) is Codec.TAR else None
        if codec is Codec.ZIP and zip_kind(name, head) is not None:
            codec = None
    except Unreadable as error:
        yield Member(name, size, reason=str(error))
        return
    if codec is None:
        yield Member(name, size, behind_nulls(stream, name))
    elif depth >= MAX_DEPTH:
        yield Member(name, size, reason="an archive nested too deep; unpack it and run again")
    else:
        try:
            if codec is Codec.ZIP:
                stream = _in_memory(stream)
            yield from _archive(stream, codec, name, depth + 1, walk)
        except Unreadable as error:
            yield Member(name, size, reason=str(error))


def _in_memory(stream: BinaryIO) -> BinaryIO:
    data = stream.read(MAX_NESTED_ZIP + 1)
    if len(data) > MAX_NESTED_ZIP:
        raise Unreadable(
            f"a zip of over {MAX_NESTED_ZIP} bytes inside an archive; unpack it and run again"
        )
    return io.BytesIO(data)


def _refusal(name: str) -> str | None:
    if name.startswith(("/", "\\")) or name[1:2] == ":":
        return "its name is an absolute path"
    if ".." in name.replace("\\", "/").split("/"):
        return "its name leads out of the archive"
    return None


def _special(info: tarfile.TarInfo) -> str | None:
    if info.issym() or info.islnk():
        return "a link"
    if info.ischr() or info.isblk():
        return "a device"
    if info.isfifo():
        return "a pipe"
    return None
