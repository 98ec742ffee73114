"""Memory stays bounded and counts stay exact."""

import math
from array import array
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.model.event import Event, Line, Measurement, Nature, Rows
from diagnose.parsers import collect
from diagnose.parsers.collect import Collector
from diagnose.parsers.kept import events_of, missing_of, series_of


def event(line, name="a.b", **more):
    return Event(
        name=name, nature=Nature.ERROR, file="a.log", line=line, end_line=line, text="x", **more
    )


def measurement(line, step, **values):
    return Measurement(Line("a.log", line, "x", "x"), step, values)


def test_the_first_records_and_the_newest_are_kept_and_all_are_counted():
    into = Collector("a.log")
    for line in range(1, 1001):
        into.add(event(line))
    kept = events_of(into.records())
    assert len(kept) == collect.KEPT + 1
    assert [one.line for one in (kept[0], kept[-1])] == [1, 1000]
    assert sum(one.count for one in kept) == 1000
    assert missing_of("a.log", into.records(), into.notes) == [
        {"file": "a.log", "what": "a.b: counted, not kept", "count": 1000 - collect.KEPT - 1}
    ]


def test_writers_do_not_crowd_each_other_out():
    into = Collector("a.log")
    for line in range(1, 1001):
        into.add(event(line, pid=1))
    into.add(event(2000, pid=2))
    into.add(event(2001, fields={"name": "NCCL_ALGO"}))
    assert {2000, 2001} <= {one.line for one in events_of(into.records())}


def test_a_crowd_of_writers_keeps_fewer_each(monkeypatch):
    monkeypatch.setattr(collect, "CROWD", 10)
    into = Collector("a.log")
    for line in range(100):
        into.add(event(line + 1, rank=line // 10))
    kept = events_of(into.records())
    assert sum(one.count for one in kept) == 100
    assert len([one for one in kept if one.rank == 9]) <= collect.KEPT_IN_CROWD + 1


def test_chunks_join_as_if_they_were_one():
    whole, first, second = Collector("a.log"), Collector("a.log"), Collector("a.log")
    for line in range(1, 301):
        whole.add(event(line))
        whole.add(measurement(line, line, loss=1.0 * line))
        part, at = (first, line) if line <= 140 else (second, line - 140)
        part.add(event(at))
        part.add(measurement(at, line, loss=1.0 * line))
    joined = Collector("a.log")
    joined.absorb(first.records(), {})
    joined.absorb(second.records(), {"cut": 1}, 140)
    assert sum(one.count for one in events_of(joined.records())) == 300
    assert repr(series_of("a.log", joined.records())) == repr(
        series_of("a.log", whole.records())
    )  # NaN equals nothing
    assert joined.notes == {"cut": 1}


def test_series_are_thinned_but_what_is_no_number_stays(monkeypatch):
    monkeypatch.setattr(collect, "POINTS", 100)
    into = Collector("a.log")
    for step in range(1, 1001):
        into.add(measurement(step, step, loss=math.nan if step == 777 else 1.0))
    [loss] = series_of("a.log", into.records())
    assert len(loss.values) < 100
    assert len(loss.steps) == len(loss.times) == len(loss.values) == len(loss.lines)
    assert loss.steps[-1] > 950
    assert any("loss" in note["what"] for note in missing_of("a.log", into.records(), into.notes))


def measured(number, **values):
    return Measurement(Line("a.log", number, "", "", rank=3), float(number), values)


def test_metrics_that_come_together_share_their_columns():
    into = Collector("a.log")
    for number in (1, 2):
        into.add(measured(number, loss=2.0, step_time=0.5))
    first, second = series_of("a.log", into.records())
    assert first.steps is second.steps
    assert (list(first.values), list(second.values)) == ([2.0, 2.0], [0.5, 0.5])


def test_a_metric_that_is_missing_now_and_then_stays_in_order():
    into = Collector("a.log")
    for number in range(1, 6):
        more = {} if number == 3 else {"loss": float(number)}
        into.add(measured(number, step_time=0.5, **more))
    by_metric = {one.metric: one for one in series_of("a.log", into.records())}
    assert list(by_metric["step_time"].lines) == [1, 2, 3, 4, 5]
    assert list(by_metric["loss"].lines) == [1, 2, 4, 5]


def rows(first, count):
    numbers = range(first, first + count)
    values = {"loss": array("d", numbers), "step_time": array("d", [0.5] * count)}
    steps, times, lines = array("d", numbers), array("d", [math.nan] * count), array("q", numbers)
    return Rows(Line("a.log", first, "", "", rank=3), steps, times, lines, values)


def test_rows_say_what_single_measurements_say():
    one_by_one, together = Collector("a.log"), Collector("a.log")
    for number in range(1, 38):
        one_by_one.add(measured(number, loss=float(number), step_time=0.5))
    together.add(rows(1, 30))
    together.add(rows(31, 7))
    assert repr(series_of("a.log", together.records())) == repr(
        series_of("a.log", one_by_one.records())
    )


def test_rows_are_thinned_evenly(monkeypatch):
    monkeypatch.setattr(collect, "POINTS", 40)
    into = Collector("a.log")
    for first, count in ((1, 30), (31, 7), (38, 3), (41, 60), (101, 300)):
        into.add(rows(first, count))
    for one in series_of("a.log", into.records()):
        assert 5 < len(one.lines) < 40
        assert list(one.steps) == list(one.lines) == sorted(one.lines)
        assert max(b - a for a, b in pairwise(one.lines)) <= 32
    assert any("loss" in note["what"] for note in missing_of("a.log", into.records(), into.notes))


def test_series_come_in_the_order_of_lines():
    into = Collector("a.log")
    for number in (3, 1, 2):
        into.add(measured(number, loss=float(number)))
    assert list(series_of("a.log", into.records())[0].values) == [1.0, 2.0, 3.0]


def test_of_each_adapter_a_reading_is_kept_however_many_hosts_there_are():
    into = Collector("ibstat.txt")
    hosts, adapters = 3_000, 8
    for number in range(hosts * adapters):
        who = {"host": f"node-{number // adapters:04d}", "nic": f"mlx5_{number % adapters}"}
        into.add(replace(event(number, name="ib.port", **who), nature=Nature.MEASUREMENT))
    assert len({(one.host, one.nic) for one in events_of(into.records())}) == hosts * adapters


def test_of_each_pair_of_ends_a_test_is_kept_however_many_pairs_one_host_has():
    into = Collector("all.log")
    for line in range(1, 1001):
        fields = {"local": f"node-{line}", "remote": "node-0"}
        into.add(replace(event(line, fields=fields), nature=Nature.MEASUREMENT))
    assert len(events_of(into.records())) == 1000


def copies(records):
    """Return records whose counts are their own."""
    return [replace(record) if isinstance(record, Event) else record for record in records]


def in_parts(records, cuts):
    """Return the collector of the whole, and one that was given the records in chunks."""
    whole, joined = Collector("a.log"), Collector("a.log")
    for record in copies(records):
        whole.add(record)
    edges = [0, *sorted(cuts), len(records)]
    for start, end in pairwise(edges):
        chunk = Collector("a.log", thins=False)
        for record in copies(records[start:end]):
            chunk.add(record)
        joined.absorb(chunk.records(), chunk.notes)
    return whole, joined


def stated(into):
    records = list(into.records())
    series = repr(series_of("a.log", records))  # NaN equals nothing
    return events_of(records), series, missing_of("a.log", records, into.notes)


def same(whole, joined):
    return stated(whole) == stated(joined)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=150),
    st.lists(st.integers(0, 150), max_size=5),
    st.integers(1, 40),
)
def test_of_chunks_the_same_events_are_kept_as_of_the_whole(drawn, cuts, crowd):
    records = [
        event(line, rank=rank, fields={"name": f"V{name}"})
        for line, (rank, name) in enumerate(drawn, 1)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "KEPT", 5)
        patch.setattr(collect, "CROWD", crowd)
        assert same(*in_parts(records, [min(cut, len(records)) for cut in cuts]))


@given(
    st.lists(st.sampled_from([1.0, 2.0, math.nan, math.inf]), min_size=1, max_size=300),
    st.lists(st.integers(0, 300), max_size=5),
    st.integers(0, 8),
)
def test_of_chunks_series_are_thinned_as_of_the_whole(values, cuts, strange):
    records = [measured(line, loss=value, step_time=0.5) for line, value in enumerate(values, 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "POINTS", 20)
        patch.setattr(collect, "STRANGE", strange)
        whole, joined = in_parts(records, [min(cut, len(records)) for cut in cuts])
        assert same(whole, joined)
        assert all(len(one.lines) < 20 for one in series_of("a.log", whole.records()))


def test_what_is_no_number_stays_through_every_halving(monkeypatch):
    monkeypatch.setattr(collect, "POINTS", 40)
    into = Collector("a.log")
    into.add(rows(1, 30))
    into.add(measured(31, loss=math.nan, step_time=0.5))
    for first in range(32, 500, 10):
        into.add(rows(first, 10))
    loss = next(one for one in series_of("a.log", into.records()) if one.metric == "loss")
    assert 31 in loss.lines
    assert [line for line in loss.lines if line != 31] == [*range(16, 502, 16)]
