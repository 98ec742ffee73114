"""Saves and how long they block, saves without an end, and losses across a load."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def saving(name, line, **fields):
    more = {key: fields.pop(key) for key in ("time", "rank", "file") if key in fields}
    return event(f"ckpt.{name}", Nature.PROGRESS, line=line, fields=fields, **more)


def named(case, name):
    return [one.fields for one in case.events if one.name == name]


def saves(*records):
    return [one["lasted"] for one in named(build(reading(*records)), "ckpt.save")]


def test_a_stated_time_is_taken():
    assert saves(saving("save_start", 1), saving("save_end", 2, lasted=394.0)) == [394.0]


def test_stamps_of_start_and_end_give_it_else():
    start, end = saving("save_start", 1, step=20, time=100.0), saving("save_end", 2, step=20, time=340.0)  # fmt: skip
    assert saves(start, end) == [240.0]


def test_an_end_of_another_step_is_no_pair():
    start, end = saving("save_start", 1, step=10, time=100.0), saving("save_end", 2, step=20, time=340.0)  # fmt: skip
    assert saves(start, end) == []


@pytest.mark.parametrize(
    "records",
    [
        (saving("save_start", 1, step=5, time=0.0), saving("save_scheduled", 2, step=5, time=2.0),
         saving("save_end", 3, step=5, time=400.0)),
        (saving("save_end", 1, part="async", lasted=400.0),),
        (saving("save_end", 1),),
        (),
    ],
    ids=["scheduled", "background part", "no time", "nothing"],
)  # fmt: skip
def test_what_training_did_not_wait_for_is_left_out(records):
    assert saves(*records) == []


def test_two_records_of_one_save_count_once():
    assert saves(saving("save_end", 7, lasted=300.0), saving("save_end", 7, lasted=300.0)) == [
        300.0
    ]


def test_a_save_is_measured_in_steps_and_as_a_share():
    case = build(
        reading(
            points("step_time", [2.0, 2.0, 2.0], steps=[80, 90, 100]),
            saving("save_end", 10, step=100, lasted=50.0),
            saving("save_end", 20, step=200, lasted=50.0),
        )
    )
    first, second = named(case, "ckpt.save")
    assert first["steps"] == 25 and first["share"] is None
    assert second["share"] == pytest.approx(0.2)


def test_a_start_alone_lasts_until_the_next_step():
    series = points("loss", [2.0] * 6, times=[0, 10, 20, 30, 340, 350], lines=[1, 2, 3, 4, 6, 7])
    assert saves(series, saving("save_start", 5, time=30.0)) == [300.0]


def test_without_stamps_the_step_behind_a_start_says_how_long_it_was():
    starts = [event("ckpt.save_start", Nature.PROGRESS, line=line) for line in (4, 6)]
    times = points("step_time", [2.0, 2.1, 2.0, 200.0, 2.0, 80.0], lines=[1, 2, 3, 5, 6, 8])
    saves = named(build(reading(*starts, times)), "ckpt.save")
    assert [save["lasted"] for save in saves] == pytest.approx([197.95, 77.95])


def test_an_evaluation_in_the_gap_says_nothing_of_the_save():
    series = points("loss", [2.0] * 6, times=[0, 10, 20, 30, 340, 350], lines=[1, 2, 3, 4, 7, 8])
    evaluation = points("validation_loss", [2.1], lines=[6])
    assert saves(series, evaluation, saving("save_start", 5, time=30.0)) == []


def test_an_open_save_has_neither_end_nor_step_behind_it():
    start = saving("save_start", 5, step=100)
    assert named(build(reading(start)), "ckpt.save_open") == [
        {"step": 100, "path": None, "lead": None}
    ]
    later = points("loss", [2.0], lines=[6])
    assert not named(build(reading(start, later)), "ckpt.save_open")
    assert not named(build(reading(start, saving("save_end", 6, step=100))), "ckpt.save_open")


def resumed(before, after, *, first, **where):
    load = event("ckpt.load_end", Nature.PROGRESS, line=100, file="b.log", **where)
    steps = [10 * i for i in range(1, len(before) + 1)]
    old = points("loss", before, steps=steps, file="a.log", **where)
    new = points(
        "loss",
        after,
        steps=[first + 10 * i for i in range(len(after))],
        lines=range(101, 101 + len(after)),
        file="b.log",
        **where,
    )
    return build(reading(load, old, new))


def test_steps_done_again_are_compared():
    (replay,) = named(resumed([2.0, 2.0, 2.0], [2.2, 1.8], first=20), "train.replay")
    assert (replay["step"], replay["steps"]) == (20, 2)
    assert replay["difference"] == pytest.approx(0.1)
    assert replay["change"] == pytest.approx(0.0)


def test_the_level_across_a_load():
    (resume,) = named(resumed([2.0, 2.01] * 5, [2.6] * 8, first=110), "train.resume")
    assert resume["change"] == pytest.approx(0.3, abs=0.01)
    assert resume["score"] > 5
    assert not named(resumed([2.0, 2.01] * 5, [2.6] * 4, first=110), "train.resume")


def test_another_ranks_loss_is_its_own():
    load = event("ckpt.load_end", Nature.PROGRESS, line=1, rank=0)
    mine = points("loss", [2.0], steps=[6], lines=[2], rank=0)
    other = points("loss", [2.5], steps=[6], file="b.log", rank=1)
    assert not named(build(reading(load, mine, other)), "train.replay")


def test_a_file_that_begins_with_the_same_step_may_be_of_the_same_run():
    load = event("ckpt.load_end", Nature.PROGRESS, line=1)
    mine = points("loss", [2.0], steps=[6], lines=[2])
    other = points("loss", [2.5], steps=[6], file="b.log")
    assert not named(build(reading(load, mine, other)), "train.replay")


def test_an_open_save_as_old_as_the_collective_that_timed_out():
    start = saving("save_start", 5, time=1000.0)
    late = event("c10d.watchdog_timeout", time=1602.0, fields={"lasted": 600.0, "timeout": 600.0})
    (found,) = named(build(reading(start, late)), "ckpt.save_open")
    assert found["lead"] == 2.0
