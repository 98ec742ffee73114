import re

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.ingest.pattern import MINIMUM, problems, proves, required_literals


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"Got async event : port error", {"Got async event : port error"}),
        (r"Link is (?:Up|Down) on \S+", {"Link is Up on ", "Link is Down on "}),
        (r"(?:first\d+|second\d+)", {"first", "second"}),
        (r"a(?:foo\d+|bar\d+)xyz", {"afoo", "abar"}),
        (r"colou?r map", {"color map", "colour map"}),
        (r"[Ww]atchdog", {"watchdog", "Watchdog"}),
        (r"(?:abcd){2}", {"abcdabcd"}),
        (r"(?P<name>needle)\s*", {"needle"}),
        (r"\b needle $", {" needle "}),
        (r"(?:error|failed): (?P<x>.*) peer closed \d", {" peer closed "}),
    ],
)
def test_literals_of_a_pattern(pattern, expected):
    assert required_literals(pattern) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        r"\d+ \w+",
        "abc",
        r"(?:needle)?\d",
        r"(?:needle)*",
        r"(?:needle|x)",
        r"(?:needle|)",
        ".*",
    ],
)
def test_no_literal_is_required(pattern):
    assert required_literals(pattern) == frozenset()


def test_common_word_only_where_there_is_nothing_else():
    assert required_literals(r"error \d+ of mlx5_core") == {" of mlx5_core"}
    assert required_literals(r"error\d+") == {"error"}


def test_short_text_counts_in_bytes():
    assert required_literals(r"错误\d") == {"错误"}


def test_ignored_case_is_spelled_out_where_few():
    assert required_literals(r"(?i:ab 12)") == {"ab 12", "Ab 12", "aB 12", "AB 12"}
    assert len(required_literals(r"(?i)out of memory")) <= 48
    assert required_literals(r"(?i:é12é34)") == frozenset()


def test_ignored_case_knows_letters_beyond_ascii():
    literals = required_literals(r"(?i:1k234)")
    assert regex.search(r"(?i:1k234)", "1\u212a234")
    assert "1\u212a234" in literals


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing"),
        ("a**", "multiple repeat"),
        (r"[[:alpha:]]", "alpha"),
        (r"(?:needle){e<=1}", r"\{"),
        (r"\pL", "bad escape"),
        ("a{99999999999999999999}", "too large"),
        ("[[a]", "backslash"),
        ("(" * 5000 + ")" * 5000, "nested"),
    ],
)
def test_what_is_not_a_pattern_is_refused(pattern, reason):
    for check in (required_literals, problems, lambda text: proves(text, ["x"])):
        with pytest.raises(ValueError, match=re.escape(reason)):
            check(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s*\s+x", r".*.*x", r"(a+)+", r"(?:.*,)*x", r"(\w+\s?)+:", r"(?:a?)*x",
        r"(?:a|a)*b", r"(?:a|aa)*b", r"(?=x)", r"(?<!x)y", r"(a)\1", r"(a)?(?(1)b|c)", r"x{1001}",
        r"\d+\w+:", r"\d*-?\d*x", r"(.+?)\s*$", r"\w+\d+$",
        r".*a.*b.*c.*d.*e.*f", r"[^:]+\S+:", r"(?i)[a-z]+[A-Z]+:", r"(?:\S+ ?)*x",
    ],
)  # fmt: skip
def test_unsafe_patterns(pattern):
    assert problems(pattern) != []


@pytest.mark.parametrize(
    "pattern",
    [
        r"\S+\s+\S+", r".*foo.*", r".*x.*y.*", r"(?:\w+,)*\w+", r"(?:[^,]+,)+x", r"(?:,\s*\w+)*",
        r":\s*(?P<message>.*)", r":\s*(?P<message>.+?)$", r"\d+\.\d+", r"(?:\d{1,3}\.){3}\d{1,3}",
        r"^\s*(?P<a>\d+):\s+\S+", r"(?:\d+)?(?:, (?P<rest>.*))?", r"\w+(?:\d+)?", r"x{1000}", r"(?:ab|cd)*x", "", r"[^:]+: [^,]+, (?P<rest>.*)",
        r"(?P<type>[\w.]+)(?:Error|Exception): (?P<m>.*)",
    ],
)  # fmt: skip
def test_safe_patterns(pattern):
    assert problems(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "literals", "expected"),
    [
        (r"foo (?:bar|baz) \d", ["foo ba"], True),
        (r"(?:abcd|efgh)\d", ["abcd", "efg"], True),
        (r"(?:abcd|efgh)\d", ["abcd"], False),
        (r"(?:abcd)?\d", ["abcd"], False),
        (r"x.*yz\d+ab", ["ab"], True),
        (r"anything", [], False),
    ],
)
def test_given_literals_are_proved(pattern, literals, expected):
    assert proves(pattern, literals) is expected


pieces = st.sampled_from(
    ["a", "b", "Link", "down", " ", "[Uu]p", r"\d", r"\w", ".", r"\.", "[^a]", "k"]
)
patterns = st.recursive(
    pieces,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{0,3}", "{1,4}?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map(lambda text: f"(?i:{text})"),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_match_holds_a_required_literal(data):
    pattern = data.draw(patterns)
    literals = required_literals(pattern)
    text = data.draw(st.from_regex(pattern, fullmatch=True))
    assert all(len(literal.encode()) >= MINIMUM for literal in literals)
    if literals:
        assert any(literal in text for literal in literals)
        assert proves(pattern, literals)
