"""``diagnose calc``: the group of calculators, which are read when one is asked for."""

import click

from diagnose.cli.catalogs import listing
from diagnose.cli.options import list_format_option

LISTED = ("name", "title")
"""What the list shows as text."""


class CalculatorGroup(click.Group):
    """The calculators, read when one is asked for: a diagnosis needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all calculators."""
        from diagnose.calc.catalogue import CALCULATORS

        return sorted(CALCULATORS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a calculator."""
        from diagnose.calc.catalogue import CALCULATORS
        from diagnose.cli.calculators import command

        found = CALCULATORS.get(cmd_name)
        return None if found is None else command(found)


@click.group(cls=CalculatorGroup, invoke_without_command=True, no_args_is_help=True)
@list_format_option
@click.pass_context
def calc(ctx: click.Context, style: str) -> None:
    """Compute what the formulas of training and serving say.

    Sizes with GB count in powers of ten and with GiB in powers of two.
    """
    if ctx.invoked_subcommand is not None:
        ctx.default_map = {ctx.invoked_subcommand: {"style": style}}
        return
    from diagnose.calc.catalogue import CALCULATORS
    from diagnose.cli.calculators import described

    listing([described(CALCULATORS[name]) for name in sorted(CALCULATORS)], style, LISTED)
