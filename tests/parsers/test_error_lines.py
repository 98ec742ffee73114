"""Lines that call themselves errors."""

import pytest
from communication import read
from dialects import records

from diagnose.parsers import error_lines


@pytest.mark.parametrize(
    "text",
    [
        "Segmentation fault (core dumped)",
        "2026-01-02 12:06:41 ERROR cannot reach the licence server",
        "[ERROR] out of licences",
        "[CRITICAL]: disk on fire",
        "Error: something bad",
        "error: no rule to make it",
        "panic: runtime error",
    ],
)
def test_an_error_of_any_program_is_noticed(text):
    assert [event.name for event in records(error_lines, f"before\n{text}\nafter")] == ["log.error"]


@pytest.mark.parametrize(
    "text",
    [
        "TERRORS 0",
        "errors: 0",
        "ERROR_ON_NAN = True",
        "0 ERRORs found",
        "validation error: 0.12",
        "--log-level=ERROR-only",
        "",
    ],
)
def test_a_line_that_only_names_errors_is_not_one(text):
    assert records(error_lines, f"before\n{text}\nafter") == []


def test_of_many_the_last_are_kept():
    text = "\n".join(f"ERROR number {number}" for number in range(50))
    assert [event.line for event in records(error_lines, text)] == [48, 49, 50]


@pytest.mark.parametrize(
    "text",
    [
        "[  912.300000] nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context",
        "Jun 17 09:01:30 node-01 kernel: nvidia-peermem: ERROR detected invalid context",
    ],
)
def test_the_kernel_does_not_end_with_a_job(text):
    assert read(error_lines, text) == []
