"""Files of a checkpoint that are smaller than they should be.

Not a parser: the judge of checkpoints asks it. Shards of one step differ by design, so a file is held
against the same file of other steps; against its siblings only where these are equal parts: the
optimizer of ZeRO, the ranks of FSDP, random states.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint.tree import DATA, Checkpoint

SHRINK, SHRINK_BYTES = 0.99, 64 << 10
"""A file this much smaller than in other steps, where it has one size, is an outlier."""

PART, PART_BYTES = 0.9, 1 << 20
"""The same for a file and its siblings of one step."""

FEWEST = 4
"""Siblings from which one that differs stands out."""

ROUNDED = 0.8
"""Share of the usual size that sizes in units of ``ls -h`` can tell from rounding."""

EQUAL_PARTS = LazyPattern(
    r"(?P<before>.*zero_pp_rank_)\d+(?P<after>_mp_rank_\d+_optim_states\.pt)$"
    r"|(?P<head>.*_world_size_\d+_rank_)\d+(?P<tail>\.pt)$"
    r"|(?P<left>.*(?:rng_state|random_states)_)\d+(?P<right>\.pth|\.pkl)$"
)


@dataclass(frozen=True, slots=True)
class Outlier:
    """A file that is too small.

    Args:
        entry: The file.
        usual: Bytes that the others have, their median.
        against: Who the others are.
    """

    entry: Entry
    usual: int
    against: str


def outliers(point: Checkpoint, others: Sequence[Checkpoint], *, exact: bool) -> Iterator[Outlier]:
    """Yield the files of a checkpoint that are too small.

    Args:
        point: The checkpoint.
        others: The other checkpoints of its run.
        exact: Sizes are in bytes and not rounded.
    """
    found: set[str] = set()
    elsewhere = [other.alike for other in others]
    for name, entry in point.alike.items():
        if not DATA.search(entry.name) or entry.size <= 0:
            continue
        same = [one[name].size for one in elsewhere if name in one and one[name].size > 0]
        if len(same) >= 2 and _stands_out(entry.size, same, 0.001, SHRINK, SHRINK_BYTES, exact):
            found.add(entry.name)
            yield Outlier(entry, int(median(same)), "other steps")
    for group in _siblings(point).values():
        smallest, *rest = sorted(group, key=lambda entry: entry.size)
        usual = [entry.size for entry in rest]
        if len(group) < FEWEST or smallest.name in found:
            continue
        if _stands_out(smallest.size, usual, 0.01, PART, PART_BYTES, exact):
            yield Outlier(smallest, int(median(usual)), "other ranks")


def _stands_out(
    size: int, rest: Sequence[int], spread: float, share: float, least: int, exact: bool
) -> bool:
    """Return whether a size is small among others that are equal but for ``spread``."""
    if max(rest) - min(rest) > (spread if exact else 0.1) * max(rest):
        return False
    usual = median(rest)
    return size < (share if exact else ROUNDED) * usual and usual - size > least


def _siblings(point: Checkpoint) -> dict[tuple[str, ...], list[Entry]]:
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for name, entry in point.files.items():
        if entry.size > 0 and (found := EQUAL_PARTS.match(name)):
            key = tuple(part for part in found.groups() if part is not None)
            groups.setdefault(key, []).append(entry)
    return groups
