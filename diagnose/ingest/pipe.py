"""What flows out of a pipe that the user named: ``diagnose <(kubectl logs trainer-0)``."""

import os
import select
import stat

from diagnose.errors import Unreadable

MAX_BYTES = 256 << 20
"""Bytes taken of a pipe; they are held in memory, since it can be read once only."""

WAIT = 5.0
"""Seconds for which a pipe may have no writer."""


def flows(path: str) -> bool:
    """Return whether a path is a pipe, or the terminal on standard input.

    Args:
        path: As the user gave it.
    """
    try:
        status = os.stat(path)  # noqa: PTH116
        if stat.S_ISFIFO(status.st_mode):
            return True
        return (
            stat.S_ISCHR(status.st_mode) and os.path.samestat(status, os.fstat(0)) and os.isatty(0)
        )
    except OSError:
        return False


def read_pipe(path: str) -> tuple[bytes, bool]:
    """Return what a pipe gives until its writers are done.

    Args:
        path: Of the pipe.

    Returns:
        At most ``MAX_BYTES``, and whether that is all.

    Raises:
        Unreadable: Nobody writes to it.
        OSError: It cannot be opened or read.
    """
    # An ordinary open would wait for a writer for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        first: bytes | None = b""
        if not waiting.poll(WAIT * 1000):
            # None stands for a writer that has nothing to say yet, no bytes for no writer.
            first = pipe.read(1)
            if first == b"":
                raise Unreadable("a named pipe that nobody writes to")
        os.set_blocking(descriptor, True)
        parts = [first or b""]
        have = len(parts[0])
        while have <= MAX_BYTES and (part := pipe.read(1 << 20)):
            parts.append(part)
            have += len(part)
    data = b"".join(parts)
    return data[:MAX_BYTES], have <= MAX_BYTES
