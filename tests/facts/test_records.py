"""Events by name stay in the order of sources and lines, whatever is added."""

from diagnose.facts.records import Records
from diagnose.model.reading import SourceSummary

from .build import event, reading


def test_added_events_take_their_place():
    sources = [SourceSummary(name="b.log"), SourceSummary(name="a.log")]
    read = reading(event("x", file="b.log", line=5), event("x", line=2), sources=sources)
    records = Records(read)
    records.add([event("y", line=1), event("x", file="b.log", line=9), event("x", line=1)])
    places = [(one.name, one.file, one.line) for one in read.events]
    assert places == [
        ("x", "b.log", 5), ("x", "b.log", 9), ("y", "a.log", 1), ("x", "a.log", 1), ("x", "a.log", 2)
    ]  # fmt: skip
    for name in ("x", "y"):
        assert records.named[name] == [one for one in read.events if one.name == name]


def test_events_of_several_names_come_in_one_order():
    read = reading(
        *(event(name, line=line) for line, name in enumerate(("a.x", "b", "a.y", "a.x")))
    )
    records = Records(read)
    assert [one.line for one in records.among({"a.x", "b", "c"})] == [0, 1, 3]
    assert [one.line for one in records.among({"a.x", "c"})] == [0, 3]
    assert [one.line for one in records.beginning("a.", "c")] == [0, 2, 3]
    assert list(records.among({"c"})) == list(records.beginning("c")) == []


def test_an_added_event_comes_behind_those_of_its_line():
    read = reading(event("x", line=1), event("x", line=2))
    records = Records(read)
    records.add([event("y", line=2), event("x", line=1), event("y", line=1)])
    assert [(one.line, one.name) for one in read.events] == [
        (1, "x"), (1, "x"), (1, "y"), (2, "x"), (2, "y")
    ]  # fmt: skip


def test_what_follows_is_found_by_its_name():
    records = Records(reading())
    records.add(iter([event("made")]))
    assert [one.name for one in records.named["made"]] == ["made"]
    records.add([])
    assert set(records.named) == {"made"}
