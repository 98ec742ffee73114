"""``diagnose baseline``: what a healthy run gave, as the measure for others."""

from pathlib import Path

import click

from diagnose.cli.options import draft_options
from diagnose.cli.output import deliver
from diagnose.cli.progress import Bar


@click.group()
def baseline() -> None:
    """Write what a healthy run gives, for --baseline."""


@baseline.command("new")
@draft_options("Logs of a healthy run", "baseline")
@click.option("--force", is_flag=True, help="Write it even if the run is not healthy.")
def new_baseline(paths: tuple[str, ...], output: Path | None, force: bool) -> None:
    """Write a baseline: the medians of a healthy run after warm-up, and its bandwidth tests."""
    from diagnose import api

    with Bar(wanted=True) as bar:
        name = str(output) if output is not None else "baseline.yaml"
        text = api.new_baseline(paths, file=name, force=force, progress=bar)
    deliver(text, output)
