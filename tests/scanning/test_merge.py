"""Parts of sources as one reading."""

import pytest

from diagnose.model.event import Event, Nature
from diagnose.model.reading import SourceSummary
from diagnose.parsers.collect import Collector
from diagnose.scanning import merge
from diagnose.scanning.merge import merged
from diagnose.scanning.units import Part


def part(name, *, lines=10, last=None, skipped=None, at=()):
    events = [
        Event(name="a.b", nature=Nature.ERROR, file=name, line=line, end_line=line, text="")
        for line in at
    ]
    summary = SourceSummary(name=name, lines=lines, last_time=last)
    return Part(summary, events, skipped=skipped)


def test_what_an_archive_holds_twice_is_one_source():
    parts = [part("x", at=[1]), part("y", at=[2]), part("x", at=[3], last=7.0)]
    reading, _ = merged(parts)
    assert [(one.name, one.lines) for one in reading.sources] == [("x", 20), ("y", 10)]
    assert [(one.file, one.line) for one in reading.events] == [("x", 1), ("x", 13), ("y", 2)]
    assert reading.sources[0].last_time == 7.0


def test_a_source_that_was_not_read_to_its_end_has_no_last_stamp():
    cut, behind = part("x", last=7.0), part("x", skipped="corrupt")
    reading, _ = merged([cut, part("y", last=8.0), behind])
    assert [one.last_time for one in reading.sources] == [None, 8.0]
    assert [one["file"] for one in reading.truncated] == ["x"]
    assert not reading.skipped


def test_what_was_never_read_is_skipped():
    reading, _ = merged([part("x", skipped="corrupt"), part("y")])
    assert reading.skipped == [{"file": "x", "reason": "corrupt"}]
    assert [one.name for one in reading.sources] == ["y"]


def test_sources_are_collected_one_at_a_time(monkeypatch):
    alive = []

    class Counted(Collector):
        def __init__(self, file):
            super().__init__(file)
            alive.append(+1)

        def __del__(self):
            alive.append(-1)

    monkeypatch.setattr(merge, "Collector", Counted)
    reading, _ = merged(part(f"{number}", at=[1, 2]) for number in range(20))
    most = max(sum(alive[:end]) for end in range(len(alive) + 1))
    assert len(reading.events) == 40
    assert most <= 2


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_an_archive_that_breaks_behind_a_member_was_read_in_part(order):
    parts = [part("x.tar!y.tar!a.log", at=[1]), part("x.tar!y.tar", skipped="cut off")]
    reading, _ = merged(parts[at] for at in order)
    assert [one["file"] for one in reading.truncated] == ["x.tar!y.tar"]
    assert not reading.skipped
