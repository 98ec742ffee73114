import pytest
from dialects import events, measured, records

from diagnose.parsers.serving import speculation as dialect

V1 = (
    "INFO 01-05 10:00:10 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: {length}, "
    "Accepted throughput: 80.10 tokens/s, Drafted throughput: 183.40 tokens/s, Accepted: 801 tokens, "
    "Drafted: 1834 tokens, Per-position acceptance rate: 0.830, 0.412, "
    "Avg Draft acceptance rate: {rate}%\n"
)


def test_lines_are_summed_up_with_their_lowest():
    text = V1.format(length=2.31, rate=43.7) + V1.format(length=1.12, rate=4.0)
    (event,) = events(dialect, text)
    assert event.fields["samples"] == 2
    assert event.fields["accept_length_lowest"] == 1.12
    assert event.fields["accept_rate"] == pytest.approx((0.437 + 0.04) / 2, abs=1e-4)
    assert event.fields["drafted"] == 3668


@pytest.mark.parametrize(
    "text, values",
    [
        (V1.format(length=2.31, rate=43.7), {"accept_length": 2.31, "accept_rate": 0.437}),
        ("SpecDecoding metrics: Draft acceptance rate: 52.1%, Accepted: 801 tokens, Drafted: 1537 tokens\n", {"accept_rate": 0.521}),
        ("Speculative metrics: Draft acceptance rate: 0.512, System efficiency: 0.401, Number of speculative tokens: 4\n", {"accept_rate": 0.512}),
        ("draft acceptance rate = 0.57576 (  171 accepted /   297 generated)\n", {"accept_rate": 0.57576}),
    ],
)  # fmt: skip
def test_every_layout_is_read(text, values):
    (record,) = measured(dialect, text)
    assert record.values == pytest.approx(values)


@pytest.mark.parametrize(
    "text",
    ["", "SpecDecoding metrics: Mean acc", "the draft acceptance rate = high\n", "Speculative metrics: none today\n"],
)  # fmt: skip
def test_cut_lines_and_prose_give_nothing(text):
    assert records(dialect, text) == []
