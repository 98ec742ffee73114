import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.render.visible import one_line, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text", "plain text"),
        ("节点 é — “x” …", "节点 é — “x” …"),
        ("a\tb", "a b"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\r\nb", "a\\r\\nb"),
        ("\x9b\x7f\x00", "\\x9b\\x7f\\x00"),
        ("\u202e\u200b\ufeff", "\\u202e\\u200b\\ufeff"),
        ("\udc80", "\\udc80"),
        ("\u2028", "\\u2028"),
        ("\xad", "\\xad"),
    ],
)
def test_what_draws_nothing_is_spelled_out(text, expected):
    assert visible(text) == expected


@given(st.text())
def test_any_text_becomes_printable_and_stays_so(text):
    shown = visible(text)
    assert shown.isprintable() or all(
        c.isprintable() or c == "\u3000" or c.isspace() for c in shown
    )
    assert "\x1b" not in shown and "\n" not in shown
    assert visible(shown) == shown


def test_prose_is_on_one_line():
    assert one_line(" a\n  b\t c\x1b ") == "a b c\\x1b"
