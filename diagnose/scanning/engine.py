"""Who reads the units of work: this process, processes beside it, or other machines."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from diagnose.parsers.reader import Reader
from diagnose.scanning.units import Part, Unit, Wants


class Engine(Protocol):
    """Reads units of work, in any order and anywhere."""

    def read(
        self, units: Sequence[Unit], reader: Reader, wants: Wants
    ) -> Iterator[tuple[int, list[Part]]]:
        """Yield the number of each unit with what it gave, as they are done.

        Args:
            units: In the order of the report.
            reader: All parsers.
            wants: Which archive members that are no text belong to a folder parser.
        """
