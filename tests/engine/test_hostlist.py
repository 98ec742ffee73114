import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.model.hostlist import expand, fold


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("node-07", ["node-07"]),
        ("node-[08-11]", ["node-08", "node-09", "node-10", "node-11"]),
        ("n[9-10]", ["n9", "n10"]),
        ("n[1,3-4,8]x", ["n1x", "n3x", "n4x", "n8x"]),
        ("r[1-2]-n[1-2]", ["r1-n1", "r1-n2", "r2-n1", "r2-n2"]),
        ("100%-[1-2]", ["100%-1", "100%-2"]),
    ],
)
def test_a_pattern_stands_for_its_names_in_order(pattern, names):
    assert expand(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("node-[1-2", "brackets of 'node-[1-2' do not match"),
        ("node-1-2]", "do not match"),
        ("node-[a-b]", "'[a-b]' of 'node-[a-b]' is no range"),
        ("node-[]", "is no range"),
        ("node-[9-1]", "runs backwards"),
        ("n[0-999999999]", "more than"),
        ("n[0-9999]m[0-9999]", "more than"),
    ],
)
def test_a_wrong_pattern_says_what_is_wrong(pattern, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        expand(pattern)


@pytest.mark.parametrize(
    ("names", "patterns"),
    [
        (["node-01", "node-02", "node-04"], ["node-[01-02,04]"]),
        (["node-9", "node-10"], ["node-[9-10]"]),
        (["login", "node-1"], ["login", "node-1"]),
        (["node", "node1"], ["node", "node1"]),
        (["10.0.0.3", "10.0.0.4"], ["10.0.0.[3-4]"]),
        ([], []),
    ],
)
def test_names_fold_into_few_patterns(names, patterns):
    assert fold(names) == patterns


NAME = st.from_regex(r"[a-z]{0,2}[0-9]{0,3}[a-z-]?", fullmatch=True).filter(bool)


@given(st.lists(NAME, max_size=12))
def test_what_was_folded_expands_to_the_same(names):
    assert [name for pattern in fold(names) for name in expand(pattern)] == names
