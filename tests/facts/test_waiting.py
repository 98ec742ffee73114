"""Who the waiting ranks wait for, where no stamp tells."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Clock, Nature
from diagnose.model.reading import SourceSummary

from .build import event, fact, points, reading

WORLD = fact("arg.world_size", 4, event="job.argument", fields={"name": "world_size"})


def bar(percent=47, **more):
    return event("train.preprocess", Nature.PROGRESS, fields={"percent": percent}, **more)


def timeouts(*ranks, line=50):
    return [event(rank=rank, line=line + rank) for rank in ranks]


def test_a_bar_is_open_where_its_rank_neither_went_on_nor_timed_out():
    work = bar(line=5, rank=0)
    build(reading(work, *timeouts(1, 2, 3)))
    assert (work["open"], work["awaited"]) == (True, 0)


@pytest.mark.parametrize(
    ("work", "others"),
    [
        (bar(100, line=5), ()),
        (bar(line=5, rank=0), timeouts(0)),
        (bar(line=5), [points("loss", [3.0], lines=[9])]),
    ],
    ids=["ended", "timed out itself", "steps follow"],
)
def test_a_bar_is_closed(work, others):
    build(reading(work, *others))
    assert work["open"] is False


@pytest.mark.parametrize(
    ("waiting", "awaited"), [((0, 1, 3), 2), ((0, 1), None), ((0, 1, 2, 3), None), ((), None)]
)
def test_the_only_rank_without_a_timeout_is_awaited(waiting, awaited):
    work = bar(line=5)
    build(reading(WORLD, work, *timeouts(*waiting)))
    assert work["awaited"] == awaited


def test_without_a_world_size_nobody_is_awaited():
    work = bar(line=5)
    build(reading(work, *timeouts(0, 1, 3)))
    assert work["awaited"] is None


def logs(*ranks, clock=Clock.NONE, lines=4):
    return [SourceSummary(name=f"r{r}.log", rank=r, clock=clock, lines=lines) for r in ranks]


@pytest.mark.parametrize(
    ("waiting", "sources", "silent"),
    [
        ((0, 1, 2), logs(3), [3]),
        ((0, 1, 2), logs(2, 3), [3]),
        ((0, 1), logs(3), []),
        ((0, 1, 2), logs(3, lines=0), []),
        ((0, 1, 2), logs(3, 4, 5), []),
    ],
    ids=["one", "one of them timed out", "too few wait", "empty log", "too many"],
)
def test_a_log_without_stamps_and_timeout_is_silent(waiting, sources, silent):
    case = build(reading(*timeouts(*waiting), sources=sources))
    found = case.named("job.silent_rank")
    assert [(one.rank, one.line) for one in found] == [(rank, 4) for rank in silent]


def test_a_log_with_stamps_is_judged_by_them():
    sources = logs(3, clock=Clock.LOCAL)
    sources[0].last_time = 1_772_366_400.0
    assert build(reading(*timeouts(0, 1, 2), sources=sources)).named("job.silent_rank") == []


@pytest.mark.parametrize(("tool", "silent"), [("py-spy", []), ("faulthandler", [3])])
def test_the_print_out_of_a_tool_is_no_log_of_a_rank(tool, silent):
    fields = dict.fromkeys(("fault", "code", "holder", "command", "state"))
    fields |= {"tool": tool, "role": "rank", "doing": "loader", "call": "get"}
    fields |= {"site": "get (queue.py:171)", "way": [], "frames": []}
    dump = event("stack.dump", Nature.MEASUREMENT, file="r3.log", rank=3, fields=fields)
    case = build(reading(*timeouts(0, 1, 2), dump, sources=logs(3)))
    assert [one.rank for one in case.named("job.silent_rank")] == silent


def test_a_rank_that_asked_for_dumps_waited_itself():
    sent = event("c10d.dump_signal_sent", rank=3, file="r3.log", line=2)
    assert build(reading(*timeouts(0, 1, 2), sent, sources=logs(3))).named("job.silent_rank") == []


START = 1_772_366_400.0
"""When the peers began to wait; they gave up ten minutes later."""


def waits(*ranks):
    return [
        event(
            rank=rank,
            line=50 + rank,
            file=f"r{rank}.log",
            time=START + 600,
            fields={"lasted": 600.0},
        )
        for rank in ranks
    ]


def ending(rank, seconds):
    (source,) = logs(rank, clock=Clock.LOCAL)
    source.last_time = START + seconds
    return source


@pytest.mark.parametrize(("seconds", "gap"), [(-20, 20.0), (-3600, 3600.0), (30, None)])
def test_a_log_that_ends_before_the_wait_is_silent(seconds, gap):
    case = build(reading(*waits(0, 1, 2), sources=[ending(3, seconds)]))
    assert [one["gap"] for one in case.named("job.silent_rank")] == ([] if gap is None else [gap])


def test_a_rank_that_says_why_it_ends_is_not_silent():
    error = event("python.exception", Nature.ERROR, rank=3, file="r3.log", line=3)
    case = build(reading(*waits(0, 1, 2), error, sources=[ending(3, -20)]))
    assert case.named("job.silent_rank") == []


def test_a_watchdog_that_hung_says_how_many_others_have_a_log():
    hung = event("c10d.heartbeat_timeout", line=3, rank=0)
    (alone,) = build(reading(WORLD, hung)).named("job.hung_watchdog")
    assert (alone["peers_seen"], alone["peers_share"]) == (0, 0)
    other = event("train.note", Nature.PROGRESS, line=4, rank=3)
    (found,) = build(reading(WORLD, hung, other)).named("job.hung_watchdog")
    assert (found["peers_seen"], found["peers_share"]) == (1, pytest.approx(1 / 3))


def unstamped(*ranks, line=50):
    """Timeouts without a stamp, as PyTorch printed them before 2.4, in the log of each rank."""
    return [
        event(rank=rank, line=line, file=f"r{rank}.log", fields={"lasted": 600.0}) for rank in ranks
    ]


@pytest.mark.parametrize(
    ("seconds", "found"),
    [(0, [(0.0, None)]), (-20, [(20.0, None)]), (900, [(0.0, 900.0)])],
    ids=["just stops", "a little before", "goes on"],
)
def test_where_timeouts_have_no_stamp_the_last_stamps_of_their_ranks_count(seconds, found):
    ends = [ending(rank, 0) for rank in (0, 1, 2)]
    case = build(reading(*unstamped(0, 1, 2), sources=[*ends, ending(3, seconds)]))
    assert [(one["gap"], one["past"]) for one in case.named("job.silent_rank")] == found


def test_stamps_behind_the_timeouts_are_dated_back_by_what_the_wait_lasted():
    ends = [ending(rank, 605) for rank in (0, 1, 2)]
    after = [
        event("c10d.not_destroyed", Nature.TEARDOWN, rank=rank, line=60, file=f"r{rank}.log",
              time=START + 605)
        for rank in (0, 1, 2)
    ]  # fmt: skip
    case = build(reading(*unstamped(0, 1, 2), *after, sources=[*ends, ending(3, 0)]))
    assert [one["gap"] for one in case.named("job.silent_rank")] == [5.0]


def test_a_log_is_the_one_of_its_only_writer():
    source = SourceSummary(name="out_7.txt", lines=9)
    spoken = event("nccl.channel", Nature.MEASUREMENT, rank=3, line=2, file="out_7.txt")
    case = build(reading(*timeouts(0, 1, 2), spoken, sources=[source]))
    assert [(one.rank, one.file) for one in case.named("job.silent_rank")] == [(3, "out_7.txt")]
