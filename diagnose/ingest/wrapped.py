"""Lines that a terminal broke at its width, joined again.

A paste from a terminal holds records cut at 80, 120 or whatever columns, in the middle of words:

    [2025-07-19 13:21:02] worker-2:511:774 [3] transport/net_ib.cc:254 NCCL WARN NET/IB : mlx5_
    4:1 async fatal event: local catastrophic error

The width is that of the longest line, since every longer record was broken. A record begins with a
prefix of a launcher, a collector or a logging library, or is a dict or an error; what follows a
full line of it and has no prefix is its rest. One such place may be chance, so a word must be cut
or a blank kept, and the width must be usual or other lines show that this is a log. Tables, code
and prose have no such prefixes.

The joined record stands in place of its first line and the other lines stay as they were: no text
is lost if a line was whole after all, and line numbers do not change.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.prefix import Hints, strip

LARGEST = 256 << 10
"""Bytes of a paste; a larger text is a file, which no terminal has wrapped."""

NARROWEST = 60
WIDEST = 250
"""Columns of a terminal."""

LONGEST_RECORD = 40
"""Lines of one record."""

PROOF = 2
"""Records with different texts that prove a width, and lines with a prefix that prove a log."""

USUAL = frozenset({80, 100, 120, 132, 140, 160, 180, 200, 220, 240})
"""Columns that people and terminals choose; a longest line of this length is no chance."""

TABLE_EDGES = ("|", "+", "-", "=", "─", "│", "┤", "┘", "╮", "╯")

DIGITS = LazyPattern(r"\d+")
NEW_RECORD = LazyPattern(
    r"[\[{(<>#|+*=-]|[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt)\b|[A-Za-z_][\w.]*: "
)
"""How a message begins that is no rest of a line: a bracket, an error, a label."""

HEAD = LazyPattern(r"\{['\"]|[A-Za-z_][\w.]*(?:Error|Exception): ")
"""How a record without a prefix begins that is known by itself: a dict, the end of a traceback."""

INSIDE_WORD = LazyPattern(r"[A-Za-z0-9_/.:=-]\Z")
WORD = LazyPattern(r"[a-z0-9_/.:=-]")


@dataclass(frozen=True, slots=True)
class Chain:
    """A record on several lines.

    Args:
        first: Number of its first line, from 0.
        last: Number of its last line.
        head: Where its text begins behind its prefixes.
    """

    first: int
    last: int
    head: int


def rejoined(data: bytes) -> tuple[bytes, list[int]] | None:
    """Return a pasted text with its broken lines joined.

    Args:
        data: Whole lines without escapes.

    Returns:
        The text, with as many lines as before, and the number, from 0, of the line that each of
        them begins in; None where nothing was broken.
    """
    if len(data) > LARGEST:
        return None
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    if b"\r" in data:
        lines = [line.removesuffix("\r") for line in lines]
        if any("\r" in line for line in lines):
            return None
    lengths = list(map(len, lines))
    width = max(lengths)
    if not NARROWEST <= width <= WIDEST:
        return None
    if _has_one_prefix(text, lines, lengths, width):
        return None
    chains = list(_chains(lines, _broken(lines, lengths, width)))
    if not chains or not _proven(chains, lines, width):
        return None
    raw = data.split(b"\n")
    for chain in chains:
        parts = [line.removesuffix(b"\r") for line in raw[chain.first : chain.last + 1]]
        texts = lines[chain.first : chain.last + 1]
        gaps = [b" " if len(text) < width else b"" for text in texts[:-1]]
        joined = b"".join(part + gap for part, gap in zip(parts, [*gaps, b""], strict=True))
        raw[chain.first] = joined + (b"\r" if raw[chain.first].endswith(b"\r") else b"")
    return b"\n".join(raw), list(range(len(raw) - (not raw[-1])))


def _has_one_prefix(text: str, lines: list[str], lengths: list[int], width: int) -> bool:
    """Return whether the same stands before nearly all lines, as in a log of one process.

    What the others could prove is too little; see ``_broken``.
    """
    behind = lines[lengths.index(width) + 1 :][:1]
    common = behind[0][: _prefix(behind[0], "")] if behind else ""
    others = len(lines) - text.count(f"\n{common}") if common else len(lines)
    return 2 * others < lengths.count(width)


def _broken(lines: list[str], lengths: list[int], width: int) -> list[int]:
    """Return the full lines that go on in the next one; none where they are too few for proof."""
    full = [at for at, length in enumerate(lengths[:-1]) if length >= width - 1]
    first = lines[full[0] + 1] if full else ""
    if common := first[: _prefix(first, "")]:
        # Of many lines with the same prefix one is enough to look at.
        full = [at for at in full if not lines[at + 1].startswith(common)]
    if 2 * len(full) < lengths.count(width):
        return []
    return [at for at in full if _goes_on(lines[at], lines[at + 1])]


def _goes_on(line: str, rest: str) -> bool:
    if _is_table(line) or not rest.strip() or rest.startswith(("  ", "\t")):
        return False
    return not _prefix(rest, "")


def _chains(lines: list[str], broken: list[int]) -> Iterator[Chain]:
    """Yield the records that go on below a full line, by their prefixes alone."""
    going_on, last = set(broken), -1
    for at in broken:
        if at <= last:
            continue
        last = at + 1
        while last - at < LONGEST_RECORD and last in going_on:
            last += 1
        head = _prefix(lines[at], lines[at + 1])
        if head or HEAD.match(lines[at]):
            yield Chain(at, last, head)


def _is_table(line: str) -> bool:
    return line.endswith(TABLE_EDGES) and line.lstrip().startswith(TABLE_EDGES)


def _prefix(line: str, rest: str) -> int:
    """Return where the text of a line begins; what follows it tells NCCL's lines."""
    return strip(line + rest, len(line), Hints())


def _proven(chains: list[Chain], lines: list[str], width: int) -> bool:
    """Return whether the chains show that a terminal broke these lines."""
    full = [chain for chain in chains if len(lines[chain.first]) == width]
    whole = sum(len(line) == width for line in lines)
    if not full or whole > 2 * sum(chain.last - chain.first for chain in chains):
        return False
    cut = any(
        _is_cut(lines[at], lines[at + 1])
        for chain in chains
        for at in range(chain.first, chain.last)
    )
    texts = {DIGITS.sub("0", lines[chain.first][chain.head :]) for chain in full}
    return cut and (len(texts) >= PROOF or width in USUAL or _prefixed(lines) >= PROOF)


def _is_cut(line: str, rest: str) -> bool:
    """Return whether a record was cut in a word or beside a blank, which no program breaks at."""
    if line.endswith(" ") or rest.startswith(" "):
        return WORD.match(rest.lstrip()) is not None
    return (
        INSIDE_WORD.search(line) is not None
        and WORD.match(rest) is not None
        and NEW_RECORD.match(rest) is None
    )


def _prefixed(lines: list[str]) -> int:
    return sum(1 for line in lines if line and not line[0].isspace() and _prefix(line, "NCCL ") > 0)
