"""Runs of which there are many: what each one goes on from lies next to its first step."""

import pytest

from diagnose.facts.case import build
from diagnose.facts.losses.continuations import NEAREST
from diagnose.facts.losses.courses import Placed
from diagnose.facts.losses.runs import Series
from diagnose.model.event import Clock, Nature
from diagnose.model.reading import SourceSummary

from .build import event, named, points, reading

START = 1.7e9


def loss(step):
    return 2.4 + 8 / (1 + step / 20)


def log(number, steps, begin=None, metrics=("loss",), **more):
    """Return what a log shows whose steps take a second each, from a moment on."""
    file, count = f"{number:04d}.log", len(steps)
    times = None if begin is None else [START + begin + i for i in range(count)]
    values = [loss(step) for step in steps]
    lines = range(2, count + 2)
    return [
        points(metric, values, steps=steps, times=times, lines=lines, file=file, rank=0, **more)
        for metric in metrics
    ]


def load(number, begin):
    return event(
        "ckpt.load_end", Nature.PROGRESS, file=f"{number:04d}.log", rank=0, time=START + begin
    )


def case_of(logs, loads=(), stamped=True):
    series = [one for parts in logs for one in parts]
    clock = Clock.LOCAL if stamped else Clock.NONE
    files = dict.fromkeys(one.file for one in series)
    sources = [SourceSummary(name=file, rank=0, clock=clock) for file in files]
    return build(reading(*loads, *series, sources=sources))


def rotated(count, *, stamped=True, **more):
    """Return logs of 25 steps that follow one another half a minute apart."""
    return [
        log(i, range(25 * i + 1, 25 * i + 26), 55 * i if stamped else None, **more)
        for i in range(count)
    ]


@pytest.mark.parametrize("count", [4, 2 * NEAREST])
def test_each_of_the_logs_that_follow_one_another_goes_on_from_those_next_to_it(count):
    found = named(case_of(rotated(count)), "train.resume")
    assert [one["step"] for one in found] == [25 * i + 1 for i in range(1, count)]
    for one in found:
        assert one["before"] == pytest.approx(loss(one["step"]), rel=0.1)
    assert {one["start"] for one in found} == {loss(1)}


def test_without_stamps_they_follow_by_their_steps():
    found = named(case_of(rotated(2 * NEAREST, stamped=False), stamped=False), "train.resume")
    assert [one["step"] for one in found] == [25 * i + 1 for i in range(1, 2 * NEAREST)]
    assert {one["start"] for one in found[1:]} == {None}


@pytest.mark.parametrize("stamped", [True, False])
def test_twice_as_many_logs_are_looked_at_twice_as_often(monkeypatch, stamped):
    runs, shown = [], []
    precedes, beside = Placed.precedes, Series.beside

    def noted(one, later):
        runs.append(one)
        return precedes(one, later)

    def counted(*asked):
        shown.extend(found := beside(*asked))
        return found

    monkeypatch.setattr(Placed, "precedes", noted)
    monkeypatch.setattr(Series, "beside", counted)

    def asked(count):
        runs.clear()
        shown.clear()
        case_of(rotated(count, stamped=stamped, metrics=("loss", "learning_rate")), (), stamped)
        return len(runs), len(shown)

    for once, twice in zip(asked(4 * NEAREST), asked(8 * NEAREST), strict=True):
        assert once < twice < 2.2 * once


def test_a_long_run_counts_though_many_short_ones_began_behind_it():
    long = log(0, range(1, 1001), 0)
    short = [log(i, range(300, 410), 1000 + 150 * i) for i in range(1, 2 * NEAREST)]
    last = log(999, range(901, 1100), 20_000)
    found = named(case_of([long, *short, last], [load(999, 19_990)]), "train.resume")
    (level,) = [one for one in found if one["step"] == 901]
    assert level["before"] == pytest.approx(loss(900), rel=0.01)


def test_a_run_that_fails_again_and_again_is_held_against_the_time_before():
    numbers = range(1, 2 * NEAREST)
    again = [log(i, range(300, 310), 1000 + 100 * i) for i in numbers]
    loads = [load(i, 995 + 100 * i) for i in numbers]
    found = named(case_of([log(0, range(1, 310), 0), *again], loads), "train.replay")
    assert [one["first_file"] for one in found] == [f"{i - 1:04d}.log" for i in numbers]
    assert {(one["step"], one["steps"], one["equal"]) for one in found} == {(300, 10, 10)}


def test_of_many_logs_with_the_same_steps_some_tell_what_was_before():
    first = [log(i, range(1, 201), 0) for i in range(3 * NEAREST)]
    last = log(999, range(181, 250), 300)
    found = case_of([*first, last])
    (level,) = named(found, "train.resume")
    (replay,) = named(found, "train.replay")
    assert (level["step"], replay["steps"], replay["equal"]) == (181, 20, 20)
