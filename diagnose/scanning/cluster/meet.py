"""What scheduler and workers must have before they get work: this program, and the files."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from distributed import Client

from diagnose.errors import ClusterError
from diagnose.ingest.address import ADDRESS
from diagnose.scanning.cluster.release import Release, release
from diagnose.scanning.cluster.worker import Greeting, greet
from diagnose.scanning.units import Unit

PATIENCE = 60.0
"""Seconds to wait for a worker where there is none; batch systems start them one after another."""

FOLDERS = 100
"""Folders of which each worker is asked whether it sees a file."""

NAMED = 3
"""Workers named in a message."""


def meet(client: Client, ours: Release, units: Sequence[Unit]) -> None:
    """See that a scheduler and its workers are ready.

    Args:
        client: Of the scheduler.
        ours: The installation of this machine.
        units: What is to be read.

    Raises:
        ClusterError: They are not; it names who and why.
    """
    await_workers(client)
    paths = [unit.source.path for unit in units if unit.source.path is not None]
    by_folder = {Path(path).parent: path for path in paths if not ADDRESS.match(path)}
    asked = [path for path in islice(by_folder.values(), FOLDERS) if Path(path).exists()]
    greetings: dict[str, Greeting | Exception] = client.run(greet, asked, on_error="return")
    problems = [
        f"the worker {address} {problem}"
        for address, greeting in sorted(greetings.items())
        if (problem := _problem(greeting, ours)) is not None
    ]
    if problems:
        more = len(problems) - NAMED
        others = f"; so it is with {more} more" if more > 0 else ""
        raise ClusterError("; ".join(problems[:NAMED]) + others)
    _meet_scheduler(client, ours)


def await_workers(client: Client) -> None:
    """Wait until a scheduler has a worker.

    Raises:
        ClusterError: None came in time.
    """
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        address = client.scheduler.address
        raise ClusterError(
            f"the Dask scheduler at {address} has had no worker for {PATIENCE:.0f} s; "
            f"`dask worker {address}` starts one"
        ) from error


def _problem(greeting: Greeting | Exception, ours: Release) -> str | None:
    if isinstance(greeting, Exception):
        return f"cannot run {ours}, which this machine has: {greeting}"
    if greeting.release != ours:
        return f"on {greeting.host} has {greeting.release}, but this machine {ours}"
    if greeting.unseen is not None:
        return (
            f"on {greeting.host} does not see {greeting.unseen}: its folder is not shared with the "
            "workers. Put the logs where all machines see them under the same path, or read them "
            "here with --engine local"
        )
    return None


def _meet_scheduler(client: Client, ours: Release) -> None:
    """See that the scheduler has this program too: Dask unpacks there what it hands on."""
    try:
        theirs = client.run_on_scheduler(release)
    except (ImportError, AttributeError) as error:
        raise ClusterError(f"the scheduler cannot run {ours}: {error}") from error
    if theirs != ours:
        raise ClusterError(f"the scheduler has {theirs}, but this machine {ours}")
