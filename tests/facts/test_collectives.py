"""Who is named from the lines of a log."""

import pytest

from diagnose.facts.collectives import derive
from diagnose.model.event import Event, Nature


def wait(rank, op="ALLREDUCE", numel=5000, seq=88, **attributes):
    fields = {"seq": seq, "op": op, "numel_in": numel, "pg_rank": rank}
    fields |= attributes.pop("fields", {})
    return Event(
        name="c10d.watchdog_timeout", nature=Nature.EFFECT, file=f"rank{rank}.log", line=1,
        end_line=1, text="", fields=fields, rank=rank, host=f"node-{rank}", **attributes,
    )  # fmt: skip


def counters(rank, enqueued, completed, seq=None, line=2, group="0"):
    """The counters that a rank prints when it times out, or with a dump signal if ``seq`` is None."""
    fields = {"last_enqueued": enqueued, "last_completed": completed, "pg_rank": rank}
    if seq is not None:
        fields["seq"] = seq
    return Event(
        name="c10d.progress", nature=Nature.MEASUREMENT, file=f"rank{rank}.log", line=line,
        end_line=line, text="", fields=fields, rank=rank, communicator=group,
    )  # fmt: skip


def signal(rank, line=2):
    return Event(
        name="c10d.dump_signal_observed", nature=Nature.EFFECT, file=f"rank{rank}.log", line=line,
        end_line=line, text="", fields={"by_rank": 0}, rank=rank, communicator="0",
    )  # fmt: skip


def failed(rank, seq=88, enqueued=90):
    return [wait(rank, seq=seq), counters(rank, enqueued, seq - 1, seq)]


def observed(rank, enqueued, completed):
    return [signal(rank), counters(rank, enqueued, completed)]


def named(events, world_size=None):
    return [
        (event.name.removeprefix("collective."), event.rank)
        for event in derive(events, world_size)
        if event.name not in ("collective.waiting", "collective.all_waiting")
    ]


def odd(*events):
    return [
        (event.rank, event.fields["differs"])
        for event in derive(events)
        if event.name == "collective.odd_call"
    ]


@pytest.mark.parametrize("guilty", [0, 2, 3])
def test_the_minority_is_odd_whatever_its_rank(guilty):
    events = [wait(rank) for rank in range(4) if rank != guilty]
    assert odd(*events, wait(guilty, "ALLGATHER", 1024)) == [(guilty, "operation")]
    assert odd(*events, wait(guilty, numel=4999)) == [(guilty, "size")]


def test_what_an_event_says():
    (event,) = derive([wait(0), wait(1, numel=7), wait(2)])
    assert event.nature is Nature.MEASUREMENT
    wanted = {
        "op": "ALLREDUCE", "seq": 88, "numel": 7, "usual_op": "ALLREDUCE", "usual_numel": 5000,
        "usual_ranks": 2, "calls": ["ALLREDUCE of 5000", "ALLREDUCE of 7"], "basis": "text",
    }  # fmt: skip
    assert {name: event.fields[name] for name in wanted} == wanted


def test_a_tie_names_no_rank():
    (event,) = derive([wait(0), wait(1, "BROADCAST")])
    assert (event.rank, event.host) == (None, None)
    assert event.fields["differs"] == "operation"
    assert event.fields["ranks"] == [0, 1]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [wait(0)],
        [wait(0), wait(1), wait(2)],
        [wait(0), wait(1), wait(2, "BROADCAST", seq=87)],
        [wait(0, "ALLGATHER"), wait(1, "ALLGATHER"), wait(2, "ALLGATHER", 4999)],
        [wait(0, "ALLTOALL"), wait(1, "ALLTOALL"), wait(2, "ALLTOALL", 4999)],
        [wait(0), wait(1), wait(2, "SEND", 7)],
        [wait(0), wait(1), wait(2, numel=None)],
        [wait(0, communicator="5"), wait(1, communicator="5"), wait(2, "BROADCAST", communicator="6")],
        [wait(0), wait(1), wait(8, "BROADCAST", fields={"pg_rank": 0})],
        [wait(0), wait(1), wait(2, "BROADCAST", attempt=1)],
    ],
    ids=["nothing", "one", "all alike", "another number", "uneven gather", "all to all",
         "point to point", "cut off", "another group", "an unnamed smaller group",
         "another attempt"],
)  # fmt: skip
def test_what_is_no_mismatch(events):
    assert odd(*events) == []


def test_the_first_wait_of_a_rank_counts():
    assert odd(wait(0), wait(1), wait(2), wait(2, "BROADCAST")) == []


def test_one_rank_of_256_with_nothing_pending_never_entered():
    events = [one for rank in range(256) if rank != 137 for one in failed(rank, 1201, 1202)]
    events += observed(137, 1200, 1200)
    assert named(events) == [("never_entered", 137)]
    event = next(one for one in derive(events) if one.name == "collective.never_entered")
    wanted = {
        "peers": 255,
        "known": 256,
        "share": 1 / 256,
        "op": "ALLREDUCE",
        "seq": 1201,
        "enqueued": 1200,
    }
    assert {name: event.fields[name] for name in wanted} == wanted
    waiting = next(one for one in derive(events) if one.name == "collective.waiting")
    assert waiting.fields["peers"] == 255


def test_timeouts_that_name_no_group_are_of_the_group_whose_counters_are_printed():
    events = [*(wait(rank, seq=1201) for rank in range(3)), *observed(3, 1200, 1200)]
    assert named(events) == [("never_entered", 3)]


def test_all_wait_and_all_have_called():
    events = [one for rank in range(8) for one in failed(rank)]
    (event,) = derive(events, 8)
    assert (event.name, event.rank) == ("collective.all_waiting", None)
    assert event.fields["peers"] == 8


@pytest.mark.parametrize(
    "events",
    [
        [wait(0), wait(1), counters(2, 87, 87)],
        [*failed(0), *failed(1), *observed(2, 87, 87), wait(2, "SEND", seq=4)],
        [*failed(0), *failed(1), *observed(8, 87, 87), wait(8, fields={"pg_rank": 0})],
        [*failed(0), *failed(1), *observed(2, 87, 87), wait(2, fields={"seq": None})],
    ],
    ids=["counters of a time when all was well", "it waits in a receive", "it waits in a smaller group",
         "it waits in a call without number"],
)  # fmt: skip
def test_who_is_not_missing(events):
    assert named(events) == []


@pytest.mark.parametrize(
    "waits",
    [
        [wait(0), wait(1)],
        [wait(0, communicator="5"), wait(1, communicator="5")],
        [wait(0, fields={"pg_rank": 3}), counters(0, 88, 87, 88, group="5"), wait(1), counters(1, 88, 87, 88, group="6")],
    ],
    ids=["counters that cannot be of the group that waits", "another group", "several groups"],
)  # fmt: skip
def test_nothing_pending_in_a_group_that_need_not_be_the_one_that_waits(waits):
    found = [one for one in derive([*waits, *observed(2, 12, 12)]) if one.rank == 2]
    assert [(one.name, one.fields["matched"]) for one in found] == [
        ("collective.never_entered", False)
    ]


def test_timeouts_without_a_name_are_of_the_group_of_the_counters_below_them():
    """Ranks 0 and 2 count alike within two groups of which one is a call ahead."""
    groups = {0: ("5", 88), 1: ("5", 88), 2: ("6", 87), 3: ("6", 87)}
    events = []
    for rank, (group, seq) in groups.items():
        events += [wait(rank, seq=seq), counters(rank, seq, seq - 1, seq, group=group)]
    assert named(events) == []


def test_a_rank_with_an_earlier_call_pending_is_behind():
    events = [one for rank in range(4) for one in failed(rank)] + observed(5, 87, 86)
    assert named(events) == [("behind", 5)]


def test_a_call_that_ended_elsewhere_shows_a_stuck_device():
    events = [one for rank in range(4) for one in failed(rank)]
    events += [wait(5, seq=87), counters(5, 90, 86, 87)]
    assert named(events) == [("stuck_on_device", 5)]


def test_a_broadcast_may_end_before_all_have_come():
    events = [one for rank in range(4) for one in failed(rank)]
    events += [wait(5, "BROADCAST", seq=87), counters(5, 87, 86, 87)]
    assert ("stuck_on_device", 5) not in named(events)


def vote(odd, seen, world_size=16):
    """Return what is said of the first odd call of a group of all ranks, of which some speak."""
    lines = [wait(rank, "BROADCAST" if rank in odd else "ALLREDUCE") for rank in seen]
    found = next(one for one in derive(lines, world_size) if one.name == "collective.odd_call")
    return {key: found.fields[key] for key in ("decided", "alone", "absent", "minority")}


@pytest.mark.parametrize(
    ("odd", "seen", "decided", "absent"),
    [
        ([2], range(16), True, 0),
        ([2], range(12), True, 4),
        ([2], range(8), False, 8),
        ([4], [2, 3, 4], False, 13),
        (range(7), range(16), True, 0),
    ],
    ids=["all speak", "the missing cannot turn it", "they can", "three of many", "seven of 16"],
)
def test_ranks_that_are_not_in_the_input_may_turn_a_vote(odd, seen, decided, absent):
    found = vote(odd, seen)
    assert (found["decided"], found["absent"]) == (decided, absent)


def test_how_many_are_in_the_minority():
    assert vote(range(7), range(16))["minority"] == pytest.approx(7 / 16)
    assert vote([5], range(16))["alone"] is True


def test_a_rank_whose_log_shows_no_such_call_has_no_vote():
    lines = [wait(0, "BROADCAST"), *(wait(rank) for rank in range(1, 5))]
    others = [
        Event(
            name="train.note",
            nature=Nature.PROGRESS,
            file=f"rank{rank}.log",
            line=1,
            end_line=1,
            text="",
            rank=rank,
        )
        for rank in range(5, 16)
    ]
    found = next(one for one in derive([*lines, *others], 16) if one.name == "collective.odd_call")
    assert (found.fields["absent"], found.fields["decided"]) == (0, True)


def test_counters_of_another_group_are_named_with_it_and_the_calls_waited_in_are_counted():
    lines = [line for rank in range(8) if rank != 5 for line in failed(rank)]
    lines += [wait(8, seq=7, communicator="3"), *observed(5, 90, 90)]
    lines[-1].communicator, lines[-1].fields["group"] = "9", "TP"
    (found,) = [one for one in derive(lines) if one.name == "collective.never_entered"]
    wanted = {"matched": False, "enqueued": 90, "completed": 90, "counted": "TP", "places": 2}
    assert {name: found.fields[name] for name in wanted} == wanted
