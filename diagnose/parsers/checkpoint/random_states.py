"""Whether the ranks of a checkpoint saved one and the same state of their random generators.

Not a parser: the checks of files ask it. Equal sizes and checksums of the members of two files mean
equal states. Ranks that start from one seed and draw the same numbers may rightly be equal; it counts
where each rank should have a seed of its own, since data order and dropout then repeat.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.parsers.checkpoint.inside import Contents

STATE = LazyPattern(r"(?:^|/)(?:rng_state|random_states)_\d+\.(?:pth|pkl)$")

OWN = (".data/serialization_id",)
"""Members that differ in every file."""


@dataclass(frozen=True, slots=True)
class Equal:
    """Files of random states that hold the same.

    Args:
        folder: They lie in, relative to the input folder.
        names: Of the files.
    """

    folder: str
    names: list[str]


def equal(inside: Mapping[str, Contents]) -> Iterator[Equal]:
    """Yield the folders in which all random states that were looked into are the same.

    Args:
        inside: What files hold, by name.
    """
    folders: dict[str, dict[str, frozenset[tuple[str, int, int]]]] = {}
    for name, contents in inside.items():
        if STATE.search(name):
            members = [
                (member, size, crc)
                for member, (size, crc) in contents.members.items()
                if member not in OWN and crc is not None
            ]
            if members:
                folders.setdefault(name.rpartition("/")[0], {})[name] = frozenset(members)
    for folder, states in folders.items():
        if len(states) > 1 and len({*states.values()}) == 1:
            yield Equal(folder, sorted(states))
