"""Ctrl-C: the first one ends the reading of a run, the second one the run."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import click

SO_FAR = "Interrupted: judging what was read until now. Ctrl-C again ends at once."

Progress = Callable[[int, int], None]


class Interrupts:
    """Whether Ctrl-C came during a run, and how far the reading was then."""

    def __init__(self) -> None:
        self.came = False
        self._done = self._total = 0

    def during(self, progress: Progress) -> Progress:
        """Return a progress function that takes note on the way.

        An interrupt is lost where Python cannot pass it on, as while it discards objects; then it
        ends the reading here.
        """

        def told(done: int, total: int) -> None:
            self._done, self._total = done, total
            progress(done, total)
            if self.came and done < total:
                raise KeyboardInterrupt

        return told

    def take(self) -> None:
        """Say what comes of an interrupt, and end the reading if it goes on.

        Raises:
            KeyboardInterrupt: It does, or has not begun.
        """
        self.came = True
        if self._done:
            with suppress(RuntimeError, OSError):  # it may come in the middle of another message
                click.echo(SO_FAR, err=True)
        if not self._done or self._done < self._total:
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Let the first interrupt end the reading alone, and the next one the program."""
    interrupts = Interrupts()
    before = signal.getsignal(signal.SIGINT)
    aside = threading.current_thread() is not threading.main_thread()
    if aside or before is signal.SIG_IGN:  # as a shell has it for what runs in the background
        yield interrupts
        return

    def first(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        interrupts.take()

    signal.signal(signal.SIGINT, first)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
