"""One command a calculator, made from its declaration."""

import json
import textwrap
from typing import Any

import click

from diagnose.calc.calculator import Calculator, Input, Result
from diagnose.calc.quantity import EXAMPLES, Unit, parse, show
from diagnose.cli.options import list_format_option
from diagnose.cli.output import columns, echo


class Quantity(click.ParamType[float]):
    """A number with its unit, as ``diagnose.calc.quantity`` reads it."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.name = unit.value

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return what stands for the value in the help page."""
        return self.unit.name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the value in base units."""
        if isinstance(value, float):
            return value
        try:
            return parse(str(value), self.unit)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _option(one: Input) -> click.Option:
    if one.unit is Unit.SWITCH:
        return click.Option([f"--{one.name}"], is_flag=True, help=f"{one.help.capitalize()}.")
    example = "" if one.unit in (Unit.COUNT, Unit.NUMBER) else f", like {EXAMPLES[one.unit]}"
    return click.Option(
        [f"--{one.name}"],
        type=Quantity(one.unit),
        default=one.default,
        required=one.required,
        help=f"{one.help[0].upper()}{one.help[1:]}{example}.",
        show_default=one.default is not None,
    )


def described(calculator: Calculator) -> dict[str, Any]:
    """Return what a calculator takes and says, as the list of all shows it."""
    return {
        "name": calculator.name,
        "title": calculator.title,
        "formula": calculator.formula,
        "inputs": [
            {
                "name": one.name,
                "unit": one.unit.value,
                "help": one.help,
                "default": one.default,
                "required": one.required,
            }
            for one in calculator.inputs
        ],
        "reading": calculator.reading,
    }


def command(calculator: Calculator) -> click.Command:
    """Return the command of a calculator."""

    @list_format_option
    def run(style: str, **values: float | None) -> None:
        try:
            results = calculator.results(values)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        echo(
            _as_json(calculator, values, results)
            if style == "json"
            else _as_text(calculator, results)
        )

    made = click.command(calculator.name, help=f"{calculator.title}.\n\n{calculator.formula}")(run)
    made.params = [*(_option(one) for one in calculator.inputs), *made.params]
    return made


def _as_text(calculator: Calculator, results: list[Result]) -> str:
    width = max(len(result.name) for result in results)
    lines = textwrap.wrap(calculator.formula, columns())
    lines += [f"  {one.name.ljust(width)}  {_shown(one)}" for one in results]
    lines += textwrap.wrap(calculator.reading, columns())
    return "\n".join(lines) + "\n"


def _shown(one: Result) -> str:
    return f"- ({one.reason})" if one.value is None else show(one.value, one.unit)


def _record(one: Result) -> dict[str, str | float | None]:
    record = {"name": one.name, "value": one.value, "unit": one.unit.value}
    return record if one.reason is None else {**record, "reason": one.reason}


def _as_json(calculator: Calculator, values: dict[str, float | None], results: list[Result]) -> str:
    shown = {
        "calculator": calculator.name,
        "formula": calculator.formula,
        "inputs": {
            one.name: {"value": values[one.key], "unit": one.unit.value}
            for one in calculator.inputs
        },
        "results": [_record(one) for one in results],
        "reading": calculator.reading,
    }
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"
