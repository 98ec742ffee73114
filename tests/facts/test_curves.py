import math

import pytest

from diagnose.facts.curves import STRETCHES, curve_of, metric_of

from .build import event, points


def at(line, metric="loss", **more):
    return event("train.loss_jump", line=line, fields={"metric": metric, **more})


def test_an_event_names_its_metric_or_is_made_by_a_condition_on_it():
    assert metric_of(at(1)) == "loss"
    assert metric_of(event("series.step_time")) == "step_time"
    assert metric_of(event("torch.oom")) is None
    assert metric_of(event("torch.oom", fields={"metric": 3})) is None


def test_a_short_series_is_kept_as_it_is():
    series = points("step_time", [6.0, 6.1, 6.0, 9.0, 6.2], first=100)
    curve = curve_of(at(4), [series])
    assert curve.values == [6.0, 6.1, 6.0, 9.0, 6.2]
    assert (curve.mark, curve.step, curve.unit) == (3, 103, "s")
    assert (curve.first_step, curve.last_step, curve.low, curve.high) == (100, 104, 6.0, 9.0)


def test_a_long_series_keeps_its_spike_its_lowest_value_and_the_mark():
    values = [2.0 + 0.001 * (place % 7) for place in range(100_000)]
    values[31_234], values[77_777], values[90_001] = 9.0, 0.5, 2.5
    curve = curve_of(at(90_002), [points("loss", values)])
    assert len(curve.values) == STRETCHES
    assert curve.values.count(9.0) == curve.values.count(0.5) == 1
    assert curve.values[curve.mark] == 2.5
    rest = [value for value in curve.values if value not in (9.0, 0.5, 2.5)]
    assert rest == [pytest.approx(2.003, abs=0.001)] * (STRETCHES - 3)


def test_the_median_of_a_stretch_is_drawn_where_nothing_stands_out():
    level = [1.0] * 3000 + [1.2] * 3000
    curve = curve_of(at(3001), [points("loss", level)])
    assert curve.values == [1.0] * 30 + [1.2] * 30
    assert curve.mark == 30


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_null(bad):
    curve = curve_of(at(6), [points("loss", [2.0] * 5 + [bad] * 2)])
    assert curve.values == [2.0] * 5 + [None] * 2
    assert (curve.low, curve.high) == (2.0, 2.0)


def test_a_series_of_nothing_but_nan():
    curve = curve_of(at(1), [points("loss", [math.nan] * 6)])
    assert (curve.values, curve.low, curve.high) == ([None] * 6, None, None)


def test_single_infinities_do_not_hide_a_long_series():
    values = [math.inf if place % 100 == 0 else 1.0 for place in range(60_000)]
    assert None not in curve_of(at(2), [points("grad_norm", values)]).values


def test_levels_that_the_event_states():
    series = [points("loss", [2.0, 2.1, 2.0, 4.0, 4.1])]
    curve = curve_of(at(4, before=2.0, after=4.0), series)
    assert (curve.before, curve.after) == (2.0, 4.0)
    other = curve_of(at(4, before=1000, after=True), series)
    assert (other.before, other.after) == (None, None)


def test_the_series_of_the_writer_is_taken():
    series = [
        points("loss", [float(rank)] * 6, file=f"rank{rank}.log", rank=rank) for rank in (0, 1)
    ]
    found = event("train.loss_jump", file="rank1.log", line=3, rank=1, fields={"metric": "loss"})
    assert curve_of(found, series).values == [1.0] * 6


def test_of_several_writers_in_one_file_the_one_at_that_line():
    series = [
        points("loss", [1.0] * 6, lines=[1, 3, 5, 7, 9, 11], rank=0),
        points("loss", [2.0] * 6, lines=[2, 4, 6, 8, 10, 12], rank=1),
    ]
    assert curve_of(at(4), series).rank == 1


def test_without_the_series_or_with_few_points_there_is_no_curve():
    assert curve_of(at(1), []) is None
    assert curve_of(at(1), [points("loss", [1.0] * 9, file="other.log")]) is None
    assert curve_of(at(1), [points("loss", [1.0] * 4)]) is None


def test_the_long_first_steps_of_a_series_of_times_are_left_out():
    times = [90.0, 12.0, *[6.0] * 30]
    curve = curve_of(at(20, "step_time"), [points("step_time", times)])
    assert (curve.first_step, curve.high, curve.mark) == (3, 6.0, 17)
    marked = curve_of(at(1, "step_time"), [points("step_time", times)])
    assert (marked.first_step, marked.high, marked.mark) == (1, 90.0, 0)
    assert curve_of(at(20), [points("loss", times)]).high == 90.0


def test_no_more_than_a_quarter_is_left_out():
    curve = curve_of(at(10, "step_time"), [points("step_time", [9.0] * 4 + [1.0] * 6)])
    assert curve.first_step == 3


def test_a_series_without_steps():
    curve = curve_of(at(3), [points("loss", [1.0, 1.0, 3.0, 1.0, 1.0], steps=[math.nan] * 5)])
    assert (curve.first_step, curve.last_step, curve.step, curve.mark) == (None, None, None, 2)
