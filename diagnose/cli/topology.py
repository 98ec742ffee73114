"""``diagnose topology``: a draft of the inventory, from logs."""

from pathlib import Path

import click

from diagnose.cli.output import deliver
from diagnose.cli.progress import Bar
from diagnose.errors import UsageError


@click.group()
def topology() -> None:
    """Draft an inventory of hosts, adapters and switches, for --topology."""


@topology.command("new")
@click.option(
    "--from",
    "paths",
    type=click.Path(),
    metavar="PATH",
    required=True,
    multiple=True,
    help="Logs of the hosts: a folder, file, archive or glob; may be repeated.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the inventory to a file, not to standard output.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def new_topology(paths: tuple[str, ...], output: Path | None, force: bool) -> None:
    """Draft an inventory: hosts, addresses, GPUs, adapters and what the logs say of switches."""
    from diagnose import api

    if output is not None and output.exists() and not force:
        message = f"{output} is there already; inventories are kept by hand"
        raise UsageError(f"{message}. Name another file, or write over it with --force")
    with Bar(wanted=True) as bar:
        name = str(output) if output is not None else "topology.yaml"
        text = api.new_topology(paths, file=name, progress=bar)
    deliver(text, output)
