import pytest

from diagnose.render.styled import Line


def plain(lines):
    return [line.plain for line in lines]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one", ["one"]),
        ("one two three", ["one two", "three"]),
        ("one two  three", ["one two", "three"]),
        ("  one two", ["  one", "two"]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
        ("one abcdefghijkl two", ["one", "abcdefgh", "ijkl two"]),
        ("网卡在断开之前", ["网卡在断", "开之前"]),
        ("a 网卡断 b", ["a 网卡断", "b"]),
    ],
)
def test_lines_end_between_words_or_where_there_is_no_room(text, lines):
    assert plain(Line(text).wrapped(8)) == lines


def test_styles_go_on_in_the_next_line():
    line = Line(("Cause: ", "bold red"), ("a b", "bold"), " c")
    assert [one.drawn(color=True) for one in line.wrapped(8)] == [
        "\x1b[1;31mCause: \x1b[0m\x1b[1ma\x1b[0m",
        "\x1b[1mb\x1b[0m c",
    ]
    assert line.drawn(color=False) == "Cause: a b c"


def test_a_part_keeps_its_styles():
    line = Line("ab", ("cd", "dim"), Line(("ef", "cyan")))
    assert [piece for piece in line.part(1, 5).pieces if piece[0]] == [
        ("b", ""), ("cd", "dim"), ("e", "cyan"),
    ]  # fmt: skip
    assert line.part(4).plain == "ef"
    assert line.columns == 6 and Line("网").columns == 2
