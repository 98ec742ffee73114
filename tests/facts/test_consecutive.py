"""Logs of ranks that stand in one file one behind the other."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, init, points, reading


def log(rank, first):
    """Twenty lines of one rank: its init, and a timeout at the end."""
    where = {"host": "node-01", "pid": 70 + rank, "gpu": f"0000:{rank}b:00.0"}
    return [
        init(rank, 2, first, **where),
        event(line=first + 19, rank=rank, fields={"seq": 7, "op": "ALLREDUCE"}),
    ]


def stack(line):
    return event("stack.thread", Nature.MEASUREMENT, line=line)


def steps(*lines):
    return points("loss", [2.0] * len(lines), lines=lines)


def writers(case):
    return [(one.rank, list(one.lines)) for one in case.reading.points]


def test_what_stands_between_the_lines_of_a_rank_is_its_own():
    printed = stack(15)
    case = build(reading(*log(0, 1), *log(1, 21), printed, steps(5, 10, 25, 30)))
    assert (printed.rank, printed.host) == (0, "node-01")
    assert writers(case) == [(0, [5, 10]), (1, [25, 30])]


def test_steps_behind_the_last_line_of_a_rank_are_its_own_and_other_records_nobodys():
    late = stack(23)
    case = build(reading(*log(0, 1), *log(1, 31), late, steps(5, 24)))
    assert late.rank is None
    assert writers(case) == [(0, [5, 24])]


@pytest.mark.parametrize(
    "more",
    [
        [event("nccl.warn", line=35, rank=0)],
        [event("python.error_line", line=60, rank=7)],
    ],
    ids=["a rank comes up again", "a rank without a set-up"],
)
def test_mixed_lines_tell_nothing(more):
    printed = stack(15)
    case = build(reading(*log(0, 1), *log(1, 21), *more, printed, steps(5, 25)))
    assert printed.rank is None
    assert writers(case) == [(None, [5, 25])]
