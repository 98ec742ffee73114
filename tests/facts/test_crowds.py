"""Thousands of ranks that say the same are answered together, and not each against each."""

import pytest

from diagnose.facts.case import build
from diagnose.facts.clock import COMPARED, Domain, Instant, first_of_each
from diagnose.facts.collectives.state import Call, Group, Member, Picture, Rank
from diagnose.facts.collectives.waits import all_late, cycle, waits
from diagnose.facts.marks import FAR_PAST, WRITERS, Mark, Marks
from diagnose.model.event import Nature

from .build import event, points, reading

NOON = 1_772_366_400.0
RANKS = 300


def picture(group_of, seq_of, enqueued_of):
    """Ranks with a pending call each, but for those without a number."""
    groups: dict[str, Group] = {}
    found = Picture()
    for rank in range(RANKS):
        for name in group_of(rank):
            group = groups.setdefault(name, Group(name, ranks=frozenset(range(RANKS))))
            seq = seq_of(rank, name)
            member = Member(rank, group, "text", event(rank=rank), enqueued_of(rank, name))
            member.oldest = None if seq is None else Call(seq, "ALLREDUCE", place=float(seq))
            group.members[rank] = member
            found.ranks.setdefault(rank, Rank(rank, "text", member.event)).members.append(member)
    found.groups = list(groups.values())
    return found


def test_ranks_that_wait_in_one_call_share_whom_they_wait_for():
    late = picture(
        lambda _: ["0"], lambda r, _: None if r < 9 else 5, lambda r, _: 4 if r < 9 else 5
    )
    graph = waits(late)
    assert len(graph) == RANKS - 9
    assert len({id(wait.late) for wait in graph.values()}) == 1
    assert all_late(graph.values()) == frozenset(range(9))


def test_a_ring_is_found_by_its_calls():
    crossed = picture(
        lambda _: ["a", "b"],
        lambda r, name: 7 if (name == "a") == (r < RANKS // 2) else None,
        lambda r, name: 7 if (name == "a") == (r < RANKS // 2) else 6,
    )
    ring = cycle(waits(crossed))
    assert {group for group, _ in ring} == {id(group) for group in crossed.groups}


def instant(seconds, host):
    return Instant(seconds, Domain(host, "utc"), f"{host}.log")


def test_of_many_moments_the_first_of_each_clock():
    moments = [instant(100.0 - n, f"node-{n % 3}") for n in range(30)]
    assert sorted(one.seconds for one in first_of_each([*moments, None])) == [71.0, 72.0, 73.0]
    assert sorted(one.seconds for one in first_of_each(moments, last=True)) == [98.0, 99.0, 100.0]
    crowd = [instant(float(n), f"node-{n}") for n in range(4 * COMPARED)]
    assert [one.seconds for one in first_of_each(crowd)] == list(map(float, range(COMPARED)))


def mark(rank, file=None, line=1, seconds=0.0):
    return Mark(file or f"rank{rank}.log", rank, 0, line, instant(seconds, f"node-{rank}"))


def test_few_marks_are_all_asked_and_of_many_the_last():
    few = Marks(mark(rank) for rank in range(WRITERS))
    assert few.near(event(file="rank0.log")) == few.all
    many = Marks(
        mark(rank, seconds=float(rank), line=n) for rank in range(RANKS) for n in range(FAR_PAST)
    )
    near = many.near(event(file="rank0.log"))
    assert {one.rank for one in near} == {0, *range(RANKS - WRITERS, RANKS)}
    assert [one.line for one in many.of_rank(7)] == list(range(FAR_PAST))


@pytest.mark.parametrize(("at", "cleared"), [(NOON - 1.0, True), (NOON + 600.0, False)])
def test_an_error_beside_the_steps_of_a_crowd(at, cleared):
    failed = event("python.error_line", file="agent.log", line=3, rank=RANKS, time=at)
    steps = [
        points("loss", [3.0] * 40, rank=rank, file=f"rank{rank}.log", host=f"node-{rank}",
               times=[NOON + 10.0 * step for step in range(40)])
        for rank in range(RANKS)
    ]  # fmt: skip
    stamps = [
        event("nccl.version", Nature.SETTING, file=f"rank{rank}.log", rank=rank, time=NOON)
        for rank in range(RANKS)
    ]
    case = build(reading(failed, *steps, *stamps))
    assert (case.progress_after(failed) is True) == cleared


@pytest.mark.parametrize(
    ("said", "late", "victims"),
    [
        ("a closed pipe", 20.0, 1),
        ("a broken wheel", 20.0, 0),
        ("a closed pipe", 0.5, 0),
        ("a closed pipe", 900.0, 0),
    ],
    ids=["shortly behind", "the same words", "at once", "much later"],
)
def test_whom_a_crowd_of_failures_brought_down(said, late, victims):
    crowd = [
        event("python.exception", Nature.ERROR, file=f"rank{rank}.log", line=9, rank=rank,
              time=NOON + rank / RANKS, fields={"type": "Error", "message": "a broken wheel"})
        for rank in range(RANKS)
    ]  # fmt: skip
    last = event("python.exception", Nature.ERROR, file="last.log", line=9, rank=RANKS,
                 time=NOON + late, fields={"type": "Error", "message": said})  # fmt: skip
    case = build(reading(*crowd, last))
    assert sum(one.nature is Nature.TEARDOWN for one in case.named("python.exception")) == victims
