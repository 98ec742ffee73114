"""The stamps at the two ends of a source."""

import pytest

from diagnose.model.event import Clock
from diagnose.model.reading import SourceSummary
from diagnose.parsers.edges import BYTES, Edges

TEXT = b"hello\n2026-01-02 10:00:00 a\nb\n2026-01-02 11:00:00 c\nbye\n"


def stated(*chunks):
    whole = Edges()
    for data in chunks:
        whole.append(Edges(data[:BYTES], data[-BYTES:]))
    summary = SourceSummary(name="a.log")
    whole.state(summary)
    return summary


def test_the_stamps_nearest_to_the_ends_are_kept():
    summary = stated(TEXT)
    assert summary.last_time - summary.first_time == 3600


@pytest.mark.parametrize(
    "text",
    [
        b"2026-01-02 10:00:00 step 1\nE0102 10:10:00.500000 77 api.py:869] failed\n",
        b"E0102 10:10:00.500000 77 api.py:869] failed\n2026-01-02 10:00:00 step 1\n",
    ],
)
def test_of_a_source_with_two_ways_of_stamps_the_fuller_one_counts(text):
    assert stated(text).clock is Clock.LOCAL


@pytest.mark.parametrize("cut", range(len(TEXT) + 1))
def test_of_two_chunks_the_ends_are_those_of_the_whole(cut):
    assert stated(TEXT[:cut], TEXT[cut:]) == stated(TEXT)


def test_a_stamp_far_from_the_end_does_not_count():
    quiet = b"no stamp\n" * 20
    summary = stated(TEXT, quiet)
    assert (summary.first_time is None, summary.last_time) == (False, None)
