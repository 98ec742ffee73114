import pytest
from dialects import events

from diagnose.model.event import Line
from diagnose.parsers import comms_logger as dialect

CALL = "[2026-01-05 10:00:10,101] [INFO] [logging.py:107:log_dist] [Rank 0] comm op: {} | time (ms): {} | msg size: {} | algbw (Gbps): 170.10 | busbw (Gbps): {}\n"
TABLE = """Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)
broadcast
                    2.0 KB              146                 11.12               0.08                0.43                0.40
                    98.25 MB            1                   8317.12             8317.12             0.20                0.16
reduce_scatter_tensor
                    678.86 MB           80                  1527.17             19.09               1206.33             1055.20
"""


def test_calls_of_one_kind_and_size_are_one_event_in_bytes():
    text = "".join(
        CALL.format(*row)
        for row in (
            ("all_reduce", 2.0, "25.0 MB", 160.0),
            ("all_reduce", 1.0, "25.0 MB", 320.0),
            ("all_reduce", 9.0, "25.0 MB", 40.0),
            ("all_gather", 1.0, "1.0 MB", 8.0),
        )
    )
    reduce, gather = events(dialect, text)
    assert reduce.line == 2, "the fastest call is cited"
    assert reduce.fields == {
        "operation": "all_reduce",
        "bytes": 25 * 2**20,
        "count": 3,
        "typical": pytest.approx(0.002),
        "fastest": pytest.approx(0.001),
        "busbw": pytest.approx(40e9),
    }
    assert (gather["operation"], gather["count"]) == ("all_gather", 1)


def test_rows_of_the_table_belong_to_the_operation_above():
    lines = [Line("a.log", n, text, text) for n, text in enumerate(TABLE.splitlines(), 1)]
    assert not any(dialect._is_over(lines[:1], line) for line in lines[1:])
    rows = [
        (one["operation"], one["bytes"], one["count"], one["busbw"])
        for one in dialect.read_table(lines)
    ]
    assert rows == [
        ("broadcast", 2048, 146, pytest.approx(0.05e9)),
        ("broadcast", round(98.25 * 2**20), 1, pytest.approx(0.02e9)),
        ("reduce_scatter_tensor", round(678.86 * 2**20), 80, pytest.approx(131.9e9)),
    ]


def test_the_table_ends_at_the_next_line_of_the_log():
    text = "[2026-01-05 10:00:10,101] [INFO] done"
    assert dialect._is_over([], Line("a.log", 9, text, text))


@pytest.mark.parametrize(
    "text", ["comm op: all_reduce | time (ms): 1.23 | msg si", "the comm op: is slow\n"]
)
def test_cut_lines_and_prose_give_nothing(text):
    assert events(dialect, text) == []
