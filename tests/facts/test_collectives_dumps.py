"""Who is named from dumps, and from dumps beside log lines."""

import random

import pytest
from dumps import CREATED, Group, call, dump, frames, idle, p2p, pickled, waiting

from diagnose.facts.clock import Clocks
from diagnose.facts.collectives import derive
from diagnose.ingest.sniff import identity
from diagnose.model.event import Clock
from diagnose.model.reading import Reading
from diagnose.parsers.document import WholeDocument
from diagnose.parsers.flight_recorder import read

from .test_collectives import failed, observed, wait

RANKS = list(range(8))


def events(dumps):
    """Return what the parser says of dumps by rank."""
    found = []
    for rank, value in dumps.items():
        name = f"nccl_trace_rank_{rank}"
        found += read(WholeDocument(name, identity(name), pickled(value)))
    return found


def derived(dumps, *lines):
    return list(derive([*events(dumps), *lines]))


def named(dumps, *lines):
    return [
        (event.name.removeprefix("collective."), event.rank)
        for event in derived(dumps, *lines)
        if event.name != "collective.waiting"
    ]


def job(**others):
    """Eight ranks that wait in call 41 of the only group, but for those given."""
    dumps = {rank: dump(waiting(RANKS, 41)) for rank in RANKS}
    for name, group in others.items():
        dumps[int(name.removeprefix("rank"))] = dump(group) if isinstance(group, Group) else group
    return dumps


def ahead(seq=42):
    return Group("0", RANKS, seq, seq - 1, calls=[call(seq)])


def behind_on_device():
    return Group("0", RANKS, 42, 40, calls=[call(41), call(42)])


def test_all_wait_in_the_same_call():
    (event,) = derived(job())
    assert (event.name, event.rank, event.host) == ("collective.all_waiting", None, None)
    assert (event.fields["peers"], event.fields["basis"]) == (8, "dumps")


def test_one_rank_has_nothing_pending():
    found = derived(job(rank5=dump(Group("0", RANKS, 40, 40, calls=[
        call(40, state="completed", frames=frames("save /srv/ckpt.py:9"))]))))  # fmt: skip
    event = found[0]
    assert (event.name, event.rank, event.communicator) == ("collective.never_entered", 5, "0")
    wanted = {
        "peers": 7,
        "known": 8,
        "members": 8,
        "share": 1 / 8,
        "enqueued": 40,
        "went": "save /srv/ckpt.py:9",
    }
    assert {name: event.fields[name] for name in wanted} == wanted
    assert (event.time, event.clock) == ((CREATED + 41_000_000) / 1e9, Clock.UTC)
    assert [one.name for one in found[1:]] == ["collective.waiting"]


def test_an_empty_ring_without_counters_is_nothing_pending_as_well():
    assert named(
        job(rank5={"version": "2.1", "pg_config": dump(idle(RANKS, 1))["pg_config"], "entries": []})
    ) == [("never_entered", 5)]


def test_a_call_that_ended_elsewhere():
    dumps = {rank: dump(ahead()) for rank in RANKS} | {5: dump(behind_on_device())}
    found = derived(dumps)[0]
    assert (found.name, found.rank) == ("collective.stuck_on_device", 5)
    assert found.fields["peers"] == 7
    assert (found.fields["seq"], found.fields["shows"]) == (41, "completion")


def test_a_broadcast_does_not_hide_the_later_calls_that_ended_elsewhere():
    stuck = Group("0", RANKS, 42, 40, calls=[call(41, "broadcast"), call(42)])
    dumps = {rank: dump(Group("0", RANKS, 43, 42, calls=[call(43)])) for rank in RANKS[:6]}
    assert named(dumps | {5: dump(stuck)}) == [("stuck_on_device", 5)]


def test_a_stuck_device_comes_before_those_who_are_late_for_it():
    dumps = {rank: dump(ahead()) for rank in RANKS}
    dumps |= {5: dump(behind_on_device()), 6: dump(idle(RANKS, 41))}
    assert named(dumps) == [("stuck_on_device", 5)]


def test_the_root_of_a_broadcast_is_done_before_the_others_come():
    dumps = {rank: dump(waiting(RANKS, 41, "broadcast")) for rank in RANKS}
    dumps |= {0: dump(ahead()), 5: dump(idle(RANKS, 40))}
    assert named(dumps) == [("never_entered", 5)]


@pytest.mark.parametrize("guilty", [0, 3, 7])
@pytest.mark.parametrize("change", [{"op": "broadcast"}, {"size": 7}, {"dtype": "Half"}])
def test_the_minority_called_something_else(guilty, change):
    assert named(job(**{f"rank{guilty}": waiting(RANKS, 41, **change)})) == [("odd_call", guilty)]


def test_two_halves_that_call_different_things():
    dumps = {
        rank: dump(waiting(RANKS, 41, "all_reduce" if rank < 4 else "broadcast")) for rank in RANKS
    }
    (event,) = derived(dumps)
    assert (event.name, event.rank) == ("collective.odd_call", None)
    assert event.fields["calls"] == ["ALLREDUCE of 1024 Float", "BROADCAST of 1024 Float"]


@pytest.mark.parametrize("op", ["all_to_all", "all_gather", "gather", "coalesced"])
def test_uneven_calls_are_no_mismatch(op):
    dumps = {rank: dump(waiting(RANKS, 41, op, size=100 + rank)) for rank in RANKS}
    assert named(dumps) == [("all_waiting", None)]


def two_groups(first, second, **more):
    """A rank in two groups of all ranks; each is ``(enqueued, completed, calls)``."""
    return dump(
        Group("0", RANKS, first[0], first[1], "mesh_tp", first[2]),
        Group("1", RANKS, second[0], second[1], "mesh_dp", second[2]), **more,
    )  # fmt: skip


def test_a_rank_that_began_with_the_other_group():
    usual = two_groups((41, 40, [call(41)]), (9, 9, []))
    other = two_groups((40, 40, []), (10, 9, [call(10, record=41)]))
    dumps = {rank: usual for rank in RANKS} | {6: other}
    assert named(dumps) == [("order_cycle", 6)]


def test_all_called_both_groups_but_in_two_orders():
    usual = two_groups((41, 40, [call(41, record=80)]), (10, 9, [call(10, record=81)]))
    other = two_groups((41, 40, [call(41, record=81)]), (10, 9, [call(10, record=80)]))
    dumps = {rank: usual for rank in RANKS} | {6: other}
    assert named(dumps) == [("order_cycle", 6)]
    halves = {rank: usual if rank < 4 else other for rank in RANKS}
    assert named(halves) == [("order_cycle", None)]


def test_who_waits_for_whom_over_several_groups():
    """Ranks 0 to 3 wait for 4 to 7, of which 4 waits in its own group for 5: 5 stopped."""
    pair = [4, 5]
    front = dump(Group("0", RANKS, 41, 40, calls=[call(41)]))
    dumps = {rank: front for rank in (0, 1, 2, 3, 6, 7)}
    dumps[4] = dump(
        Group("0", RANKS, 40, 40), Group("9", pair, 7, 6, "mesh_tp", [call(7, record=60)])
    )
    dumps[5] = dump(Group("0", RANKS, 40, 40), Group("9", pair, 6, 6, "mesh_tp"))
    assert named(dumps) == [("never_entered", 5)]


def test_numbers_of_sends_and_receives_are_not_compared():
    stages = [0, 1]
    sender = dump(Group("0", stages, 90, 88, "pp", [p2p(89, "send 0->1"), p2p(90, "recv 0<-1")]))
    receiver = dump(Group("0", stages, 50, 49, "pp", [p2p(50, "send 1->0")]))
    assert named({0: sender, 1: receiver}) == [("all_waiting", None)]


def test_a_group_for_a_pipeline_is_one_even_where_its_sends_are_gone():
    for desc in ("PIPELINE_MODEL_PARALLEL_GROUP", "mesh_pp"):
        dumps = {
            0: dump(Group("0", [0, 1], 90, 88, desc), Group("1", [0, 1], 5, 4, "mesh_dp", [call(5)])),
            1: dump(Group("0", [0, 1], 50, 50, desc), Group("1", [0, 1], 5, 4, "mesh_dp", [call(5)])),
        }  # fmt: skip
        assert named(dumps) == [("all_waiting", None)]


def test_a_stage_whose_neighbour_has_nothing_pending():
    dumps = {
        0: dump(Group("0", [0, 1], 90, 89, "pp", [p2p(90, "recv 0<-1")])),
        1: dump(Group("0", [0, 1], 80, 80, "pp")),
    }
    assert named(dumps) == [("never_entered", 1)]


def test_begun_on_most_devices_and_not_on_one():
    dumps = {rank: dump(waiting(RANKS, 41, state="started")) for rank in RANKS}
    assert named(dumps) == [("all_waiting", None)]
    dumps[3] = dump(waiting(RANKS, 41, state="scheduled"))
    assert named(dumps) == [("stuck_on_device", 3)]


def test_what_is_finished_everywhere_is_no_hang():
    done = dump(Group("0", RANKS, 41, 41, calls=[call(41, state="completed")]))
    assert named({rank: done for rank in RANKS}) == [("nobody_waits", None)]


def test_a_job_at_work_has_nobody_who_waits_for_those_who_are_not_done():
    dumps = job(rank2=idle(RANKS, 41), rank5=idle(RANKS, 41))
    (event,) = derived(dumps)
    assert (event.name, event.fields["idle"]) == ("collective.all_waiting", 2)


def test_a_missing_dump_is_missing_evidence_where_another_rank_is_guilty():
    dumps = job(rank5=idle(RANKS, 40))
    del dumps[2]
    assert named(dumps) == [("never_entered", 5)]


def test_a_missing_dump_is_in_question_where_nobody_is_guilty():
    dumps = job()
    del dumps[2]
    (event,) = derived(dumps)
    assert (event.name, event.rank) == ("collective.suspects", None)
    assert (event.fields["ranks"], event.fields["certain"], event.fields["absent"]) == (
        [2],
        True,
        1,
    )


def test_one_witness_is_in_question_together_with_whom_it_waits_for():
    pairs = [[0, 1], [2, 3]]
    dumps = {
        rank: dump(Group("0", [0, 1, 2, 3], 9, 9), Group(str(1 + rank // 2), pairs[rank // 2], 7, 6, "mesh_tp", [call(7)]))
        for rank in (0, 2)
    }  # fmt: skip
    (event,) = derived(dumps)
    assert (event.fields["ranks"], event.fields["certain"]) == ([0, 1, 2, 3], False)


def test_a_dump_is_asked_and_not_the_lines_of_its_rank():
    lines = [wait(5, seq=41, communicator="0")]
    assert named(job(rank5=idle(RANKS, 40)), *lines) == [("never_entered", 5)]


def test_lines_stand_in_for_a_dump_that_is_missing():
    dumps = job()
    del dumps[2]
    assert named(dumps, *observed(2, 40, 40)) == [("never_entered", 2)]
    assert named(dumps, *failed(2, 41)) == [("all_waiting", None)]


def test_dumps_are_of_the_last_attempt_that_stopped():
    lines = [*failed(0, 41), *failed(1, 41)]
    for line in lines:
        line.attempt = 1
    dumps = {rank: value for rank, value in job(rank5=idle(RANKS, 40)).items() if rank != 0}
    found = [(one.name, one.rank, one.attempt) for one in derived(dumps, *lines)]
    assert ("collective.never_entered", 5, 1) in found
    assert {attempt for *_, attempt in found} == {1}


def test_the_newer_of_two_dumps_of_a_rank_counts():
    old = events({5: dump(idle(RANKS, 30))})
    for event in old:
        event.file = "old/nccl_trace_rank_5"
    assert [one.name for one in derive([*old, *events(job())])] == ["collective.all_waiting"]


@pytest.mark.parametrize("guilty", [[3], [0, 6]])
@pytest.mark.parametrize("seed", range(5))
def test_names_of_ranks_do_not_matter(guilty, seed):
    """The answer goes along when the ranks are renumbered and the dumps come in another order."""
    numbers = random.Random(seed).sample(range(100), 8)
    ranks = sorted(numbers)
    dumps = {
        numbers[place]: dump(idle(ranks, 40) if place in guilty else waiting(ranks, 41))
        for place in range(8)
    }
    assert sorted(rank for _, rank in named(dumps)) == sorted(numbers[place] for place in guilty)


def stale(dumps, *lines):
    return {
        (event.rank, event.fields["why"])
        for event in derived(dumps, *lines)
        if event.name == "collective.stale_dump"
    }


def test_dumps_without_the_call_that_their_ranks_failed_in_are_of_another_run():
    lines = [line for rank in RANKS if rank != 2 for line in failed(rank, 900, enqueued=902)]
    lines += observed(2, 899, 899)
    old = job(rank5=idle(RANKS, 40))
    assert {rank for rank, _ in stale(old, *lines)} == set(RANKS)
    assert (2, "others") in stale(old, *lines)
    assert ("never_entered", 2) in named(old, *lines)


def test_a_dump_of_another_run_beside_those_of_this_one():
    lines = [line for rank in RANKS if rank != 2 for line in failed(rank, 41)]
    assert stale(job(rank7=waiting(RANKS, 12)), *lines) == {(7, "counters")}


def test_dumps_of_the_same_stop_are_not_stale():
    lines = [line for rank in RANKS for line in failed(rank, 41, enqueued=41)]
    assert stale(job(), *lines) == set()


@pytest.mark.parametrize(("hours", "found"), [(0, 0), (20, 8)])
def test_dumps_much_older_than_the_wait(hours, found):
    lines = [
        wait(rank, seq=41, time=CREATED / 1e9 + 3600 * hours, clock=Clock.UTC) for rank in RANKS
    ]
    records = [*events(job()), *lines]
    clocks = Clocks(Reading(sources=[], events=records, points=[]))
    names = [one.name for one in derive(records, None, clocks)]
    assert names.count("collective.stale_dump") == found
