"""``diagnose scan``: read logs where they lie, and save what was found for a run elsewhere."""

from pathlib import Path

import click

from diagnose.cli.options import jobs_option, rules_option
from diagnose.cli.progress import Bar


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PART",
    required=True,
    help="File for what was found, called after the host: node-07.part.",
)
@rules_option
@jobs_option
@click.option("--quiet", is_flag=True, help="Print nothing but mistakes.")
def scan(
    paths: tuple[str, ...], save: Path, rules: tuple[Path, ...], jobs: int | None, quiet: bool
) -> None:
    """Read logs where they lie, and save what was found in a part.

    A part is a thousand times smaller than its logs. `diagnose run PART...` then judges all parts
    of a job in one place, as it would judge the logs. A part of parts puts them together.
    """
    from diagnose import api
    from diagnose.filters import size

    with Bar(wanted=not quiet) as bar:
        saved = api.scan(paths, save=save, rules=rules, jobs=jobs, progress=bar)
    if not quiet:
        files = "1 file" if saved.files == 1 else f"{saved.files:,} files"
        found = f"{saved.events:,} events and {saved.series:,} series"
        read = f"{files}, {size(saved.bytes)}: {found} in {size(saved.size)}"
        click.echo(f"{save}: {read}", err=True)
