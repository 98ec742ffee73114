"""Times of saves that stand among the numbers of a step."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from ..build import event, named, points, reading


def saves(*records):
    return named(build(reading(*records)), "ckpt.save")


def timed(values, steps, **more):
    return points("checkpoint_time", values, steps=steps, lines=[int(one) for one in steps], **more)


STEPS = points("step_time", [160.0] * 30)


def test_a_save_is_measured_in_steps_and_as_a_share():
    first, second = saves(STEPS, timed([600.0, 640.0], [10, 20]))
    assert (first["step"], first["lasted"], first["share"]) == (10, 600, None)
    assert second["steps"] == pytest.approx(4)
    assert second["share"] == pytest.approx(640 / (640 + 1600))


def test_a_time_that_is_repeated_is_that_of_the_last_save():
    assert [one["step"] for one in saves(STEPS, timed([0, 600, 600, 600, 610], range(9, 14)))] == [10, 13]  # fmt: skip


def test_of_several_ranks_the_slowest_counts():
    (save,) = saves(STEPS, timed([200.0], [10], rank=0), timed([600.0], [10], rank=1, file="b.log"))
    assert save["lasted"] == 600


def test_messages_of_saves_count_before_the_numbers():
    ended = event("ckpt.save_end", Nature.PROGRESS, line=10, fields={"lasted": 601.0})
    assert [one["lasted"] for one in saves(STEPS, timed([600.0], [10]), ended)] == [601.0]
