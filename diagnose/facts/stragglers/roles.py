"""Role before host: what all ranks of one place in the layout share is no fault of a node.

The last pipeline stage computes the logits and the first the embedding, experts differ in load, and
one slot of all hosts shares a rail, a socket or a PCIe switch. Such an effect is taken out of the
excess before hosts and ranks are compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median_low

from diagnose.facts.stragglers.places import Place
from diagnose.facts.stragglers.scores import FLOOR, GATE

ROLES = ("stage", "expert", "slot")

FEWEST_RANKS = 3
"""Ranks of a place whose median one slow rank cannot move."""

FEWEST_HOSTS = {"stage": 2, "expert": 2, "slot": 3}
"""Hosts, where known, over which a place must extend, lest a slow host be taken for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imbalance:
    """Places that are slower than the others.

    Args:
        role: One of ``ROLES``.
        slow: Numbers of the slow places.
        places: How many places there are.
        excess: Of the slowest place over the median one, as a share of the own work.
        mean: Mean excess of all places over the median one.
        ranks: Of the slowest place.
    """

    role: str
    slow: list[int]
    places: int
    excess: float
    mean: float
    ranks: list[int]


def effects(
    levels: Mapping[int, float], places: Mapping[int, Place]
) -> tuple[list[Imbalance], dict[int, float]]:
    """Return the imbalances, and of each rank the excess that its roles explain.

    Args:
        levels: Median excess by rank.
        places: By rank.
    """
    found: list[Imbalance] = []
    explained = dict.fromkeys(levels, 0.0)
    for role in ROLES:
        members = _members(role, places)
        if not _comparable(role, members, places):
            continue
        rest = {rank: level - explained[rank] for rank, level in levels.items()}
        by_place = {
            number: median_low(rest[rank] for rank in ranks) for number, ranks in members.items()
        }
        middle = median_low(by_place.values())
        spread = median_low(
            abs(rest[rank] - by_place[number])
            for number, ranks in members.items()
            for rank in ranks
        )
        least = max(FLOOR, GATE * spread)
        slow = sorted(number for number, one in by_place.items() if one - middle > least)
        if not slow or len(slow) > len(members) / 2:
            continue
        worst = max(slow, key=lambda number: by_place[number])
        found.append(
            Imbalance(
                role=role,
                slow=slow,
                places=len(members),
                excess=by_place[worst] - middle,
                mean=sum(by_place.values()) / len(members) - middle,
                ranks=members[worst],
            )
        )
        for number, ranks in members.items():
            for rank in ranks:
                explained[rank] += by_place[number] - middle
    return found, explained


def _members(role: str, places: Mapping[int, Place]) -> dict[int, list[int]]:
    members: dict[int, list[int]] = {}
    for rank, place in places.items():
        number = getattr(place, role)
        if number is not None:
            members.setdefault(number, []).append(rank)
    return members


def _comparable(role: str, members: Mapping[int, list[int]], places: Mapping[int, Place]) -> bool:
    if len(members) < 2 or any(len(ranks) < FEWEST_RANKS for ranks in members.values()):
        return False
    hosts = [{places[rank].host for rank in ranks} for ranks in members.values()]
    return all(None in one or len(one) >= FEWEST_HOSTS[role] for one in hosts)
