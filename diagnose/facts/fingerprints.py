"""Which rank runs another collective than most, from the fingerprints that ranks compare.

======================= ==========================================================================
``c10d.odd_fingerprint`` A rank whose next collective differs from that of most ranks
======================= ==========================================================================

With ``TORCH_DISTRIBUTED_DEBUG=DETAIL`` each rank compares its next call with the first that
differs, prints both and blames nobody. Both sides of all messages are a vote. Ranks count within
the group, which the message does not name; it is taken for that of all ranks.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.settings import whole
from diagnose.facts.votes import standing
from diagnose.model.event import Event, Nature, Value

EVENTS = ("c10d.odd_fingerprint",)

FEWEST = 3
"""Ranks whose call must be known before one is odd."""

PARTS = ("op", "shape", "dtype", "seq")

Call = tuple[Value, ...]


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the ranks that differ, in order."""
    for attempt in sorted({event.attempt for event in events if event.name == "c10d.mismatch"}):
        yield from _odd_ones(
            [one for one in events if one.name == "c10d.mismatch" and one.attempt == attempt]
        )


def _odd_ones(messages: list[Event]) -> Iterator[Event]:
    calls: dict[int, Call] = {}
    shown: dict[int, Event] = {}
    for event in messages:
        for name, prefix in (("pg_rank", ""), ("other_rank", "other_")):
            rank = whole(event.fields.get(name))
            if rank is None:
                continue
            calls.setdefault(rank, tuple(event.fields.get(prefix + part) for part in PARTS))
            shown.setdefault(rank, event)
    counts = Counter(calls.values())
    if len(calls) < FEWEST or len(counts) < 2:
        return
    (usual, most), *_ = counts.most_common(1)
    if 2 * most <= len(calls):
        return
    absent = max(calls) + 1 - len(calls)
    for rank in sorted(calls):
        if calls[rank] != usual:
            names = (*PARTS, *(f"usual_{part}" for part in PARTS))
            fields = dict(zip(names, (*calls[rank], *usual), strict=True))
            fields |= standing(most, len(calls) - most, absent)
            yield replace(
                shown[rank], name=EVENTS[0], nature=Nature.MEASUREMENT, rank=rank, host=None,
                local_rank=None, fields={**fields, "usual_ranks": most},
            )  # fmt: skip
