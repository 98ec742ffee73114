"""Text from logs, made fit to be shown: no control character reaches a terminal or a ticket."""

import re
import unicodedata

_SUSPECT = re.compile(r"[^\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u4e00-\u9fff]")
"""What needs a second look: everything but the plain characters most lines are made of."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that move the cursor, reorder text or draw nothing."""


def visible(text: str) -> str:
    r"""Return the text with every character that draws nothing spelled out, as in ``\x1b[2J``.

    A tab becomes one space, a line end ``\n``.
    """
    return _SUSPECT.sub(_spell, text)


def one_line(text: str) -> str:
    """Return prose on one line: runs of white space and line ends become one space."""
    return visible(" ".join(text.split()))


def _spell(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\t":
        return " "
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")
