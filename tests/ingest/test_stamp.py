from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.ingest.stamp import find_stamp, iso, may_hold_stamp, parse_stamp
from diagnose.model.event import Clock


def at(*parts: int, micro: int = 0) -> float:
    return datetime(*parts, microsecond=micro, tzinfo=UTC).timestamp()  # type: ignore[arg-type]


SHAPES = [
    ("[2025-06-17 09:12:01] node-a:1:2", at(2025, 6, 17, 9, 12, 1), Clock.LOCAL, 21),
    ("[2026-01-02 12:06:41,123] x", at(2026, 1, 2, 12, 6, 41, micro=123000), Clock.LOCAL, 25),
    ("[2025-07-04 11:22:33.123456] x", at(2025, 7, 4, 11, 22, 33, micro=123456), Clock.LOCAL, 28),
    ("2025-07-04 11:22:33.123 | INFO", at(2025, 7, 4, 11, 22, 33, micro=123000), Clock.LOCAL, 23),
    ("2025-07-04T11:22:33 node", at(2025, 7, 4, 11, 22, 33), Clock.LOCAL, 19),
    ("2026-01-02T12:06:41.500000000Z x", at(2026, 1, 2, 12, 6, 41, micro=500000), Clock.UTC, 30),
    ("2025-07-04T11:22:33+0000 host", at(2025, 7, 4, 11, 22, 33), Clock.UTC, 24),
    ("2025-07-04T11:22:33+08:00 host", at(2025, 7, 4, 3, 22, 33), Clock.UTC, 25),
    ("2025-07-04 11:22:33 UTC x", at(2025, 7, 4, 11, 22, 33), Clock.UTC, 23),
    ("2026/09/14 04:50:12.250, 0", at(2026, 9, 14, 4, 50, 12, micro=250000), Clock.LOCAL, 23),
    ("[01/05/2026-10:00:00] [TRT-LLM]", at(2026, 1, 5, 10), Clock.LOCAL, 21),
    ("Jul  4 11:22:33 host", at(1972, 7, 4, 11, 22, 33), Clock.YEARLESS, 15),
    ("Feb 29 11:22:33 host", at(1972, 2, 29, 11, 22, 33), Clock.YEARLESS, 15),
    ("[Mon Apr  8 17:04:05 2024] NVRM", at(2024, 4, 8, 17, 4, 5), Clock.LOCAL, 26),
    ("Fri Jul  4 11:22:33 UTC 2025", at(2025, 7, 4, 11, 22, 33), Clock.UTC, 28),
    ("Wed Feb  4 11:22:33 2026 x", at(2026, 2, 4, 11, 22, 33), Clock.LOCAL, 24),
    ("Wed Feb  4 11:22:33 PM UTC 2026 x", at(2026, 2, 4, 23, 22, 33), Clock.UTC, 31),
    ("Wed Feb  4 12:22:33 AM CET 2026 x", at(2026, 2, 4, 0, 22, 33), Clock.LOCAL, 31),
    ("Wed 04 Feb 2026 12:22:33 PM UTC", at(2026, 2, 4, 12, 22, 33), Clock.UTC, 31),
    ("Wed 4 Feb 2026 23:22:33 CET", at(2026, 2, 4, 23, 22, 33), Clock.LOCAL, 27),
    (
        "E0704 11:22:33.123000 1 f.py:9]",
        at(1972, 7, 4, 11, 22, 33, micro=123000),
        Clock.YEARLESS,
        21,
    ),
    ("I20250704 11:22:33.250000 1 f", at(2025, 7, 4, 11, 22, 33, micro=250000), Clock.LOCAL, 25),
    ("E321 13:49:45.1 x", at(1972, 3, 21, 13, 49, 45), Clock.YEARLESS, 15),
    ("[E301 13:49:45.999999999 P", at(1972, 3, 1, 13, 49, 45), Clock.YEARLESS, 24),
    ("[E1121 02:07:08.432379 P", at(1972, 11, 21, 2, 7, 8), Clock.YEARLESS, 22),
    ("[E101 02:07:08.432379535 P", at(1972, 1, 1, 2, 7, 8), Clock.YEARLESS, 24),
    ("08-25 09:12:34 [core.py:1]", at(1972, 8, 25, 9, 12, 34), Clock.YEARLESS, 14),
    ("[11:41:33.250000] x", at(1972, 1, 1, 11, 41, 33, micro=250000), Clock.DAYTIME, 17),
    ("12:30:01 x", at(1972, 1, 1, 12, 30, 1), Clock.DAYTIME, 8),
    ("[12345.678901] NVRM", 12345.678901, Clock.UPTIME, 14),
    ("[    5.250000] NVRM", 5.25, Clock.UPTIME, 14),
    ("1751628153 node-a:1:2 [0] NCCL INFO x", 1751628153.0, Clock.UTC, 10),
    ("[1751628153.5] x", 1751628153.5, Clock.UTC, 14),
]


@pytest.mark.parametrize(("text", "seconds", "clock", "length"), SHAPES)
def test_reads_every_shape(text: str, seconds: float, clock: Clock, length: int) -> None:
    found = find_stamp(text)
    assert found is not None
    assert (round(found[0], 6), found[1], found[2]) == (seconds, clock, length)


@pytest.mark.parametrize("text", [shape[0] for shape in SHAPES])
def test_what_has_a_stamp_anywhere_may_hold_one(text: str) -> None:
    assert may_hold_stamp(f"[1,0]<stdout>: {text}".encode())


@pytest.mark.parametrize(
    "text",
    ["", "step 100 loss 2.5", "node-07:4121:4388 [3] NCCL INFO 0000:1b:00.0", "took 12:30 h"],
)
def test_what_has_no_time_holds_no_stamp(text: str) -> None:
    assert not may_hold_stamp(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "2025-02-30 10:00:00 x", "2025-13-01 10:00:00", "2025-01-01 24:00:00",
        "[E1399 10:00:00.1 P", "[E100 10:00:00.1 P", "E0000 10:00:00.000000 1 f", "Jul 32 11:22:33 h",
        "12:30:61 x", "12:30 x", "[2025-01-01 10:00:00 TP0] x", "[0] NCCL", "[1,0]<stdout>:x",
        "1751628153 apples", "[12.5] x", "2025-01-01", "May the 4th", "Debug 10:00:00",
        "2025-07-04 11:22:33+9900 x", "10:00:00:00 x",
    ],
)  # fmt: skip
def test_no_stamp_where_none_is_valid(text: str) -> None:
    assert find_stamp(text) is None


def test_reads_at_a_place_in_the_text() -> None:
    assert find_stamp("INFO 08-25 09:12:34 x", 5) == (
        at(1972, 8, 25, 9, 12, 34),
        Clock.YEARLESS,
        14,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" 2025-05-01_11:12:35 ", (at(2025, 5, 1, 11, 12, 35), Clock.LOCAL)),
        ("2025-05-01", (at(2025, 5, 1), Clock.LOCAL)),
        ("2025-05-01T11:12:35Z", (at(2025, 5, 1, 11, 12, 35), Clock.UTC)),
        ("2025-05-01 11:12:35 and more", None),
        ("2025-05-32", None),
        ("yesterday", None),
    ],
)
def test_parses_a_whole_text(text: str, expected: tuple[float, Clock] | None) -> None:
    assert parse_stamp(text) == expected


@pytest.mark.parametrize(
    ("seconds", "clock", "expected"),
    [
        (at(2026, 1, 2, 12, 6, 41), Clock.UTC, "2026-01-02T12:06:41Z"),
        (at(2026, 1, 2, 12, 6, 41, micro=123456), Clock.LOCAL, "2026-01-02T12:06:41.123"),
        (at(2026, 1, 2, 12, 6, 40) + 0.9999, Clock.LOCAL, "2026-01-02T12:06:41"),
        (5.0, Clock.UPTIME, None),
        (5.0, Clock.YEARLESS, None),
        (5.0, Clock.DAYTIME, None),
        (None, Clock.UTC, None),
        (1e30, Clock.UTC, None),
    ],
)
def test_writes_iso_only_for_full_dates(
    seconds: float | None, clock: Clock, expected: str | None
) -> None:
    assert iso(seconds, clock) == expected


@given(st.text(alphabet="0123456789[]-/:., TZEJulMon+٣", max_size=40))
def test_never_raises(text: str) -> None:
    found = find_stamp(text)
    assert found is None or 0 < found[2] <= len(text)
