"""``diagnose baseline``: what a healthy run gave, as the measure for others."""

from pathlib import Path

import click

from diagnose.cli.output import deliver
from diagnose.cli.progress import Bar


@click.group()
def baseline() -> None:
    """Write what a healthy run gives, for --baseline."""


@baseline.command("new")
@click.option(
    "--from",
    "paths",
    type=click.Path(),
    metavar="PATH",
    required=True,
    multiple=True,
    help="Logs of a healthy run: a folder, file, archive or glob; may be repeated.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the baseline to a file, not to standard output.",
)
@click.option("--force", is_flag=True, help="Write it even if the run is not healthy.")
def new_baseline(paths: tuple[str, ...], output: Path | None, force: bool) -> None:
    """Write a baseline: the medians of a healthy run after warm-up, and its bandwidth tests."""
    from diagnose import api

    with Bar(wanted=True) as bar:
        name = str(output) if output is not None else "baseline.yaml"
        text = api.new_baseline(paths, file=name, force=force, progress=bar)
    deliver(text, output)
