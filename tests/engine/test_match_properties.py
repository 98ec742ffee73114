"""Properties that hold for any evidence (hypothesis)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.engine.conditions import Selector
from diagnose.engine.records import witnesses

from .build import case, event, rule

records = st.lists(
    st.tuples(
        st.sampled_from(["e.a", "e.b", "e.c"]),
        st.integers(0, 300),
        st.sampled_from([None, "node-1", "node-2", "node-3"]),
        st.sampled_from(["a.log", "b.log"]),
    ),
    max_size=30,
)


def evidence(made):
    return case(
        *(
            event(name, line, at=at, host=host, file=file)
            for line, (name, at, host, file) in enumerate(made, 1)
        )
    )


def solutions(text, found):
    one = rule(text)
    return Selector(found, lambda name: []).solutions(one.match)


def lines_of(solution):
    return [event for record in solution.records for event in witnesses(record)]


@given(records, st.integers(1, 120))
@settings(max_examples=60, deadline=None)
def test_a_window_never_exceeds_within(made, seconds):
    text = f"match: {{all: [{{event: e.a}}, {{event: e.b}}], within: {seconds}s}}"
    for solution in solutions(text, evidence(made)):
        times = [one.time for one in lines_of(solution)]
        assert max(times) - min(times) <= seconds


@given(records, st.integers(1, 120))
@settings(max_examples=60, deadline=None)
def test_a_window_that_holds_both_is_found(made, seconds):
    text = f"match: {{all: [{{event: e.a}}, {{event: e.b}}], within: {seconds}s}}"
    times = {name: [at for one, at, *_ in made if one == name] for name in ("e.a", "e.b")}
    near = any(abs(a - b) <= seconds for a in times["e.a"] for b in times["e.b"])
    assert bool(solutions(text, evidence(made))) == near


@given(records, st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_a_window_of_lines_stays_in_one_file(made, length):
    text = f"match: {{all: [{{event: e.a}}, {{event: e.b}}], within: {length} lines}}"
    for solution in solutions(text, evidence(made)):
        found = lines_of(solution)
        assert len({one.file for one in found}) == 1
        assert max(one.line for one in found) - min(one.line for one in found) <= length


@given(records)
@settings(max_examples=60, deadline=None)
def test_same_holds_over_all_members(made):
    text = "match: {all: [{event: e.a}, {event: e.b, same: host}, {event: e.c, same: host}]}"
    found = solutions(text, evidence(made))
    for solution in found:
        [host] = {one.host for one in lines_of(solution)}
        assert host is not None
    hosts = [
        {host for one, _, host, _ in made if one == name and host} for name in ("e.a", "e.b", "e.c")
    ]
    assert len(found) == len(set.intersection(*hosts))


@given(records, st.integers(1, 120))
@settings(max_examples=80, deadline=None)
def test_order_holds_between_adjacent_members(made, seconds):
    text = f"match: {{sequence: [{{event: e.a, count: {{gte: 2}}}}, {{event: e.b}}, {{event: e.c}}], within: {seconds}s}}"
    now = evidence(made)
    for solution in solutions(text, now):
        groups = [
            [one for record in pick.records for one in witnesses(record)] for pick in solution.picks
        ]
        assert len(groups) == 3
        for before, after in zip(groups, groups[1:], strict=False):
            assert all(now.ordered(a, b) is True for a in before for b in after)
        times = [one.time for one in lines_of(solution)]
        assert max(times) - min(times) <= seconds
