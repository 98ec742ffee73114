"""What every parser promises: samples that match, safe patterns, needed literals, any text is safe."""

import runpy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.ingest.pattern import problems, proves
from diagnose.ingest.scan import Pieces
from diagnose.parsers import parsers
from diagnose.parsers.base import LineParser
from diagnose.parsers.collect import Collector
from diagnose.parsers.derived import LITERALS
from diagnose.parsers.reader import Reader

PATTERNS = [
    pytest.param(pattern, id=f"{parser.name}-{pattern.event}-{number}")
    for parser in parsers()
    if isinstance(parser, LineParser)
    for number, pattern in enumerate(parser.patterns)
]
READER = Reader(parsers())
SAMPLES = [
    text
    for parser in parsers()
    for text in (
        [pattern.sample for pattern in parser.patterns]
        if isinstance(parser, LineParser)
        else [getattr(parser, "sample", "")]
    )
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_its_sample_is_found(pattern):
    lines = [peel(raw, "a.log", 1, NOBODY) for raw in pattern.sample.split("\n")]
    assert any(pattern.match(line) for line in lines)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_cannot_run_away_and_its_literals_are_needed(pattern):
    assert problems(pattern.regex) == []
    assert pattern.required
    assert proves(pattern.regex, pattern.required)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_says_who_prints_it(pattern):
    assert pattern.source.strip()


def test_names_of_parsers_are_unique():
    names = [parser.name for parser in parsers()]
    assert len(names) == len(set(names))


def test_the_shipped_literals_are_fresh():
    script = Path(__file__).parents[2] / ".ci" / "derive.py"
    table = runpy.run_path(str(script))["table"]()
    namespace: dict = {}
    exec(table, namespace)
    assert namespace["LITERALS"] == LITERALS, "run: python .ci/derive.py"


torn = st.tuples(st.sampled_from(SAMPLES), st.integers(0, 400), st.integers(0, 400)).map(
    lambda cut: cut[0][min(cut[1:]) : max(cut[1:])]
)
texts = st.lists(st.one_of(torn, st.text(max_size=40)), max_size=8).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_any_text_gives_records_within_it_and_no_exception(text):
    import io

    data = text.encode("utf-8", "surrogatepass")
    into = Collector("a.log")
    READER.read("a.log", NOBODY, Pieces(io.BytesIO(data)), into)
    last = data.count(b"\n") + 1
    assert all(1 <= event.line <= event.end_line <= last for event in into.events())
    assert not [note for note in into.notes if "could not be read (" in note]
