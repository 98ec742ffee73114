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


def test_what_follows_is_found_by_its_name():
    records = Records(reading())
    records.add(iter([event("made")]))
    assert [one.name for one in records.named["made"]] == ["made"]
    records.add([])
    assert set(records.named) == {"made"}
