"""Ctrl-C: the first one ends the reading of a run, the second one the run."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import click

INTERRUPTED = 130
"""Exit status."""

SO_FAR = "Interrupted: judging what was read until now. Ctrl-C again ends at once."


@contextmanager
def interruptible() -> Iterator[None]:
    """Say at the first interrupt what comes of it, and let the next one end the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def first(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with suppress(RuntimeError):  # it may come in the middle of another message
            click.echo(SO_FAR, err=True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
