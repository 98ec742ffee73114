"""``diagnose calc``: the group of calculators, which are read when one is asked for."""

import click


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


@click.group(cls=CalculatorGroup)
def calc() -> None:
    """Compute what the formulas of training and serving say.

    Sizes with GB count in powers of ten and with GiB in powers of two.
    """
