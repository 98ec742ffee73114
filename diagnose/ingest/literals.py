"""Where in some bytes stand the texts that somebody wants to see.

Hyperscan looks for all of them at once. A place costs Python time, a byte does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from diagnose.ingest.beginnings import Beginnings

LITTLE = 64 << 10
"""Bytes in all up to which literals are looked for one by one; compiling them takes longer."""

FEW = 100
"""Literals up to which it is faster to look for each of them than for how they begin."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A text to look for.

    Args:
        text: The bytes, case-sensitive, at least one and none of them NUL, at which Hyperscan
            would end the literal.
        once: Report only the first place in each piece.
    """

    text: bytes
    once: bool = False


@dataclass
class Matcher:
    """All literals; compiled when it pays, and once a process.

    Args:
        literals: Their positions are the numbers that ``places`` returns.
    """

    literals: tuple[Literal, ...]
    _left: int = LITTLE

    def compile(self) -> None:
        """Compile the literals now, for much text to come."""
        self._left = 0
        self.places(b"")

    def _candidates(self, data: bytes) -> Sequence[int]:
        """Return the numbers of literals that may be in a text."""
        few = len(self.literals) <= FEW
        return range(len(self.literals)) if few else self._beginnings.candidates(data)

    @cached_property
    def _beginnings(self) -> Beginnings:
        return Beginnings([literal.text for literal in self.literals])

    @cached_property
    def _database(self) -> Any:
        import hyperscan

        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[literal.text for literal in self.literals],
            ids=list(range(len(self.literals))),
            elements=len(self.literals),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH if one.once else 0 for one in self.literals],
            literal=True,
        )
        return database

    def __getstate__(self) -> dict[str, Any]:
        return {"literals": self.literals}

    def places(self, data: bytes) -> list[tuple[int, int]]:
        """Return ``(end offset, literal number)`` of every place, in order.

        Args:
            data: Any number of whole lines.
        """
        if len(data) < self._left:
            self._left -= len(data)
            return places_by_search(self.literals, data, self._candidates(data))
        self._left = 0
        found: list[tuple[int, int]] = []
        if self.literals:

            def note(number: int, start: int, end: int, flags: int, context: object) -> None:
                found.append((end, number))

            self._database.scan(data, match_event_handler=note)
            found.sort()
        return found


def places_by_search(
    literals: Sequence[Literal], block: bytes, numbers: Iterable[int] | None = None
) -> list[tuple[int, int]]:
    """Return what ``Matcher.places`` must return, found one literal at a time.

    The tests hold the fast way to this one.

    Args:
        literals: What to look for.
        block: Any number of whole lines.
        numbers: Of the literals that may be there; None for all.
    """
    found = []
    for number in range(len(literals)) if numbers is None else numbers:
        literal = literals[number]
        start = block.find(literal.text)
        while start >= 0:
            found.append((start + len(literal.text), number))
            start = -1 if literal.once else block.find(literal.text, start + 1)
    return sorted(found)
