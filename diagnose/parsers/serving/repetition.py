"""How much a text repeats itself.

Not a parser: scores for the readers of generated text. Tokens are words, or characters where the
text is mostly Chinese, Japanese or Korean. A *loop* is the shortest period of at most ``PERIOD``
tokens that comes at least ``REPEATS`` times in a row over at least ``LOOP`` tokens; ``rep_4`` is the
share of four-token sequences that stood in the text before; ``compression`` is length over length
of the zlib stream (prose is near 1.9).
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern

PERIOD = 200
REPEATS = 4
LOOP = 40

TAIL = 4_000
"""Tokens at the end of a text that are searched for a loop: an output that loops ends in it."""

_WIDE = LazyPattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TOKEN = LazyPattern(r"\S+")
_DIGITS = LazyPattern(r"\d+")


@dataclass(frozen=True, slots=True)
class Loop:
    """A stretch of tokens that repeats itself.

    Args:
        start: Its first token.
        stop: One behind its last token.
        period: Tokens after which it repeats.
    """

    start: int
    stop: int
    period: int

    @property
    def repeats(self) -> int:
        """How many times the period is there whole."""
        return (self.stop - self.start) // self.period


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a line or a text."""
    if len(_WIDE.findall(text)) * 3 > len(text):
        return [one for one in text if not one.isspace()]
    return _TOKEN.findall(text)


def find_loop(
    tokens: Sequence[str],
    *,
    numbers_differ: bool = False,
    longest_period: int = PERIOD,
    least: int = LOOP,
) -> Loop | None:
    """Return the loop with the shortest period, None without one.

    Args:
        tokens: Of the whole text.
        numbers_differ: Take all numbers for equal: a loop that only counts up is one.
        longest_period: Tokens of the longest period that is looked for.
        least: Tokens that make a loop.
    """
    first = max(0, len(tokens) - TAIL)
    codes: dict[str, int] = {}
    row = [
        codes.setdefault(_DIGITS.sub("0", token) if numbers_differ else token, len(codes))
        for token in tokens[first:]
    ]
    for period in range(1, min(longest_period, len(row) // REPEATS) + 1):
        longest, end, run = 0, 0, 0
        for at in range(period, len(row)):
            run = run + 1 if row[at] == row[at - period] else 0
            if run >= longest:
                longest, end = run, at + 1
        if longest + period >= max(least, REPEATS * period):
            return Loop(first + end - longest - period, first + end, period)
    return None


def rep_4(tokens: Sequence[str]) -> float:
    """Return the share of four-token sequences that are not the first of their kind."""
    total = len(tokens) - 3
    if total <= 0:
        return 0.0
    return 1 - len({tuple(tokens[at : at + 4]) for at in range(total)}) / total


def compression(text: str) -> float:
    """Return the length of a text over that of its zlib stream."""
    data = text.encode("utf-8", "replace")
    return len(data) / len(zlib.compress(data)) if data else 0.0
