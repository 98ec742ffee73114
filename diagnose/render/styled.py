"""Lines of styled text, measured in the columns of a terminal."""

import re
from itertools import pairwise

from rich.cells import cell_len, chop_cells

CODES = {
    "bold": "1", "dim": "2", "underline": "4", "cyan": "36",
    "bold red": "1;31", "bold yellow": "1;33", "bold green": "1;32",
}  # fmt: skip
"""What a terminal takes for a style."""

Piece = tuple[str, str]
"""A text and its style, empty for none."""

_WORD = re.compile(r"\s*\S+\s*")


class Line:
    """A line of pieces; it is never changed.

    Args:
        parts: Plain texts, pieces, and lines whose pieces it takes.
    """

    __slots__ = ("pieces",)

    def __init__(self, *parts: "str | Piece | Line") -> None:
        self.pieces: list[Piece] = []
        for part in parts:
            if isinstance(part, Line):
                self.pieces += part.pieces
            else:
                self.pieces.append((part, "") if isinstance(part, str) else part)

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(text for text, _ in self.pieces)

    @property
    def columns(self) -> int:
        """How wide it is; Chinese characters take two columns."""
        return cell_len(self.plain)

    def part(self, begin: int, end: int | None = None) -> "Line":
        """Return the characters from one place to another, to the end by default."""
        pieces: list[Piece] = []
        place = 0
        for text, style in self.pieces:
            stop = None if end is None else max(0, end - place)
            pieces.append((text[max(0, begin - place) : stop], style))
            place += len(text)
        return Line(*pieces)

    def stripped(self) -> "Line":
        """Return the line without white space at its end."""
        return self.part(0, len(self.plain.rstrip()))

    def wrapped(self, width: int) -> "list[Line]":
        """Return lines of so many columns; words longer than a line are folded."""
        text = self.plain
        places = [0, *_breaks(text, width), len(text)]
        return [self.part(begin, end).stripped() for begin, end in pairwise(places)]

    def drawn(self, *, color: bool) -> str:
        """Return what is printed, with the escape sequences of its styles or without."""
        if not color:
            return self.plain
        return "".join(
            f"\x1b[{CODES[style]}m{text}\x1b[0m" if text and style else text
            for text, style in self.pieces
        )


def _breaks(text: str, width: int) -> list[int]:
    """Return where lines begin, but for the first one."""
    places: list[int] = []
    used = 0
    for found in _WORD.finditer(text):
        word, start = found[0], found.start()
        shown = cell_len(word.rstrip())
        if shown <= width - used:
            used += cell_len(word)
        elif shown <= width:
            places.append(start)
            used = cell_len(word)
        else:
            for folded in chop_cells(word, width):
                if start:
                    places.append(start)
                start += len(folded)
                used = cell_len(folded)
    return places
