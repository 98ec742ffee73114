"""``diagnose scan``: read logs where they lie, and save what was found for a run elsewhere."""

from pathlib import Path

import click

from diagnose.cli.options import processes, rules_option
from diagnose.cli.progress import Bar

KIB = 1024


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
@click.option(
    "--jobs",
    envvar="DIAGNOSE_JOBS",
    type=processes,
    metavar="N",
    help="Processes to read with; one a core by default.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but mistakes.")
def scan(
    paths: tuple[str, ...], save: Path, rules: tuple[Path, ...], jobs: int | None, quiet: bool
) -> None:
    """Read logs where they lie, and save what was found in a part.

    A part is a thousand times smaller than its logs. `diagnose run PART...` then judges all parts
    of a job in one place, as it would judge the logs. A part of parts puts them together.
    """
    from diagnose import api

    with Bar(wanted=not quiet) as bar:
        saved = api.scan(paths, save=save, rules=rules, jobs=jobs, progress=bar)
    if not quiet:
        files = "1 file" if saved.files == 1 else f"{saved.files:,} files"
        found = f"{saved.events:,} events and {saved.series:,} series"
        read = f"{files}, {_size(saved.bytes)}: {found} in {_size(saved.size)}"
        click.echo(f"{save}: {read}", err=True)


def _size(count: float) -> str:
    """Return bytes as people read them."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= KIB and len(units) > 1:
        count /= KIB
        units.pop(0)
    return f"{count:.0f} B" if units[0] == "B" else f"{count:.1f} {units[0]}"
