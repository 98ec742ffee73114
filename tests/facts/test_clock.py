from datetime import UTC, datetime

import pytest

from diagnose.facts.clock import Clocks, Domain, estimate_offsets
from diagnose.model.event import Clock

from .build import event, points, reading


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


def test_the_steps_of_a_file_tell_the_year_of_its_other_stamps():
    one = yearless("03-01 12:10:00")
    steps = points("loss", [2.1, 2.0], times=[at("03-01 12:00:00"), at("03-01 12:00:05")])
    clocks = Clocks(reading(one, steps))
    assert clocks.iso(one.time, one.clock) == "2026-03-01T12:10:00"


@pytest.mark.parametrize("of_file", [Clock.YEARLESS, Clock.LOCAL])
def test_a_stamp_shows_itself_whether_it_has_a_year(of_file):
    one = yearless("03-01 12:10:00")
    steps = points("loss", [2.1], times=[at("03-01 12:00:00")])
    clocks = Clocks(reading(one, steps))
    step, late = (
        clocks.instant(time, of_file, host=None, file="a.log")
        for time in (steps.times[0], one.time)
    )
    assert clocks.difference(step, late) == (600.0, 0.0)


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


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("03-01 12:00:08", "03-01 12:00:09", 0.0),
        ("03-01 12:00:08", "03-01 12:00:08.500", 1.0),
        ("03-01 12:00:08.250", "03-01 12:00:08.500", 0.0),
    ],
    ids=["both whole", "one whole", "none whole"],
)
def test_a_stamp_of_whole_seconds_beside_a_finer_one_of_its_file(first, second, error):
    assert seconds(yearless(first), yearless(second))[1] == error


def test_a_wait_dated_back_from_a_whole_second_keeps_its_error():
    waits = [
        yearless("03-01 12:10:00", fields={"lasted": lasted}, line=line)
        for line, lasted in ((1, 600.06), (2, 600.01))
    ]
    clocks = Clocks(reading(*waits))
    apart, error = clocks.difference(*(clocks.of(wait, onset=True) for wait in waits))
    assert (round(apart, 2), error) == (0.05, 1.0)
