"""Literals in a little text: by how they begin, without compiling them.

Compiling all literals takes as long as looking at 100 kB this way, and most snippets are shorter.
"""

from collections.abc import Sequence

LENGTH = 6
"""Bytes of a literal by which it is looked up; shorter ones are searched for."""


class Beginnings:
    """Literals by their first bytes.

    Args:
        texts: The literals.
    """

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._short: list[int] = []
        self._numbers: dict[bytes, list[int]] = {}
        for number, text in enumerate(texts):
            if len(text) < LENGTH:
                self._short.append(number)
            else:
                self._numbers.setdefault(text[:LENGTH], []).append(number)

    def candidates(self, data: bytes) -> list[int]:
        """Return the numbers of literals whose beginnings are in a text, in rising order."""
        begun = {data[at : at + LENGTH] for at in range(len(data) - LENGTH + 1)}
        found = [n for text in self._numbers.keys() & begun for n in self._numbers[text]]
        return sorted(found + self._short)
