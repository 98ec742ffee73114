"""What is remembered of a prefix must say the same as taking it off anew."""

import pytest

from diagnose.ingest.envelope import peel
from diagnose.ingest.repeated import MOST, Repeated
from diagnose.ingest.sniff import Identity

WHO = Identity(rank=7, host="node-07", attempt=1)

PREFIXES = (
    " [{stamp}] ",
    "[rank3]: [{stamp}] ",
    "12: {stamp} ",
    "{stamp} INFO ",
    "{stamp}Z stdout F [default1]:",
    "{stamp}+02:00 node-3 train[77]: ",
    "{stamp}Z stdout F [{stamp}] ",
    "node-07: ",
    "[pod/trainer-3/main] {stamp} ",
)
STAMPS = (
    "2026-01-05 10:14:22", "2026-01-05 10:14:23", "2026-01-05 10:15:59.481903",
    "2026-01-06T00:00:00", "2026-02-31 10:00:00", "2026-12-31 23:59:60",
)  # fmt: skip
TEXTS = ("iteration     1200/   50000 | x", "iteration     1201/   50000 | é", "step 5: loss 2.1")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_each_line_is_what_it_is_alone(prefix):
    repeated = Repeated("a.log", WHO)
    for _ in range(2):
        for number, stamp in enumerate(STAMPS, 1):
            for text in TEXTS:
                raw = prefix.format(stamp=stamp) + text
                found = repeated.peel(raw, number, len(raw) - len(text))
                assert found == peel(raw, "a.log", number, WHO)


def test_a_record_that_looks_like_a_prefix_is_told_apart():
    repeated = Repeated("a.log", WHO)
    for text in ("trainer step 1", "trainer-0: step 2", "[rank3]: step 3", "5: step 4"):
        raw = f"2026-01-05 10:14:22 {text}"
        assert repeated.peel(raw, 1, 20) == peel(raw, "a.log", 1, WHO)


def test_what_is_remembered_is_bounded():
    repeated = Repeated("a.log", WHO)
    for number in range(2 * MOST):
        raw = f"task{number} [2026-01-05 10:14:22] iteration"
        repeated.peel(raw, number, len(raw) - len("iteration"))
    assert len(repeated._known) == MOST
