"""The command line: parses options, prints, sets the exit status; all work is done elsewhere."""

import gc

import click

from diagnose.cli.analysis import run, stdin
from diagnose.cli.group import DefaultRun
from diagnose.cli.settings import load

__all__ = ["main"]

CYCLES = 100_000
"""Objects made between two searches for cycles among them.

Nearly all that a run makes at its start it keeps, in few cycles: looking for them as often as
Python does by itself takes a tenth of a short run.
"""

ELSEWHERE = {
    "scan": "scan", "rules": "rulebook", "playbooks": "catalogs", "parsers": "catalogs",
    "baseline": "baseline", "topology": "topology", "calc": "calc", "schema": "catalogs",
}  # fmt: skip
"""Modules of the commands that a diagnosis does not need."""

EPILOG = """\
diagnose PATH... is the same as diagnose run PATH...; `diagnose run --help` lists its options.
A path with the name of a command is given as ./rules.

\b
Completion of commands and options, in the start-up file of the shell:
  bash  eval "$(_DIAGNOSE_COMPLETE=bash_source diagnose)"
  zsh   eval "$(_DIAGNOSE_COMPLETE=zsh_source diagnose)"
  fish  _DIAGNOSE_COMPLETE=fish_source diagnose | source
"""


def print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version and end."""
    if wanted and not context.resilient_parsing:
        from diagnose import VERSION

        click.echo(f"diagnose {VERSION}")
        context.exit()


@click.group(
    cls=DefaultRun,
    elsewhere=ELSEWHERE,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print the version.",
)
@click.pass_context
def main(context: click.Context) -> None:
    """Find the root cause of a failed or slow AI training or inference job from its logs."""
    gc.set_threshold(CYCLES)
    settings = load(run)
    layers = {key: settings[key] for key in ("rules", "playbooks") if key in settings}
    over_shipped = dict.fromkeys(("list", "show", "lint", "test"), layers)
    context.default_map = {
        "run": settings,
        "stdin": settings,
        "scan": {key: settings[key] for key in ("rules", "jobs", "quiet") if key in settings},
        "rules": over_shipped,
        "playbooks": over_shipped,
    }


main.add_command(run)
main.add_command(stdin)
