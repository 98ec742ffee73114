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


SENSIBLE = {
    "mtbf": 14_400.0, "interval": 1800.0, "large": 16.0, "last": 9.0, "rate": 0.1, "recompute": 0.5,
    "serial": 0.1, "share": 0.5, "utilisation": 0.5,
}  # fmt: skip
"""Values that fit together; the others are 2."""


@pytest.mark.parametrize("name", FORMULAS)
def test_each_formula_takes_numbers_and_gives_one(name):
    required = [part for part, optional in FORMULAS[name]._parameters.items() if not optional]
    found = FORMULAS[name](*[SENSIBLE.get(part, 2.0) for part in required])
    assert isinstance(found, int | float)


@pytest.mark.parametrize("name", FORMULAS)
def test_what_must_be_above_zero_is_a_value_of_the_formula(name):
    assert FORMULAS[name]._above_zero <= set(FORMULAS[name]._parameters)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("bubble(0, 0)", "stages must be above zero"),
        ("bubble(8, -1)", "micro_batches is below zero"),
        ("micro_batches_for(8, 1.5)", "share is a share from 0 to 1"),
        ("failure_chance(2, 10)", "rate is a share from 0 to 1"),
        ("lost_work(5, 9, 1)", "the resumed step 9 is behind the last 5"),
        ("model_states(1, zero=9)", "zero is a stage from 0 to 3, not 9"),
        ("gradient_traffic(1, 8, 4)", "zero is a stage from 0 to 3, not 4"),
        ("efficiency(8, 1, 4, 1)", "the larger run has 4 ranks and the smaller 8"),
        ("checkpoint_waste(600, 600, 0, 9999)", "takes as long as the interval"),
        ("ettr(0, 36000, 60, 14400)", "never gets ahead"),
        ("save_overhead(60, 5, 6)", "saves take longer than the training between"),
        ("retry_time(600, 7)", "the timeout goes up to 31"),
        ("young(0, 9)", "save must be above zero"),
        ("mfu(400, 1, 0)", "peak must be above zero"),
        ("kv_bytes_per_token(80, 8, 0)", "head_size must be above zero"),
    ],
)
def test_a_formula_has_the_bounds_of_the_command(call, said):
    with pytest.raises(ValueError, match=f"has no value for .*: .*{said}"):
        render(f"{{{{ calc.{call} }}}}")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("bubble('8', 16)", "calc.bubble: stages is a number, not '8'"),
        ("bubble(8, micro_batches='many')", "calc.bubble: micro_batches is a number, not 'many'"),
        ("bubble(8, true)", "calc.bubble: micro_batches is a number, not True"),
    ],
)
def test_a_literal_that_is_no_number_is_found_before_it_runs(call, said):
    with pytest.raises(ValueError, match=said):
        check(f"{{{{ calc.{call} }}}}")


def test_literals_that_fit_are_let_through():
    check("{{ calc.bubble(8, none) }} {{ calc.bubble(-8, '<micro_batches>') }}")
