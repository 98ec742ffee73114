"""A table of bandwidth between pairs, whatever it was made of."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from diagnose.model.event import Event, Value

USUAL = 0.75
"""Share of cells below the one taken for usual: half of all may belong to one slow member."""

LOW = 0.8
"""Share of what is usual under which a cell is low."""

LOW_STREAM = 0.5
"""The same of a single TCP stream, which a core limits: its runs differ by a third."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement.

    Args:
        sender: Where the data come from; where nothing tells, one of both ends.
        receiver: Where they go.
        rate: In the unit of the table.
        event: The test.
    """

    sender: str
    receiver: str
    rate: float
    event: Event


@dataclass(frozen=True)
class Square:
    """A table; each pair, or each direction of it, is in it once.

    Args:
        members: ``host`` or ``gpu``.
        unit: Of the rates.
        directed: Whether sender and receiver are told apart.
        cells: The measurements.
        about: Fields that say which test it was.
        low: Share of what is usual under which a cell is low.
    """

    members: str
    unit: str
    directed: bool
    cells: Sequence[Cell]
    about: dict[str, Value]
    low: float = LOW

    @cached_property
    def usual(self) -> float:
        """The rate of a good cell."""
        rates = sorted(cell.rate for cell in self.cells)
        return rates[int(USUAL * (len(rates) - 1))]

    def is_low(self, cell: Cell) -> bool:
        """Return whether a cell is far below what is usual."""
        return cell.rate < self.low * self.usual

    def by_member(self) -> Mapping[str, list[Cell]]:
        """Return the cells of each member, sent and received, the members sorted by name."""
        found: dict[str, list[Cell]] = defaultdict(list)
        for cell in self.cells:
            found[cell.sender].append(cell)
            found[cell.receiver].append(cell)
        return dict(sorted(found.items()))


def best_of_each(cells: Sequence[Cell], *, directed: bool) -> list[Cell]:
    """Return the fastest of repeated measurements; a link that was ever fast is no slow one."""
    best: dict[tuple[str, ...], Cell] = {}
    for cell in cells:
        ends = (cell.sender, cell.receiver)
        key = ends if directed else tuple(sorted(ends))
        if key not in best or cell.rate > best[key].rate:
            best[key] = cell
    return list(best.values())
