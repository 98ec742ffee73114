"""What the times of the last write tell: slow writers, slow saves, files left from before.

Not a parser: the judge of checkpoints asks it. Copies set the times anew, so they count only where
they lie within a day and not all in one second; clocks of nodes differ by seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint.names import ZERO_FILE, rank_of, zero_ranks
from diagnose.parsers.checkpoint.tree import Checkpoint

DAY = 86_400.0
LATE, LATE_TIMES = 30.0, 3.0
"""Seconds behind the first, and times the median, from which a writer is late."""

MINUTE = 60.0
"""Resolution of a listing that shows no seconds, and the least that tells two saves apart."""

FEWEST = 4
"""Writers from which one that is late stands out."""

FEW = 0.25
"""Share of the files that were left from before, and of the writers that are late alone."""

SLOWER = 2.0
"""Times the usual span of writing from which a save was slow."""

HOUR = 3_600.0
"""A file this much older than the rest is left from before, where no other step shows the interval."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """Ranks whose files were written later than those of the others.

    Args:
        ranks: Who; those of ZeRO are data-parallel ranks.
        late: Seconds of the last one behind the first file.
        usual: Median of all, in seconds.
        writers: How many there are.
        kind: ``rank`` or ``dp``.
    """

    ranks: list[int]
    late: float
    usual: float
    writers: int
    kind: str


def lateness(point: Checkpoint) -> Lateness | None:
    """Return who wrote late; None where nobody stands out or times tell nothing."""
    zero = zero_ranks(point.files)
    alone = zero is None or zero[1] == 1
    kinds = ("rank" if alone else "dp", _data_ranks(point)), ("rank", _ranks(point))
    for kind, times in kinds:
        known = list(times.values())
        if len(times) < FEWEST or not _telling(known):
            continue
        first = min(known)
        usual = median(time - first for time in known)
        bound = max(LATE, LATE_TIMES * usual, 2 * _resolution(known))
        slow = {rank: time - first for rank, time in times.items() if time - first > bound}
        if slow and len(slow) <= max(1, FEW * len(times)):
            return Lateness(sorted(slow), max(slow.values()), usual, len(times), kind)
    return None


def span(point: Checkpoint) -> float | None:
    """Return the seconds between the first and the last write of its data, None if unknown."""
    times = [entry.modified for entry in point.data if entry.modified is not None]
    return max(times) - min(times) if len(times) > 1 and _telling(times) else None


def slower(point: Checkpoint, others: Sequence[Checkpoint]) -> tuple[float, float] | None:
    """Return the span of a save and the usual one of saves as large, where it is far longer."""
    own = span(point)
    before = [s for one in others if _as_large(one, point) and (s := span(one)) is not None]
    if own is None or len(before) < 3:
        return None
    usual = median(before)
    return (own, usual) if own > SLOWER * usual and own - usual > MINUTE else None


def left_over(point: Checkpoint, others: Sequence[Checkpoint]) -> list[Entry]:
    """Return the files that an earlier save left in a folder that was used again.

    They are older than the others by more than the time between two saves.
    """
    dated = [entry for entry in point.data if entry.modified is not None]
    if len(dated) < FEWEST:
        return []
    newest = max(entry.modified or 0 for entry in dated)
    bound = max(MINUTE, _interval([point, *others]) or HOUR)
    old = [entry for entry in dated if newest - (entry.modified or 0) > bound]
    rest = [entry.modified or 0 for entry in dated if entry not in old]
    tight = max(rest) - min(rest) < bound / 2
    return old if tight and len(old) <= FEW * len(dated) else []


def _interval(points: Sequence[Checkpoint]) -> float | None:
    """Return the usual seconds between saves."""
    times = sorted(point.modified for point in points if point.modified is not None)
    gaps = [after - before for before, after in pairwise(times) if after > before]
    return median(gaps) if len(gaps) >= 2 else None


def _as_large(one: Checkpoint, other: Checkpoint) -> bool:
    return abs(one.size - other.size) <= 0.1 * max(one.size, other.size)


def _ranks(point: Checkpoint) -> dict[int, float]:
    """Return when each rank wrote its last file; the random states are the last of all."""
    times: dict[int, float] = {}
    for name, entry in point.files.items():
        rank = rank_of(name)
        if rank is not None and entry.modified is not None:
            times[rank] = max(entry.modified, times.get(rank, entry.modified))
    return times


def _data_ranks(point: Checkpoint) -> dict[int, float]:
    times: dict[int, float] = {}
    for name, entry in point.files.items():
        found = ZERO_FILE.search(name)
        if found and found["kind"] == "optim" and entry.modified is not None:
            rank = int(found["dp"])
            times[rank] = max(entry.modified, times.get(rank, entry.modified))
    return times


def _telling(times: Sequence[float]) -> bool:
    spread = max(times) - min(times)
    return 1 <= spread < DAY


def _resolution(times: Sequence[float]) -> float:
    return MINUTE if all(time % MINUTE == 0 for time in times) else 0.0
