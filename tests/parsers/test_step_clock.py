import pytest

from diagnose.parsers.step_clock import confirmed_unit


def readings(time, count=6, every=10, seconds=40.0):
    return [(1000.0 + place * seconds, 100.0 + place * every, time) for place in range(count)]


@pytest.mark.parametrize(("time", "unit"), [(4.0, 1.0), (4.4, 1.0), (4000.0, 1e-3)])
def test_times_that_add_up_to_what_passed_have_a_unit(time, unit):
    assert confirmed_unit(readings(time)) == unit


@pytest.mark.parametrize("time", [40.0, 0.4, 400.0, 7.0, 0.0])
def test_times_over_another_stretch_have_none(time):
    assert confirmed_unit(readings(time)) is None


def test_few_lines_a_short_time_and_no_stamps_tell_nothing():
    assert confirmed_unit(readings(4.0, count=4)) is None
    assert confirmed_unit(readings(0.1, seconds=1.0)) is None
    assert confirmed_unit([(None, step, time) for _, step, time in readings(4.0)]) is None
    assert confirmed_unit([]) is None
