"""The members of a tar read from front to back, also behind damage and up to a cut.

The standard library ends in silence at a header it cannot read, and gives nothing of what it has
read of a member when the archive breaks off inside it.
"""

import tarfile
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from diagnose.errors import Unreadable
from diagnose.ingest.stream import CHUNK, CUT_OFF

MAX_READ = 1 << 20
"""Bytes read at once; the extended headers of a member are far smaller."""

HEADER_ERRORS = (tarfile.HeaderError, ValueError, IndexError, OverflowError)
"""What a damaged header raises in the standard library."""


def tar_members(stream: BinaryIO) -> Iterator[tuple[tarfile.TarInfo, "Content"]]:
    """Yield each member with its bytes, which are valid until the next one is asked for.

    Args:
        stream: The unpacked archive.

    Raises:
        Unreadable: The archive is cut off, or something in it that is no member was passed over;
            raised behind all members that can be read.
        TarError: It is empty, or a header makes no sense.
    """
    blocks = _Blocks(stream)
    archive = tarfile.TarFile(fileobj=cast(BinaryIO, blocks), tarinfo=_Header)
    for info in archive:
        # The list of members is kept for random access, which a stream has not.
        archive.members.clear()  # type: ignore[attr-defined]
        yield info, Content(blocks, _stored_size(info))
    if blocks.passed_over:
        raise Unreadable(
            f"damaged: {blocks.passed_over} bytes were passed over to find the next file; "
            "files may be missing"
        )


def _stored_size(info: tarfile.TarInfo) -> int:
    """Return the bytes of a member in the archive; the holes of a sparse file are not stored."""
    holes_left_out: Any = info.sparse
    return info.size if holes_left_out is None else sum(size for _, size in holes_left_out)


class Content:
    """The bytes of a member."""

    def __init__(self, blocks: "_Blocks", size: int) -> None:
        self._blocks = blocks
        self._left = size

    def read1(self, size: int = CHUNK, /) -> bytes:
        """Return some bytes, none at the end.

        Raises:
            EOFError: The archive is cut off inside the member; what is there was returned.
            Unreadable: Its compression breaks.
        """
        part = self._blocks.read(min(CHUNK if size < 0 else size, self._left))
        if not part and size and self._left:
            raise EOFError("the archive ends inside a member")
        self._left -= len(part)
        return part

    def close(self) -> None:
        """Do nothing: the next member is behind it in the same stream."""


class _Blocks:
    """A file for the tar reader that only goes forward.

    ``passed_over`` counts bytes that are neither a header nor belong to a member, ``ended`` tells
    whether the last block was of the zeros at the end, ``short`` whether the stream has ended.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._position = 0
        self.inside_header = False
        self.passed_over = 0
        self.ended = False
        self.short = False

    def tell(self) -> int:
        return self._position

    def read(self, size: int) -> bytes:
        if size > MAX_READ:
            raise tarfile.HeaderError("a header of over 1 MiB")
        data = self._stream.read(size) if size > 0 else b""
        if not data and size and self.short:
            raise EOFError("read on behind the end")
        self.short = self.short or len(data) < size
        self._position += len(data)
        return data

    def end(self) -> Exception:
        """Return what to raise where the stream ends inside a block.

        Raises:
            Unreadable: Its compression breaks here.
        """
        self._stream.read(1)
        if self.ended:
            return tarfile.EmptyHeaderError()  # type: ignore[attr-defined,no-any-return]
        return Unreadable(CUT_OFF)

    def seek(self, position: int) -> None:
        if position < self._position:
            raise tarfile.StreamError("a member begins before the end of the one before it")
        while self._position < position:
            part = self._stream.read(min(CHUNK, position - self._position))
            if not part:
                return
            self._position += len(part)


class _Header(tarfile.TarInfo):
    """Looks for the next header where there is none."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> "_Header":
        """Return the next header; called anew inside of one for the header behind its extension."""
        blocks = cast(_Blocks, archive.fileobj)
        if blocks.inside_header:
            return super().fromtarfile(archive)
        blocks.inside_header = True
        try:
            return cls._next(archive, blocks)
        finally:
            blocks.inside_header = False

    @classmethod
    def _next(cls, archive: tarfile.TarFile, blocks: _Blocks) -> "_Header":
        while True:
            start = blocks.tell()
            try:
                header = super().fromtarfile(archive)
            except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
                blocks.ended = True
                archive.offset = blocks.tell()
            except tarfile.EmptyHeaderError:  # type: ignore[attr-defined]
                raise
            except HEADER_ERRORS:
                if blocks.short:
                    raise blocks.end() from None
                if not blocks.ended:
                    blocks.passed_over += blocks.tell() - start
                    archive.offset = blocks.tell()
            else:
                blocks.ended = False
                return header
