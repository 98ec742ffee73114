"""Ctrl-C while other processes start or end, which would leave half of them behind."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back until the end, and for good from the processes started meanwhile.

    A terminal sends it to all processes; the one that started the others ends them.
    """
    held: list[int] = []

    def hold(number: int, _frame: FrameType | None) -> None:
        held.append(number)

    handled = current_thread() is main_thread()
    # The mask is for the new processes; in this one, other threads let an interrupt through.
    before = signal.signal(signal.SIGINT, hold) if handled else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if handled:
            signal.signal(signal.SIGINT, before)
    for number in held[:1]:
        signal.raise_signal(number)
