"""A pasted text, split into sources where ``tail -n +1 *`` put its headings."""

import io
import re

from diagnose.ingest.holes import FEWEST
from diagnose.ingest.source import Source
from diagnose.ingest.stream import CONTAINERS, HEAD, Codec, codec_of, is_packed_tar

HEADING = re.compile(rb"^(?:\xef\xbb\xbf)?==> (\S(?:[^\r\n]*\S)?) <==\r?(?:\n|\Z)", re.MULTILINE)

MAX_NAME = 255
"""Characters of a name in a heading."""


def split(data: bytes, name: str = "<stdin>") -> list[Source]:
    """Return the sources in a pasted text, in their order; without headings it is one.

    Lines of a source count from its heading. The blank line that ``tail`` puts before a heading
    belongs to no source.

    Args:
        data: The text; compressed bytes are one source as they are.
        name: For what stands before the first heading.
    """
    if len(data) >= FEWEST and not data[:FEWEST].strip(b"\x00"):
        data = data.lstrip(b"\x00") or data
    codec = codec_of(data[:HEAD])
    headings = [] if codec is not None else list(HEADING.finditer(data))
    if codec is not None and codec not in CONTAINERS and is_packed_tar(io.BytesIO(data), codec):
        codec = Codec.TAR
    if not headings:
        return [Source(name, None, len(data), codec, data)]
    before = data[: headings[0].start()]
    sources = [Source(name, None, len(before), None, before)] if before.strip() else []
    taken = {name}
    ends = [following.start() for following in headings[1:]]
    for heading, end in zip(headings, [*ends, len(data)], strict=True):
        text = data[heading.end() : end]
        if end < len(data):
            text = _without_blank_line(text)
        shown = heading[1].decode("utf-8", "replace")[:MAX_NAME]
        sources.append(Source(unique(_printable(shown), taken), None, len(text), None, text))
    return sources


def unique(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, with a number behind it if need be, and take it."""
    free = name
    number = 2
    while free in taken:
        free = f"{name}-{number}"
        number += 1
    taken.add(free)
    return free


def _without_blank_line(text: bytes) -> bytes:
    for end in (b"\r\n", b"\n"):
        if text == end or text.endswith(b"\n" + end):
            return text[: -len(end)]
    return text


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in name)
