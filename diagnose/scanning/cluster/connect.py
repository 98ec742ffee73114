"""How a scheduler is reached, or started on this machine."""

import json
import logging
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from pathlib import Path

import dask
from distributed import Client, LocalCluster, Security
from distributed.comm import parse_address
from distributed.comm.registry import get_backend
from distributed.utils import silence_logging_cmgr
from distributed.versions import VersionMismatchWarning

from diagnose.errors import ClusterError
from diagnose.scanning.interrupts import interrupts_later
from diagnose.scanning.local import cores

ANSWER = 20.0
"""Seconds in which a scheduler answers, and its file appears."""

SILENT = logging.CRITICAL + 1

LOCAL = {"allowed_failures": 1, "dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""A scheduler for one run: a file that killed two workers kills more, and there is no dashboard."""

_ADDRESS = re.compile(r"\w+://.+|[\w.\-\[\]:]+:\d+")


@contextmanager
def connected(scheduler: str | None, jobs: int | None) -> Iterator[Client]:
    """Give a client of a scheduler; what Dask logs on the way is left out.

    Args:
        scheduler: As in ``Dask``.
        jobs: As in ``Dask``.

    Raises:
        ClusterError: The scheduler does not answer, or workers do not start.
    """
    place = scheduler or dask.config.get("scheduler-address", None)
    with silence_logging_cmgr(SILENT), _client_of(place) if place else _local(jobs) as client:
        yield client


@contextmanager
def _local(jobs: int | None) -> Iterator[Client]:
    """Give a client of a scheduler and workers that are started on this machine.

    Raises:
        ClusterError: They do not start.
    """
    resource_tracker.ensure_running()  # which lets Ctrl-C through
    with ExitStack() as running:
        with interrupts_later():
            cluster = running.enter_context(_started(jobs))
            client = running.enter_context(Client(cluster, set_as_default=False))
        try:
            yield client
        finally:
            with interrupts_later():
                running.close()


def _started(jobs: int | None) -> LocalCluster:
    try:
        return LocalCluster(
            n_workers=jobs or cores(),
            threads_per_worker=1,
            silence_logs=SILENT,
            scheduler_kwargs=LOCAL,
        )
    except RuntimeError as error:
        raise ClusterError(
            "workers cannot be started on this machine. A script that calls diagnose.run needs "
            "`if __name__ == '__main__':` before the call; a command can do with --engine local"
        ) from error


def _client_of(place: str) -> Client:
    address = place if _ADDRESS.fullmatch(place) else _address_in(Path(place))
    try:
        _check_address(address)
        with warnings.catch_warnings():
            # Releases of Dask that cannot talk to each other fail; the others are nobody's trouble.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            return Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ImportError, ValueError) as error:
        raise ClusterError(
            f"the Dask scheduler at {address} does not answer: {error}. Is `dask scheduler` "
            "running there, and its port open to this machine?"
        ) from error


def _check_address(address: str) -> None:
    """See that an address can be tried; a client that cannot even try takes 40 s to go away.

    Raises:
        ValueError: It has a scheme that Dask does not know, or that needs certificates, or no port.
    """
    scheme, place = parse_address(address)
    get_backend(scheme).get_address_host(place)
    if scheme == "tls" and Security().get_connection_args("client").get("ssl_context") is None:
        raise ValueError("tls needs the certificates that distributed.comm.tls of Dask names")


def _address_in(file: Path) -> str:
    """Return the address in a scheduler file, which may be about to be written."""
    latest = time.monotonic() + ANSWER
    while True:
        try:
            return str(json.loads(file.read_text(encoding="utf-8"))["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if time.monotonic() > latest:
                raise ClusterError(
                    f"{file} is neither the address of a Dask scheduler nor a file that one "
                    f"wrote: {error}. `dask scheduler --scheduler-file {file}` writes it"
                ) from error
        time.sleep(0.1)
