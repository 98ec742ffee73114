"""Bytes made clean before literals are looked for: no escapes, no envelopes, no UTF-16.

Colour in the middle of a word, a JSON string around a line or a line that a container runtime cut
in two would hide a literal from the scan.
"""

import codecs
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, cast

from diagnose.ingest.collector import envelope_lines
from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.stream import Readable, Stream, peeked
from diagnose.ingest.wrapped import rejoined

ESCAPE = LazyPattern(
    rb"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"
    rb"|(?:\x1b|\^\[|#033|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;?]*[A-Za-z]"
    rb"|\x1b[()][0-9A-Za-z]|\x1b[=>78cDEHM]"
)
"""Real escapes, and as terminals, syslog, JSON and Python's repr spell them."""

ESCAPE_MARKS = {
    b"\x1b": (b"\x1b",),
    b"^": (b"^[[",),
    b"#": (b"#033[",),
    b"\\": (b"\\u001b[", b"\\u001B[", b"\\x1b[", b"\\x1B[", b"\\033["),
}
"""By their first byte; a search for one byte costs a fiftieth of one for several."""

JSON_MARKS = (b'"log"', b'"message"', b'"line"', b'"textPayload"', b'"msg"')

PARTIAL = LazyPattern(rb"^(\d{4}-\d\d-\d\dT\S+ (stdout|stderr) )P ", re.MULTILINE)
FULL = LazyPattern(rb"^\d{4}-\d\d-\d\dT\S+ (stdout|stderr) ([PF]) ", re.MULTILINE)

HEAD = 4 << 10
"""Bytes in which a container runtime's log shows itself; it is one from the first line on."""

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """Clean bytes and where their lines come from.

    Args:
        data: Whole lines.
        lines: For each line of ``data`` the number, from 0, of the line of the original it
            begins in; None where the two agree line by line.
    """

    data: bytes
    lines: Sequence[int] | None


def unwrap(data: bytes) -> Unwrapped:
    """Return bytes without escapes and collector envelopes; almost free where there are none.

    Args:
        data: Whole lines, UTF-8 or an 8-bit encoding.
    """
    if any(
        byte in data and any(mark in data for mark in marks) for byte, marks in ESCAPE_MARKS.items()
    ):
        data = ESCAPE.sub(b"", data)
    lines: Sequence[int] | None = None
    if (
        b"{" in data
        and (data.startswith(b"{") or b"\n{" in data)
        and any(mark in data for mark in JSON_MARKS)
    ):
        data, lines = envelope_lines(data)
    if _is_of_runtime(data) and b" P " in data and PARTIAL.search(data):
        data, joined = _join_partial(data)
        lines = joined if lines is None else [lines[line] for line in joined]
    if lines is None and (joined_text := rejoined(data)) is not None:
        data = joined_text[0]
    return Unwrapped(data, lines)


def _is_of_runtime(data: bytes) -> bool:
    # The search for a word is a tenth of the price of looking at each line.
    return data.find(b" std", 0, HEAD) >= 0 and FULL.search(data, 0, HEAD) is not None


def _join_partial(data: bytes) -> tuple[bytes, list[int]]:
    kept: list[bytes] = []
    numbers: list[int] = []
    open_at: dict[bytes, int] = {}
    for number, line in enumerate(_lines(data)):
        found = FULL.match(line)
        at = open_at.get(found[1]) if found else None
        if found is None or at is None:
            kept.append(line)
            numbers.append(number)
            at = len(kept) - 1
        else:
            kept[at] = kept[at].rstrip(b"\n") + line[found.end() :]
        if found is not None and found[2] == b"P":
            open_at[found[1]] = at
        elif found is not None:
            open_at.pop(found[1], None)
    return PARTIAL.sub(rb"\1F ", b"".join(kept)), numbers


def _lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def encoding_of(head: bytes) -> str | None:
    """Return the encoding that the first bytes show, None for UTF-8 and 8-bit encodings.

    UTF-16 without a mark shows by a NUL beside nearly every ASCII character.
    """
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[:512]
    if len(sample) >= 16 and b"\x00" in sample:
        half = len(sample) // 2
        if sample[1::2].count(0) >= 0.9 * half and sample[::2].count(0) == 0:
            return "utf-16-le"
        if sample[::2].count(0) >= 0.9 * half and sample[1::2].count(0) == 0:
            return "utf-16-be"
    return None


def recode(stream: BinaryIO) -> BinaryIO:
    """Return the bytes as UTF-8 without a mark where they are UTF-16 or UTF-32, else unchanged.

    Raises:
        Unreadable: Not even the first byte can be read.
    """
    head, stream = peeked(stream)
    encoding = encoding_of(head)
    if encoding is None:
        return stream
    return cast(BinaryIO, Stream(cast(Readable, _Recoder(stream, encoding))))


class _Recoder:
    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._ready = b""
        self._ended = False

    def read1(self, size: int = -1, /) -> bytes:
        while not self._ready and not self._ended:
            part = self._stream.read(io.DEFAULT_BUFFER_SIZE * 8)
            self._ended = not part
            self._ready = self._decoder.decode(part, final=self._ended).encode(
                "utf-8", "surrogatepass"
            )
        part, self._ready = self._ready[:size], self._ready[size:]
        return part

    def close(self) -> None:
        self._stream.close()
