"""Records as columns of plain JSON, and back.

A column is one of::

    [7, 7, null, 12]             the values as they are
    {"all": 7}                   the same value everywhere
    {"texts": [0, "x", null, 3]} texts; a number stands for one in the table
    {"text": 3}                  the same text everywhere

The table holds the names of the sources, which may be called otherwise where a part is read, and
behind them the texts that repeat. Each block says which texts it adds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

Column = list[Any] | dict[str, Any]
Kinds = frozenset[type]

NOTHING = type(None)
TEXT: Kinds = frozenset({str})
WHOLE: Kinds = frozenset({int})
NUMBER: Kinds = frozenset({int, float})
VALUE: Kinds = frozenset({str, int, float, bool, NOTHING, list})

CONSTANT = frozenset({int, bool, NOTHING})
"""Types whose equal values are the same; 1 and 1.0 are not, nor 0.0 and -0.0."""


def maybe(kinds: Kinds) -> Kinds:
    """Return types of a value that may be absent."""
    return kinds | {NOTHING}


class TextsOut:
    """The table of texts of one section, as it is written.

    Args:
        names: Of the sources, which have the first numbers.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(names)}

    def learn(self, columns: Iterable[Sequence[Any]]) -> list[str]:
        """Give numbers to the texts that repeat, and return the new ones in their order."""
        counts: Counter[str | None] = Counter()
        for column in columns:
            if _is_text(column):
                counts.update(column)
        new = [
            text
            for text, count in counts.items()
            if text is not None and count > 1 and text not in self._numbers
        ]
        for text in new:
            self._numbers[text] = len(self._numbers)
        return new

    def packed(self, column: Sequence[Any]) -> Column:
        """Return a column as JSON takes it."""
        same = column and column.count(column[0]) == len(column)
        kinds = set(map(type, column))
        if same and len(kinds) == 1 and kinds <= CONSTANT:
            return {"all": column[0]}
        if not _is_text(column):
            return [*column]
        texts = [self._numbers.get(text, text) for text in column]
        return {"text": texts[0]} if same else {"texts": texts}


def _is_text(column: Sequence[Any]) -> bool:
    kinds = set(map(type, column))
    return str in kinds and kinds <= {str, NOTHING}


class TextsIn:
    """The table of texts of one section, as it is read.

    Args:
        names: Of the sources, as the report shows them.
        known: Texts of all parts, so that each is in memory once.
    """

    def __init__(self, names: Iterable[str], known: dict[str, str]) -> None:
        self._known = known
        self._texts = [*names]

    def add(self, new: Any) -> None:
        """Add the texts of a block.

        Raises:
            ValueError: They are none.
        """
        self._texts += [self._known.setdefault(text, text) for text in checked(new, TEXT)]

    def unpacked(self, column: Any, count: int, kinds: Kinds) -> list[Any]:
        """Return the values of a column.

        Args:
            column: As ``TextsOut.packed`` gives it.
            count: How many there must be.
            kinds: Types they may have.

        Raises:
            ValueError: Something else is there.
            LookupError: It is no column, or a text is not in the table.
            TypeError: It is no column.
        """
        if type(column) is list:
            values = checked(column, kinds)
        elif "all" in column:
            return checked([column["all"]], kinds) * count
        elif "text" in column:
            return checked(self._looked_up([column["text"]]), kinds) * count
        else:
            values = checked(self._looked_up(column["texts"]), kinds)
        if len(values) != count:
            raise ValueError(f"{len(values)} values where {count} belong")
        return values

    def _looked_up(self, column: list[Any]) -> list[Any]:
        texts = self._texts
        return [texts[text] if type(text) is int else text for text in column]


def checked(values: Any, kinds: Kinds) -> list[Any]:
    """Return a list whose values have some types, down to the innermost lists.

    Raises:
        ValueError: Another type is among them, or it is no list.
    """
    if type(values) is not list:
        raise ValueError("no list where one belongs")
    found = set(map(type, values))
    if not found <= kinds:
        raise ValueError(f"unexpected values: {sorted(one.__name__ for one in found - kinds)}")
    if list in found:
        checked([*chain.from_iterable(one for one in values if type(one) is list)], VALUE)
    return values


def blocks(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield the rows in pieces of at most ``size``."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
