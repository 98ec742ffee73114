"""Formulas as texts of rules and playbooks call them."""

from pathlib import Path

import pytest

from diagnose.calc.formulas import FORMULAS
from diagnose.templates import check, evaluate, render, unknown_names

MANUAL = Path(__file__).parents[2] / "docs" / "rules.md"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{ calc.bubble(8, 16) | percent }}", "30 %"),
        ("{{ calc.bubble(stages=8, micro_batches=64) | percent }}", "9.9 %"),
        ("{{ calc.micro_batches_for(8, 0.2) }}", "28"),
        ("{{ calc.retry_time(22, 7) | duration }}", "2 min"),
        ("{{ calc.young(60, 4 * 3600) | duration }}", "21 min 55 s"),
        ("{{ calc.model_states(1) | int }}", "16"),
        ("{{ calc.bubble(event.stages, event.rounds) | percent }}", "47 %"),
    ],
)
def test_a_text_computes(text, shown):
    assert render(text, event={"stages": 8, "rounds": 8}) == shown


@pytest.mark.parametrize("value", [None, [None], "<stages>", ["<stages>"]])
def test_what_is_not_known_stays_unknown(value):
    assert render("{{ calc.bubble(x, 8) | percent }}", x=value) == "(unknown)"
    assert evaluate("{{ calc.bubble(x, 8) }}", x=value) == []


def test_a_playbook_gives_lists_of_one():
    assert render("{{ calc.micro_batches_for(x, 0.2) }}", x=[8]) == "28"


@pytest.mark.parametrize("value", ["8", [1, 2], True, {"a": 1}])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="calc.bubble: stages is a number, not"):
        render("{{ calc.bubble(x, 8) }}", x=value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ calc.buble(8, 16) }}", "there is no formula 'buble'; formulas: bubble, "),
        ("{{ calc.bubble(8) }}", r"calc.bubble takes \(stages, micro_batches, \[chunks\]\)"),
        ("{{ calc.bubble(8, 16, 1, 1) }}", "calc.bubble takes"),
        ("{{ calc.bubble(8, 16, stages=1) }}", "calc.bubble takes"),
        ("{{ calc.bubble(8, steps=1) }}", "calc.bubble takes"),
        ("{{ calc.bubble(*x) }}", "written one by one"),
        ("{% set calc = 1 %}", "'calc' holds the formulas"),
        ("{% for calc in x %}{% endfor %}", "'calc' holds the formulas"),
        ("{{ other.bubble(8, 16) }}", "'bubble' cannot be called"),
        ("{{ calc.bubble.problem(1, x) }}", "'problem' cannot be called"),
        ("{{ calc.bubble._compute }}", "'_compute' cannot be reached"),
    ],
)
def test_a_wrong_call_is_found_before_it_runs(text, said):
    with pytest.raises(ValueError, match=said):
        check(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ calc.communication_ratio(0, 1) }}",
        "{{ calc.failure_chance(3, 9999999999) }}",
        "{{ calc.young(-1, 1) }}",
        "{{ calc.failure_chance(3, 0.5) }}",
    ],
)
def test_what_has_no_value_says_so(text):
    with pytest.raises(ValueError, match="has no value for"):
        render(text)


def test_the_inside_of_a_formula_is_out_of_reach():
    with pytest.raises(ValueError, match="unsafe"):
        render("{{ [calc.bubble] | map(attribute='_compute') | list }}")
    assert render("{{ calc }} {{ calc.bubble }}") == "calc calc.bubble"


def test_calc_is_no_name_that_somebody_has_to_give():
    assert unknown_names("{{ calc.young(save, mtbf) }}") == {"save", "mtbf"}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_manual_shows_each_formula_with_its_values(name):
    taken = FORMULAS[name].problem(99, []).partition(" takes ")[2]
    assert f"`{name}{taken}`" in MANUAL.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMULAS)
def test_each_formula_takes_numbers_and_gives_one(name):
    required = [part for part, optional in FORMULAS[name]._parameters.items() if not optional]
    found = FORMULAS[name](*[2.0 for _ in required])
    assert isinstance(found, int | float)
