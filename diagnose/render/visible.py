"""Text from logs, made fit to be shown: no control character reaches a terminal or a ticket."""

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that move the cursor, reorder text or draw nothing."""


def visible(text: str) -> str:
    r"""Return the text with every character that draws nothing spelled out, as in ``\x1b[2J``.

    A tab becomes one space, a line end ``\n``.
    """
    return text if text.isprintable() else "".join(map(_spell, text))


def one_line(text: str) -> str:
    """Return prose on one line: runs of white space and line ends become one space."""
    return visible(" ".join(text.split()))


def _spell(character: str) -> str:
    if character == "\t":
        return " "
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")
