"""Where the ranks of a group call the collective that got stuck."""

import pytest

from diagnose.facts.call_sites import derive
from diagnose.model.event import Nature

from .build import event

EVEN, ODD = "step /srv/train.py:88", "evaluate /srv/train.py:140"


def stuck(rank, site, seq=7, group="0", line=None):
    wait = event(rank=rank, communicator=group, fields={"seq": seq}, line=10 * rank + 1)
    place = event("c10d.collective_site", Nature.MEASUREMENT, rank=rank, communicator=group,
                  fields={"site": site}, line=10 * rank + 2)  # fmt: skip
    return [wait, place]


def odd(*members):
    return [(one.rank, one["site"]) for one in derive([event for m in members for event in m])]


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ([stuck(0, EVEN), stuck(1, EVEN), stuck(2, ODD)], [(2, ODD)]),
        ([stuck(0, EVEN), stuck(1, ODD)], [(None, ODD)]),
        ([stuck(0, EVEN), stuck(1, EVEN)], []),
        ([stuck(0, EVEN), stuck(1, EVEN), stuck(2, ODD, seq=8)], []),
        ([stuck(0, EVEN), stuck(1, EVEN), stuck(2, ODD, group="4")], []),
        ([stuck(0, EVEN)], []),
    ],
    ids=["minority", "halves", "alike", "another number", "another group", "one"],
)
def test_the_minority_is_odd(members, found):
    assert odd(*members) == found
