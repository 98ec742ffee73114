"""What satisfies a condition: records, by the condition that selected them."""

from collections.abc import Iterable
from dataclasses import dataclass

from diagnose.engine.records import Record
from diagnose.engine.schema import Leaf


@dataclass(frozen=True, slots=True)
class Pick:
    """What one condition without members selected."""

    leaf: Leaf
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Records that satisfy a condition together."""

    picks: tuple[Pick, ...]

    @property
    def records(self) -> list[Record]:
        """All records, in the order of the condition."""
        return [record for pick in self.picks for record in pick.records]


def united(selections: Iterable[Selection]) -> Selection | None:
    """Return all records of several solutions, each once; None without any."""
    found: dict[int, tuple[Leaf, dict[int, Record]]] = {}
    for selection in selections:
        for pick in selection.picks:
            _, records = found.setdefault(id(pick.leaf), (pick.leaf, {}))
            records.update((id(record), record) for record in pick.records)
    if not found:
        return None
    return Selection(tuple(Pick(leaf, tuple(kept.values())) for leaf, kept in found.values()))
