"""Communicators that nobody finished setting up."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, init, reading


def begun(*ranks, size=8, **more):
    return [
        init(rank, size, line=1, phase="start", file=f"r{rank}.log", rank=rank, **more)
        for rank in ranks
    ]


def spoken(rank):
    return event("train.note", Nature.SETTING, rank=rank, file=f"r{rank}.log")


def stuck(*records):
    return [
        (one["started"], one["silent"], one["unseen"])
        for one in build(reading(*records)).named("nccl.init_stuck")
    ]


def test_who_never_began_is_told_from_who_has_no_log():
    assert stuck(*begun(*range(6)), spoken(6)) == [(6, [6], [7])]


@pytest.mark.parametrize(
    "records",
    [
        [*begun(*range(8)), init(3, 8, line=2, file="r3.log", rank=3)],
        begun(0, 1),
        begun(0, 1, 2, size=64),
    ],
    ids=["one finished", "two ranks", "few of many"],
)
def test_what_is_not_stuck(records):
    assert stuck(*records) == []


def test_numbers_of_a_smaller_group_name_nobody():
    members = [
        init(number, 4, line=1, phase="start", file=f"r{rank}.log", rank=rank)
        for number, rank in enumerate((4, 5, 6))
    ]
    assert stuck(*members, spoken(3)) == [(3, [], [])]
