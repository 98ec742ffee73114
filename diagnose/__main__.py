"""The command ``diagnose``, and ``python -m diagnose``.

Ctrl-C ends it with a message and its status at any moment, also while modules are still loaded.
"""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from diagnose.errors import INTERRUPTED


def main() -> None:
    """Run the program."""
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, _end)
    try:
        from diagnose.cli import main as command

        command()
    finally:
        if handled:
            # All is said. Python takes its time to end, and would die of an interrupt meanwhile.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(_signal: int, _frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"Interrupted.\n")
    sys.exit(INTERRUPTED)


if __name__ == "__main__":  # a worker process may import this module again
    main()
