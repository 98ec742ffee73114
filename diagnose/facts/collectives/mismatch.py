"""Which rank calls another collective than its group, by plain majority.

The lowest rank is no reference: it may be the odd one itself. Sizes count only where all ranks must
pass the same one; uneven inputs are legitimate in the others. Without a majority nobody is odd.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from diagnose.facts.collectives.report import event, nobody, ranks_of
from diagnose.facts.collectives.state import (
    EQUAL_SIZES,
    NOT_COLLECTIVE,
    Basis,
    Call,
    Group,
    Member,
    Picture,
)
from diagnose.facts.votes import standing
from diagnose.model.event import Event, Value

Signature = tuple[str, int | str | None, str | None]
"""Operation, elements and type, the latter two None where they need not agree or are unknown."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Calls of one number that are not the same.

    Args:
        group: Whose.
        seq: The number.
        members: All who made a call of that number.
        calls: By rank, as far as they are compared.
        odd: Ranks in the minority; empty where no call has a majority.
        usual: The call of most, of a tie the first.
    """

    group: Group
    seq: int
    members: Mapping[int, Member]
    calls: Mapping[int, Signature]
    odd: tuple[int, ...]
    usual: Signature

    def counts(self) -> Counter[Signature]:
        """Return how many ranks made each call, the commonest first."""
        return Counter(dict(Counter(self.calls.values()).most_common()))


def disagreements(group: Group) -> Iterator[Disagreement]:
    """Yield the first disagreement among the unfinished calls of a group, dumps and text apart."""
    for basis in ("dumps", "text"):
        found = _first(group, basis)
        if found is not None:
            yield found


def _first(group: Group, basis: Basis) -> Disagreement | None:
    members = {rank: one for rank, one in sorted(group.members.items()) if one.basis == basis}
    waited = {one.oldest.seq for one in members.values() if one.oldest is not None}
    for seq in sorted(waited):
        there = {
            rank: one.calls[seq]
            for rank, one in members.items()
            if seq in one.calls and one.calls[seq].op not in NOT_COLLECTIVE
        }
        calls = _comparable(there)
        counts = Counter(calls.values())
        if len(counts) < 2:
            continue
        (usual, most), *_ = counts.most_common(1)
        odd = tuple(rank for rank in calls if calls[rank] != usual)
        decided = 2 * most > len(calls)
        return Disagreement(group, seq, {rank: members[rank] for rank in calls}, calls,
                            odd if decided else (), usual)  # fmt: skip
    return None


def _comparable(calls: Mapping[int, Call]) -> dict[int, Signature]:
    """Return what has to agree; a size or type that one line lacks is compared on none."""
    sized = all(one.numel is not None for one in calls.values() if one.op in EQUAL_SIZES)
    typed = all(one.dtype is not None for one in calls.values())
    return {
        rank: (
            one.op,
            one.numel if sized and one.op in EQUAL_SIZES else None,
            one.dtype if typed and one.op != "BARRIER" else None,
        )
        for rank, one in calls.items()
    }


def odd_calls(found: Disagreement, picture: Picture) -> Iterator[Event]:
    """Yield the calls of the minority, or one event that names no rank."""
    ranks = ranks_of(found.odd or found.calls)
    usual = [rank for rank, call in found.calls.items() if call == found.usual]
    op, numel, _ = found.usual
    others = [rank for rank, call in found.calls.items() if call != found.usual]
    other_ranks, peers = ranks_of(others), ranks_of(usual)
    absent = _unknown_votes(found, picture)
    calls: list[Value] = [_shown(*call) for call in found.counts()]
    for rank in found.odd or others[:1]:
        member = found.members[rank]
        mine = member.calls[found.seq]
        same_size = found.calls[rank][1] == numel
        more: dict[str, Value] = {
            "usual_op": op,
            "usual_numel": numel,
            "usual_ranks": len(usual),
            "usual_site": found.members[usual[0]].site,
            "differs": "operation" if mine.op != op else "type" if same_size else "size",
            "other_ranks": other_ranks.listed,
            **standing(len(usual), len(others), len(absent)),
            "calls": calls,
        }
        made = event(
            "collective.odd_call", member.event, member, ranks, peers, more,
            known=len(picture.ranks), call=mine,
        )  # fmt: skip
        yield made if found.odd else nobody(made)


def _unknown_votes(found: Disagreement, picture: Picture) -> set[int]:
    """Return the ranks that may have made a call of that number and of which none is known."""
    group = found.group
    silent = picture.silent & group.ranks if group.ranks else picture.silent
    hidden = {
        rank
        for rank, one in group.members.items()
        if found.seq not in one.calls and one.entered(found.seq) is not False
    }
    return (hidden | silent) - found.calls.keys()


def _shown(op: str, numel: int | str | None, dtype: str | None) -> str:
    size = "" if numel is None else f" of {numel}"
    return f"{op}{size}{f' {dtype}' if dtype else ''}"
