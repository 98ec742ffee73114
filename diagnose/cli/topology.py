"""``diagnose topology``: a draft of the inventory, from logs."""

from pathlib import Path

import click

from diagnose.cli.options import draft_options
from diagnose.cli.output import deliver
from diagnose.cli.progress import Bar
from diagnose.errors import UsageError


@click.group()
def topology() -> None:
    """Draft an inventory of hosts, adapters and switches, for --topology."""


@topology.command("new")
@draft_options("Logs of the hosts", "inventory")
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
