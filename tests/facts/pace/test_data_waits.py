"""Shares of steps that wait for data, stalls in short series, and the wait of each epoch."""

import pytest

from diagnose.facts.case import build

from ..build import named, points, reading


def waits(shares):
    values = [0.4 / (1 - share) for share in shares]
    series = (
        points("step_time", values),
        points("data_time", [value * share for value, share in zip(values, shares, strict=True)]),
    )
    return named(build(reading(*series)), "train.data_stalls")


def test_a_stall_in_a_short_series():
    (stall,) = waits([0.01, 0.02, 0.01, 0.95, 0.01, 0.02])
    assert (stall["stalls"], stall["points"], stall["at_start"]) == (1, 6, False)
    assert stall["worst"] == pytest.approx(0.95)
    assert stall["wait"] == pytest.approx(7.6)
    assert 0.7 < stall["share"] < 0.8


def test_a_stall_of_the_first_step_alone_is_marked():
    assert [one["at_start"] for one in waits([0.95, 0.01, 0.02, 0.01, 0.01])] == [True]
    assert [one["at_start"] for one in waits([0.95, 0.01, 0.02, 0.01, 0.9])] == [False]


@pytest.mark.parametrize("shares", [[0.01] * 6, [0.95] * 4, [0.95] * 30])
def test_no_stall_or_a_series_of_another_length(shares):
    assert not waits(shares)


def test_the_wait_at_the_start_of_every_epoch():
    def found(waits, *, steps=(0, 20, 40, 60, 80, 100), epochs=(0, 0, 1, 1, 2, 2)):
        place = {"steps": list(steps)}
        series = (
            points("data_time", waits, **place),
            points("step_time", [wait + 0.4 for wait in waits], **place),
            points("epoch", list(epochs), **place),
        )
        return named(build(reading(*series)), "train.epoch_start_wait")

    (start,) = found([30, 0.1, 24, 0.1, 24, 0.1])
    assert (start["wait"], start["steps"], start["epochs"]) == (24, 40, 2)
    assert start["rest"] == pytest.approx(20)
    assert start["share"] == pytest.approx(24 / 44)
    assert not found([30, 0.1, 24, 0.1], steps=(0, 20, 40, 60), epochs=(0, 0, 1, 1))


def test_the_share_of_waiting_joins_the_line_or_the_step():
    same_line = build(reading(points("data_time", [0.5, 0.1]), points("step_time", [1.0, 1.0])))
    assert list(same_line.series("data_share")[0].values) == [0.5, 0.1]
    timers = build(
        reading(
            points("data_time", [0.5], steps=[20], lines=[9]),
            points("step_time", [2.0, 2.0], steps=[10, 20], lines=[1, 8]),
        )
    )
    assert list(timers.series("data_share")[0].values) == [0.25]


def test_the_first_batch_of_an_epoch_does_not_count():
    case = build(
        reading(
            points("data_time", [0.1, 9.0, 0.1], steps=[90, 100, 110]),
            points("step_time", [1.0, 10.0, 1.0], steps=[90, 100, 110]),
            points("epoch", [0, 1, 1], steps=[90, 100, 110]),
        )
    )
    assert list(case.series("data_share")[0].values) == [0.1, 0.1]


def test_waiting_without_a_step_time_is_no_share():
    assert not build(reading(points("data_time", [0.5]))).series("data_share")
