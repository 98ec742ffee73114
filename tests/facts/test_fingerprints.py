"""Which rank runs another collective than most."""

import pytest

from diagnose.facts.fingerprints import derive

from .build import event

EVEN, ODD = ("ALLREDUCE", "10", "Float", 5), ("BROADCAST", "20", "Float", 6)
PARTS = ("op", "shape", "dtype", "seq")


def says(rank, mine, other, its):
    fields = {"pg_rank": rank, "other_rank": other}
    fields |= dict(zip(PARTS, mine, strict=True))
    fields |= {f"other_{part}": value for part, value in zip(PARTS, its, strict=True)}
    return event("c10d.mismatch", line=rank + 1, rank=rank, fields=fields)


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([says(0, EVEN, 1, ODD), says(1, ODD, 0, EVEN), says(2, EVEN, 1, ODD)], [1]),
        ([says(0, ODD, 1, EVEN), says(2, EVEN, 0, ODD)], [0]),
        ([says(0, EVEN, 1, ODD), says(1, ODD, 0, EVEN)], []),
        ([says(0, EVEN, 2, ODD), says(1, EVEN, 3, ODD)], []),
    ],
    ids=["minority", "rank 0 itself", "two ranks", "halves"],
)
def test_the_minority_differs(messages, found):
    assert [one.rank for one in derive(messages)] == found


def test_the_calls_are_told():
    (odd,) = derive([says(0, EVEN, 1, ODD), says(2, EVEN, 1, ODD)])
    assert (odd["op"], odd["usual_op"], odd["usual_ranks"]) == ("BROADCAST", "ALLREDUCE", 2)
