"""Global ranks behind the numbers of process groups."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, reading


def member(rank, number, group="5", **more):
    return event(
        rank=rank, communicator=group, fields={"pg_rank": number, "op": "ALLREDUCE"}, **more
    )


def waits(rank, number, target=0, group=None, pair=None, **more):
    fields = {"pg_rank": number, "target_rank": target, "pair": pair, "reason": "timeout"}
    return event("c10d.store_timeout", Nature.EFFECT, rank=rank, communicator=group, fields=fields,
                 line=more.pop("line", 50 + (rank or 0)), **more)  # fmt: skip


@pytest.mark.parametrize(
    ("event_", "awaited"),
    [
        (waits(3, 3), 0),
        (waits(3, 3, group="0"), 0),
        (waits(9, 1, group="5"), 8),
        (waits(9, 1, group="6"), None),
        (waits(9, 1), None),
        (waits(3, 3, group="0", pair=[2, 3]), 2),
        (waits(9, 1, group="5", pair=[0, 1]), 8),
    ],
    ids=[
        "unnamed",
        "all",
        "members known",
        "members unknown",
        "smaller",
        "pair",
        "pair in a group",
    ],
)
def test_who_had_to_publish_the_id(event_, awaited):
    build(reading(member(8, 0), member(9, 1, line=2), event_))
    assert event_["awaited"] == awaited


def test_of_a_chain_only_the_end_is_awaited():
    chain = [waits(rank, rank, group="0", pair=[rank - 1, rank]) for rank in (1, 2, 3)]
    build(reading(*chain))
    assert [one["awaited"] for one in chain] == [0, None, None]


def test_a_number_that_two_ranks_have_is_of_two_groups():
    wait = waits(9, 1, group="1")
    build(reading(member(8, 0, "1"), member(4, 0, "1", line=2), wait))
    assert wait["awaited"] is None


@pytest.mark.parametrize(
    ("group", "number", "by", "first"),
    [("0", 9, 5, 5), ("5", 1, 0, 8), ("5", 1, 3, None), (None, 9, 5, 5), (None, 1, 5, None)],
)
def test_which_rank_failed_first(group, number, by, first):
    told = event("c10d.remote_error", Nature.EFFECT, line=9, rank=9, communicator=group,
                 fields={"pg_rank": number, "by_rank": by})  # fmt: skip
    build(reading(member(8, 0), member(9, 1, line=2), told))
    assert told["first_rank"] == first


def test_what_stands_on_a_line_of_the_watchdog_is_of_its_rank():
    ended = event("c10d.watchdog_terminated", rank=3, fields={"pg_rank": 3})
    fault = event("cuda.error")
    fault.text = ended.text
    build(reading(ended, fault))
    assert fault.rank == 3


def test_two_glued_records_keep_their_ranks_apart():
    ended = event("c10d.watchdog_terminated", rank=3, fields={"pg_rank": 3})
    fault = event("cuda.error")
    fault.text = "another record of that line"
    build(reading(ended, fault))
    assert fault.rank is None


@pytest.mark.parametrize(("group", "rank"), [("5", 8), ("6", None)])
def test_a_line_with_the_number_alone_gets_the_rank(group, rank):
    bare = event(communicator=group, fields={"pg_rank": 0}, line=5)
    build(reading(member(8, 0), member(9, 1, line=2), bare))
    assert bare.rank == rank
