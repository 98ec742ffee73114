import polars as pl
import pytest

from diagnose.facts import statistics


def noisy(level, count, spread=0.01):
    return [level * (1 + spread * (-1) ** i * (i % 3)) for i in range(count)]


def frame(*groups):
    rows = [(group, float(value)) for group, values in enumerate(groups) for value in values]
    return pl.DataFrame(rows, schema=["group", "value"], orient="row").with_row_index("row")


def scores(*groups):
    return statistics.with_scores(frame(*groups))


def change(values):
    return statistics.changes(frame(values), 20)[0]


def level(stat, values):
    return frame(values).select(statistics.level(stat)).item()


def test_a_spike_stands_out_against_the_points_before_it():
    found = scores([*noisy(2.0, 30), 4.0, *noisy(2.0, 5)])
    top = found.sort("score").row(-1, named=True)
    assert top["row"] == 30
    assert top["score"] > 8
    assert found.filter(pl.col("row") > 30)["score"].abs().max() < 4


def test_scores_need_eight_points_before_them():
    assert len(scores([1.0] * 8)) == 0
    assert scores([1.0] * 9)["row"].to_list() == [8]


def test_groups_are_scored_apart():
    found = scores([1.0] * 20, [50.0] * 20)
    assert found["score"].abs().max() == 0
    assert len(found) == 24


def test_constant_series_has_no_spikes():
    assert scores([5.0] * 50)["score"].abs().max() == 0
    assert len(scores([0.0] * 50)) == 0


def test_noise_has_a_floor():
    assert scores([100.0] * 20 + [100.5])["score"][-1] == pytest.approx(0.5)


@pytest.mark.parametrize("at", [8, 25, 50, 92])
def test_change_is_found_where_it_is(at):
    (found,) = change([*noisy(1.0, at), *noisy(1.5, 100 - at)])
    assert found.row == at
    assert found.value == pytest.approx(0.5, abs=0.03)
    assert found.before == pytest.approx(1.0, abs=0.02)
    assert found.after == pytest.approx(1.5, abs=0.03)


def test_change_of_the_second_group_has_its_row():
    found = statistics.changes(frame([1.0] * 30, [1.0] * 20 + [2.0] * 20), 20)
    assert found[0][0].value == 0
    assert (found[1][0].row, found[1][0].value) == (50, 1.0)


def test_ten_points_are_enough_for_a_change():
    (found,) = change([1.0] * 5 + [2.0] * 5)
    assert (found.row, found.value) == (5, 1.0)
    assert statistics.changes(frame([1.0] * 9), 20) == {}


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(noisy(1.0, 60), id="noise"),
        pytest.param([*noisy(1.0, 30), 9.0, 9.0, *noisy(1.0, 30)], id="short spike"),
        pytest.param([0.0] * 40, id="zero"),
    ],
)
def test_no_change(values):
    (found,) = change(values)
    assert found.value == 0.0


def test_rise_and_fall_are_told_apart():
    found = change(noisy(1.0, 30) + noisy(3.0, 30) + noisy(2.0, 30))
    assert [round(one.value, 1) for one in found] == [2.0, -0.3]


def test_before_after_counts_in_deviations():
    before = [2.0, 2.1, 1.9, 2.05, 1.95]
    found = statistics.before_after(before, [3.0, 3.1, 2.9])
    assert (found.value, found.before, found.after) == (pytest.approx(20.0), 2.0, 3.0)
    assert statistics.before_after(before[:4], before) is None
    assert statistics.before_after(before, before[:2]) is None
    assert statistics.before_after([0.0] * 5, [0.0] * 3).value == 0
    assert statistics.before_after([0.0] * 5, [1.0] * 3).value == float("inf")


def test_levels_and_spread():
    values = [float(i) for i in range(1, 21)]
    assert level("median", values) == 10.5
    assert level("p95", values) == pytest.approx(19.05)
    assert level("cv", values) == pytest.approx(1.4826 * 5 / 10.5)
    assert level("cv", [0.0] * 20) is None
    assert statistics.slope(values) == pytest.approx(19 / 10.5)
    assert statistics.slope(values[:7]) is statistics.slope([0.0] * 9) is None


def test_trend_of_a_long_series_ignores_spikes():
    values = [100 + 0.01 * i for i in range(1000)]
    values[500] = 900.0
    assert statistics.slope(values) == pytest.approx(9.99 / 105, rel=0.02)
