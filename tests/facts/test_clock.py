from datetime import UTC, datetime

import pytest

from diagnose.facts.clock import Clocks, Domain, estimate_offsets
from diagnose.model.event import Clock

from .build import event, reading


def at(text, year=2026):
    return datetime.fromisoformat(f"{year}-{text}").replace(tzinfo=UTC).timestamp()


def yearless(text, **more):
    return event(time=at(text, 1972), clock=Clock.YEARLESS, **more)


def seconds(a, b, *others):
    clocks = Clocks(reading(a, b, *others))
    return clocks.difference(clocks.of(a), clocks.of(b))


def test_yearless_stamps_take_the_year_of_dated_ones():
    one = yearless("03-01 12:00:00")
    clocks = Clocks(reading(one, event(time=at("03-01 12:00:05"))))
    assert clocks.iso(one.time, one.clock) == "2026-03-01T12:00:00"


@pytest.mark.parametrize(
    ("stamp", "dated", "year"),
    [("12-31 23:59:50", "01-01 00:00:10", 2025), ("01-01 00:00:10", "12-31 23:59:50", 2027)],
)
def test_yearless_stamp_on_the_other_side_of_new_year(stamp, dated, year):
    one = yearless(stamp)
    clocks = Clocks(reading(one, event(time=at(dated))))
    assert clocks.iso(one.time, one.clock).startswith(str(year))


def test_one_odd_date_does_not_set_the_year():
    one = yearless("03-01 12:00:00")
    build_date = event(time=at("01-01 00:00:00", 2019))
    run = [event(time=at(f"03-01 12:00:0{i}")) for i in range(3)]
    assert Clocks(reading(one, build_date, *run)).iso(one.time, one.clock).startswith("2026")


def test_senseless_stamps_set_no_year():
    one = yearless("03-01 12:00:00")
    clocks = Clocks(reading(one, event(time=1e18, clock=Clock.UTC), event(time=-5e12)))
    assert clocks.iso(one.time, one.clock) is None


def test_leap_day_without_leap_year_nearby():
    one = yearless("02-29 12:00:00")
    clocks = Clocks(reading(one, event(time=at("03-01 12:00:00", 2028))))
    assert clocks.iso(one.time, one.clock) == "2028-02-29T12:00:00"


def test_without_a_year_stamps_order_each_other_over_new_year_but_have_no_date():
    before, after = yearless("12-31 23:59:50"), yearless("01-01 00:00:10", line=2)
    clocks = Clocks(reading(before, after))
    assert clocks.iso(before.time, before.clock) is None
    assert seconds(before, after) == (20.0, 0.0)


def test_uptime_is_of_one_host():
    a = event(time=100.0, clock=Clock.UPTIME, host="node-01")
    assert seconds(a, event(time=101.0, clock=Clock.UPTIME, host="node-01")) == (1.0, 0.0)
    assert seconds(a, event(time=101.0, clock=Clock.UPTIME, host="node-02")) is None
    assert seconds(a, event(time=at("03-01 12:00:00"), host="node-01")) is None


def test_daytime_wraps_at_midnight():
    a = event(time=86_390.0, clock=Clock.DAYTIME)
    assert seconds(a, event(time=5.0, clock=Clock.DAYTIME, line=2)) == (15.0, 0.0)


def test_stamps_with_and_without_zone_compare_closely_only_if_they_end_together():
    local = event(time=at("03-01 12:00:00"), host="node-01")
    near = event(time=at("03-01 12:00:30"), clock=Clock.UTC, host="node-01")
    far = event(time=at("03-01 20:00:30"), clock=Clock.UTC, host="node-01")
    assert seconds(local, near) == (30.0, 2.0)
    assert seconds(local, far) == (28_830.0, 14 * 3600.0)  # any zone is possible


def test_no_stamp_is_no_moment():
    assert Clocks(reading()).of(event()) is None
    assert Clocks(reading()).iso(None, Clock.UTC) is None


def test_offsets_are_medians_against_the_clock_seen_most():
    a, b, c = (Domain(place, "local") for place in ("node-01", "node-02", "node-03"))
    barriers = [
        {a: t, b: t + 30 + noise} for t, noise in [(0, 0), (10, 0.2), (20, -0.1), (30, 9.0)]
    ]
    offsets = estimate_offsets([*barriers, {a: 40.0, c: 35.0}, {c: 1.0}])
    assert offsets[a].seconds == 0
    assert offsets[b].seconds == pytest.approx(30.1)
    assert offsets[b].sigma < 1
    assert offsets[c].seconds == -5
    assert estimate_offsets([{a: 1.0}]) == {}
