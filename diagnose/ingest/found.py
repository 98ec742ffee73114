"""Files as they are found, before anything of them is read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """A file or folder before it is looked at.

    Args:
        path: To open it by.
        name: Relative to the folder it was found in.
        folder: Whether it is one.
        reason: Why it is not read, None where it may be.
        size: Bytes, where the listing tells.
        modified: When it was last written, seconds since 1970, where the listing tells.
        identity: The same for two ways to one file, where the listing tells.
    """

    path: str
    name: str
    folder: bool = False
    reason: str | None = None
    size: int | None = None
    modified: float | None = None
    identity: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at a file shows.

    Args:
        identity: The same for two ways to one file.
        size: Bytes.
        head: The first of them, ``stream.HEAD`` or all.
        modified: When it was last written, seconds since 1970; None if unknown.
        stored: Bytes it occupies; None if unknown.
        tail: The last of them, where getting them later would cost a request of its own.
    """

    identity: str
    size: int
    head: bytes
    modified: float | None = None
    stored: int | None = None
    tail: bytes = b""


Range = tuple[str, int, int]
"""Path, first byte, byte behind the last one, which is no further than the end of the file."""
