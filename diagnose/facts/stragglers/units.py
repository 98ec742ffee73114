"""Whose fault it can be: one rank, all ranks of a host, or a tensor-parallel group."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from diagnose.facts.stragglers.places import Place

MOST_OF_A_HOST = 0.8
"""Share of the ranks of a host that must be slow for it to be the host."""

MOST_UNITS, MOST_CULPRITS = 2, 0.25
"""Above so many units that hold more than this share of the ranks, being slow is no fault."""

Kind = Literal["rank", "host", "group"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Who is slow together.

    Args:
        kind: What it is.
        ranks: Its slow ranks, in order.
        host: Of all of them, None where unknown or several.
        stage: The pipeline stage that has just these ranks, None where none has.
        stages: How many there are.
    """

    kind: Kind
    ranks: list[int]
    host: str | None = None
    stage: int | None = None
    stages: int = 1

    @property
    def is_end_stage(self) -> bool:
        """Whether it is the first or the last stage, which have more to do than layers."""
        return self.stage is not None and self.stage in (0, self.stages - 1)


def units(slow: Collection[int], places: Mapping[int, Place]) -> tuple[list[Unit], list[int]]:
    """Return who is slow together, and the slow ranks that are too many to be faults of their own.

    Args:
        slow: Ranks that stand out.
        places: Of all ranks that are compared.
    """
    found: list[Unit] = []
    left = set(slow)
    stages = len({place.stage for place in places.values()})
    for host, ranks in _by(places, lambda place: place.host).items():
        here = [rank for rank in ranks if rank in left]
        if len(here) >= 2 and len(here) >= MOST_OF_A_HOST * len(ranks) and len(ranks) < len(places):
            stage = _whole_stage(ranks, places)
            found.append(Unit(kind="host", ranks=here, host=str(host), stage=stage, stages=stages))
            left -= set(here)
    for ranks in _by(places, lambda place: place.tensor).values():
        if len(ranks) >= 2 and left.issuperset(ranks) and len(ranks) < len(places):
            hosts = {places[rank].host for rank in ranks}
            found.append(
                Unit(
                    kind="group",
                    ranks=ranks,
                    host=next(iter(hosts)) if len(hosts) == 1 else None,
                    stage=_whole_stage(ranks, places),
                    stages=stages,
                )
            )
            left -= set(ranks)
    found += [Unit(kind="rank", ranks=[rank], host=places[rank].host) for rank in sorted(left)]
    if len(found) > MOST_UNITS and len(slow) > MOST_CULPRITS * len(places):
        return [], sorted(slow)
    return found, []


def end_block(found: Sequence[Unit], places: Mapping[int, Place]) -> int | None:
    """Return over how many hosts slow ranks lie that may be an end stage of an unknown pipeline.

    Stages are equal parts of all ranks, in order, so that the slow ranks must be the first or the
    last such part, and whole hosts.

    Args:
        found: Who is slow.
        places: Of all ranks that are compared.

    Returns:
        The hosts, 0 where they are unknown; None where the ranks are no such part.
    """
    slow = sorted(rank for unit in found for rank in unit.ranks)
    every, size = sorted(places), len(slow)
    if size < 2 or size == len(every) or len(every) % size or slow not in (
        every[:size], every[-size:]
    ):  # fmt: skip
        return None
    hosts = {places[rank].host for rank in slow} - {None}
    shared = hosts & {places[rank].host for rank in every if rank not in slow}
    return None if shared else len(hosts)


def _whole_stage(ranks: Sequence[int], places: Mapping[int, Place]) -> int | None:
    """Return the stage that has just these ranks."""
    stage = places[ranks[0]].stage
    members = [rank for rank, place in places.items() if place.stage == stage]
    return stage if stage is not None and members == list(ranks) else None


def _by(places: Mapping[int, Place], key: Callable[[Place], Hashable]) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for rank, place in places.items():
        if (value := key(place)) is not None:
            found.setdefault(value, []).append(rank)
    return found
