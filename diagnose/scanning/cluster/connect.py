"""How a scheduler is reached, or started on this machine."""

import json
import logging
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from distributed import Client, LocalCluster
from distributed.versions import VersionMismatchWarning

from diagnose.errors import ClusterError
from diagnose.scanning.local import cores

ANSWER = 20.0
"""Seconds in which a scheduler answers, and its file appears."""

_ADDRESS = re.compile(r"\w+://.+|[\w.\-\[\]:]+:\d+")


@contextmanager
def connected(scheduler: str | None, jobs: int | None) -> Iterator[Client]:
    """Give a client of a scheduler.

    Args:
        scheduler: As in ``Dask``.
        jobs: As in ``Dask``.

    Raises:
        ClusterError: The scheduler does not answer.
    """
    place = scheduler or dask.config.get("scheduler-address", None)
    if place is not None:
        with _client_of(place) as client:
            yield client
        return
    with (
        LocalCluster(
            n_workers=jobs or cores(),
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"allowed_failures": 1},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _client_of(place: str) -> Client:
    address = place if _ADDRESS.fullmatch(place) else _address_in(Path(place))
    try:
        with warnings.catch_warnings():
            # Releases of Dask that cannot talk to each other fail; the others are nobody's trouble.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            return Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ImportError, ValueError, TypeError) as error:
        raise ClusterError(
            f"the Dask scheduler at {address} does not answer: {error}. Is `dask scheduler` "
            "running there, and its port open to this machine?"
        ) from error


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
