"""How far each rank got in each process group, whether a dump or log lines say so."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from diagnose.model.event import Event, Value

Basis = Literal["dumps", "text"]

EQUAL_SIZES = frozenset(
    {"ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"}
)
"""Operations that take the same number of elements on all ranks (torch.distributed, c10d Ops)."""

ROOTED = frozenset({"BROADCAST", "REDUCE", "GATHER", "SCATTER"})
"""Operations that one rank may leave before another has entered: data flow one way only."""

NOT_COLLECTIVE = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN"})
"""Point-to-point calls, and batches of them."""

PIPELINE = ("pipeline", "pp")
"""Words in the description of a group that sends and receives."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a group.

    Args:
        seq: Its number within the group.
        op: As PyTorch's log lines name it.
        numel: Input elements, or the shape as a text; None if unknown.
        dtype: Types of the inputs, None if unknown.
        place: In the order of calls of its rank, over all groups.
    """

    seq: int
    op: str
    numel: int | str | None = None
    dtype: str | None = None
    place: float = 0.0


@dataclass(slots=True)
class Member:
    """What one rank says of one group.

    Args:
        rank: Global rank.
        group: The group.
        basis: Where it comes from.
        event: The statement to cite.
        enqueued: Number of the last call its program made, None if unknown.
        completed: Number of the last call seen to finish, None if unknown.
        oldest: Its oldest unfinished call in this group.
        calls: Calls by number, those that are listed.
        state: Of the oldest call: ``scheduled`` or ``started``.
        peer: The other end of the oldest call, a global rank, if that is a send or receive.
        onset: When the oldest call was made, seconds since 1970; None where it is not known so.
        site: Where the program made it.
    """

    rank: int
    group: "Group"
    basis: Basis
    event: Event
    enqueued: int | None = None
    completed: int | None = None
    oldest: Call | None = None
    calls: dict[int, Call] = field(default_factory=dict)
    state: str | None = None
    peer: int | None = None
    onset: float | None = None
    site: str | None = None

    def entered(self, seq: int) -> bool | None:
        """Return whether its program made a call, None if unknown."""
        return None if self.enqueued is None else self.enqueued >= seq


@dataclass(eq=False)
class Group:
    """One process group.

    Args:
        name: As PyTorch names it on all ranks; None for the unnamed group of older log lines.
        desc: What it is for.
        ranks: Its global ranks, empty if unknown.
        p2p: Whether it carries sends and receives; its numbers then say nothing about other ranks.
        members: What is known, by rank.
    """

    name: str | None
    desc: str | None = None
    ranks: frozenset[int] = frozenset()
    p2p: bool = False
    members: dict[int, Member] = field(default_factory=dict)

    @cached_property
    def absent(self) -> frozenset[int]:
        """Its ranks of which nothing is known; asked once all members are in."""
        return self.ranks.difference(self.members)

    @cached_property
    def ended(self) -> int:
        """Number of the last call that any member is known to have finished, likewise."""
        return max((one.completed or 0 for one in self.members.values()), default=0)

    def says_pipeline(self) -> bool:
        """Return whether its description is that of a group of pipeline stages."""
        words = (self.desc or "").lower().replace("-", "_").split("_")
        return any(word in PIPELINE for word in words)


Place = tuple[int, int]
"""A group, by its identity, and the number of a call in it."""


def at(member: Member) -> Place:
    """Return which call is a rank's oldest in a group."""
    return id(member.group), member.oldest.seq if member.oldest else -1


@dataclass(slots=True)
class Rank:
    """What is known of one rank.

    Args:
        number: Global rank.
        basis: Where it comes from.
        event: The statement that stands for all of it.
        members: Its place in each group.
    """

    number: int
    basis: Basis
    event: Event
    members: list[Member] = field(default_factory=list)

    @property
    def oldest(self) -> Member | None:
        """Its place in the group of its oldest unfinished call; None where nothing is pending."""
        waiting = (one for one in self.members if one.oldest is not None)
        return min(waiting, key=lambda one: one.oldest.place if one.oldest else 0.0, default=None)


@dataclass(slots=True)
class Picture:
    """All ranks and groups of one attempt.

    Args:
        groups: Those that somebody speaks of.
        ranks: What is known, by rank.
        silent: Ranks of the job of which there is nothing at all, neither a dump nor a line.
    """

    groups: list[Group] = field(default_factory=list)
    ranks: dict[int, Rank] = field(default_factory=dict)
    silent: frozenset[int] = frozenset()

    def waiting(self) -> Iterator[Member]:
        """Yield the oldest unfinished call of each rank that has one."""
        for _, rank in sorted(self.ranks.items()):
            if (oldest := rank.oldest) is not None:
                yield oldest

    def collectives(self) -> Iterator[Group]:
        """Yield the groups whose numbers can be compared over ranks."""
        return (group for group in self.groups if not group.p2p)


def mark_p2p(groups: Iterable[Group]) -> None:
    """Note the groups that send and receive: by their calls on any rank or by what they are for."""
    for group in groups:
        calls = (call for one in group.members.values() for call in one.calls.values())
        group.p2p = (
            group.p2p
            or group.says_pipeline()
            or any(call.op in NOT_COLLECTIVE and call.op != "COALESCED" for call in calls)
        )


def whole_number(value: Value) -> int | None:
    """Return a field as a number, None where it is missing or a text."""
    return value if isinstance(value, int) else None
