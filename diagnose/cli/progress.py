"""How far a long run is, its rate and what time is left: on standard error, only on a terminal."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds after which a run counts as long."""

PAUSE = 0.1
"""Seconds between two drawings."""


class Bar:
    """A bar that appears when a run takes long and goes when it ends.

    It is drawn by the calls alone: a thread that draws would be copied half-way into the worker
    processes.
    """

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + PATIENCE
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()

    def __call__(self, done: int, total: int) -> None:
        """Take note of the bytes that are read and the bytes there are."""
        now = time.monotonic()
        if not self._wanted or now < self._next:
            return
        self._next = now + PAUSE
        if self._shown is None:
            self._shown = _start(done, total)
        progress, task = self._shown
        progress.update(task, completed=done, total=total)
        progress.refresh()

    def say(self, message: str) -> None:
        """Print a line on standard error, above the bar."""
        if self._shown is None:
            click.echo(message, err=True)
        else:
            self._shown[0].console.print(message, markup=False, highlight=False, soft_wrap=True)


def _start(done: int, total: int) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    progress = Progress(
        TextColumn("Reading"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    task = progress.add_task("read", completed=done, total=total)
    progress.start()
    return progress, task
