import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment

from diagnose.filters import duration, hosts, percent, ranges, size
from diagnose.templates import check, check_expression, evaluate, render


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([*range(8), 12], "0-7,12"),
        ([3], "3"),
        (5, "5"),
        ([2, 1, 2, None], "1-2"),
        (range(0, 20, 2), "0,2,4,6,8,10,12,14,16,18"),
        ([*range(0, 4000, 3), 1], "0-1,3,6,9,12,15,18,21,24,27 and 1,324 more"),
        ([], "(unknown)"),
        (None, "(unknown)"),
    ],
)
def test_ranges(numbers, text):
    assert ranges(numbers) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (16 << 30, "16.0 GiB"),
        (1536, "1.5 KiB"),
        (0, "0 B"),
        (1 << 60, "1024.0 PiB"),
        (None, "(unknown)"),
    ],
)
def test_bytes(count, text):
    assert size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1800, "30 min"),
        (3900, "1 h 5 min"),
        (0.25, "250 ms"),
        (0, "0 s"),
        (59.99, "1 min"),
        (3599.6, "1 h"),
        (90061, "1 d 1 h"),
        (-90, "-1 min 30 s"),
        (None, "(unknown)"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.304, "30 %"), (0.0341, "3.4 %"), (0.0996, "10 %"), (0, "0 %"), (None, "(unknown)")],
)
def test_percent(share, text):
    assert percent(share) == text


def test_hosts_are_counted_after_the_eighth():
    names = [f"node-{number:02}" for number in range(1, 17)]
    assert hosts(names[:2]) == "node-01, node-02"
    assert hosts(names).endswith("node-08 and 8 more")
    assert hosts("node-01") == "node-01"
    assert hosts(f"node-{n}" for n in range(2000)).endswith("node-7 and 1,992 more")
    assert hosts(names, 3) == "node-01, node-02, node-03 and 13 more"


def test_ranks_are_one_or_several():
    assert render("{{ one | ranks }}, {{ all | ranks | capitalize }}", one=[3], all=[0, 1, 5]) == (
        "rank 3, Ranks 0-1,5"
    )
    assert render("{{ some | ranks }}", some=["<ranks>"]) == "rank <ranks>"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("node-01", "node-01"),
        ("a b", "'a b'"),
        ("$(reboot)", "'$(reboot)'"),
        ("<host>", "<host>"),
        ("<host>; reboot", "'<host>; reboot'"),
        (["a", "b c", "<hosts>"], "a 'b c' <hosts>"),
        ([], "''"),
        (7, "7"),
    ],
)
def test_values_are_quoted_for_a_shell(value, text):
    assert render("{{ value | q }}", value=value) == text


def test_null_prints_as_unknown_and_lists_with_commas():
    assert render("{{ a }} {{ b }} {{ c }}", a=None, b=[1, 2], c=[]) == "(unknown) 1, 2 (unknown)"


def test_joining_quotes_the_whole():
    assert render("{{ x | join(',') | q }}", x=["a", "b"]) == "a,b"
    assert render("{{ x | join(',', attribute='n') }}", x=[{"n": 1}, {"n": None}]) == "1,(unknown)"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ 3 }}", [3]),
        ("{{ none }}", []),
        ("{{ [1, none, 2] }}", [1, 2]),
        ("{{ event.absent }}", []),
        ("{{ events | map(attribute='rank') | list }}", [4]),
        ("{{ events | map(attribute='rank') }}", [4]),
        ("{{ 'text' }}", ["text"]),
        (" {{ event.rank }} ", [4]),
    ],
)
def test_an_expression_gives_a_list(text, value):
    event = {"rank": 4}
    assert evaluate(text, event=event, events=[event, {}]) == value


@pytest.mark.parametrize(
    "text",
    [
        "{{ nobody }}",
        "{{ 'x' * 1000000 }}",
        "{{ 2 ** 5000 }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ items.append(1) }}",
        "{{ 'x' | center(100000) }}",
        "{% for one in range(9) %}{% endfor %}",
        "{{ 1 / 0 }}",
        "{{",
        "{% include 'x' %}",
        "{{ many }}{{ many }}",
        "{{ 'x' * 9999999999 }}",
        "{{ 9999999999 * ['x'] }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ 9 ** 9999999999 }}",
        "{{ 9.5 ** 9999 }}",
        "{{ '{:9999999999}'.format(1) }}",
        "{{ 'x'.ljust(9999999999) }}",
        "{{ many ~ many }}",
        "{{ many + many }}",
        "{{ many | replace('x', many) }}",
        "{{ range(9) | join(many * 9) }}",
        "{% set a = 'x' %}" + "{% set a = a ~ a %}" * 60,
        "{% set a = 'x' %}" + "{% set a = a + a %}" * 60,
        "{% set a = [1] %}" + "{% set a = a + a %}" * 60,
        "{% set a = 99 %}" + "{% set a = a * a %}" * 60,
        "{% for a in many %}{% for b in many %}{% endfor %}{% endfor %}",
        "{% for a in items recursive %}{% endfor %}",
        "{% macro f() %}{% endmacro %}",
        "{{ items.__class__ }}",
        "{{ items['__class__'] }}",
        "{{ items | map(attribute='__class__') | list }}{{ [1] | map(attribute='real') | list }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{{ " + "-" * 50000 + "1 }}",
    ],
)
def test_what_goes_wrong_is_one_kind_of_error(text):
    with pytest.raises(ValueError, match=r"\S"):
        render(text, items=[], many="x" * 150_000)


@pytest.mark.parametrize(
    "text", ["event.rank", "{{ a }} {{ b }}", "x {{ a }}", "{{ a", "{{ a | nope }}", "{{ 1e400 }}"]
)
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(ValueError, match=r"\S"):
        check_expression(text)
    with pytest.raises(ValueError, match=r"\S"):
        evaluate(text, a=1, b=2)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{ 2 ** 10 }} {{ 3 * 4.5 }} {{ 7 % 4 }} {{ 1 + 2 }}", "1024 13.5 3 3"),
        ("{{ 'a' + 'b' }} {{ [1] + [2] }} {{ 'a' ~ 1 ~ nothing }}", "ab 1, 2 a1(unknown)"),
        ("{{ 'a b'.split() | join('-') }} {{ 'Ab'.lower() }}", "a-b ab"),
        ("{% for k, v in map.items() %}{{ k }}={{ v }} {% endfor %}", "a=1 b=2 "),
        ("{{ map.a }} {{ map['b'] }} {{ map.get('c', 3) }}", "1 2 3"),
        ("{% set x = 3 %}{% if x > 2 %}{{ x }}{% else %}no{% endif %}", "3"),
        ("{{ 'aXa' | replace('X', '-') }}", "a-a"),
    ],
)
def test_what_texts_may_do(text, shown):
    assert render(text, map={"a": 1, "b": 2}, nothing=None) == shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ 'x' * 9999999999 }}", "'*' works on numbers only"),
        ("{{ 'x' % 3 }}", "'%' works on numbers only"),
        ("{{ event.op * 'x' }}", "'*' works on numbers only"),
        ("{{ 9 ** 9999999999 }}", "'**' works on numbers of moderate size only"),
        ("{% include 'x' %}", "'include' cannot be used here"),
        ("{{ ''.__class__ }}", "'__class__' cannot be reached"),
        ("{% for i in range(99999999) %}{% endfor %}", "'range' cannot be called"),
        ("{{ event.op.center(9) }}", "'center' cannot be called"),
    ],
)
def test_what_can_never_work_is_found_before_it_runs(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        check(text)


def test_checking_does_not_need_values():
    check("{{ event.rank }} {{ x | q }}")
    with pytest.raises(ValueError, match="nope"):
        check("{{ x | nope }}")


@given(st.text(alphabet="a .%}#\n\r\té中", max_size=12))
def test_a_text_without_braces_is_what_jinja_makes_of_it(text):
    assert render(text) == Environment().from_string(text).render()
