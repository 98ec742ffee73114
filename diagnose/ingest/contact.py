"""Whether a server can be reached at all, told by the connections that this process has.

Where nobody answers, as on a cluster without a way out, libraries try again for a minute. A store
that is merely slow has taken a connection long before its answer.
"""

import os
import socket
from ipaddress import ip_address
from math import inf
from pathlib import Path
from stat import S_ISSOCK
from time import monotonic

REACH = 10.0
"""Seconds in which a server takes a connection."""

OPEN = Path("/dev/fd")
"""Lists what this process has open."""

Ends = tuple[object, object]
"""Of a connection, here and there."""


class Contact:
    """What is known of a server, since a run began to ask it.

    Args:
        watched: Whether its library connects in this process.
    """

    def __init__(self, *, watched: bool) -> None:
        self.reached = not watched or not OPEN.is_dir()
        self.silent = False
        self._latest = inf
        self._others = frozenset() if self.reached else _connections()

    def begin(self) -> None:
        """Let the time run, now that the library is loaded."""
        self._latest = min(self._latest, monotonic() + REACH)

    def lost(self) -> bool:
        """Return whether time is up and there was no connection; to be asked again and again."""
        self.reached = self.reached or not _connections() <= self._others
        return not self.reached and monotonic() > self._latest


def _connections() -> frozenset[Ends]:
    found = (_ends(int(path.name)) for path in OPEN.iterdir())
    return frozenset(ends for ends in found if ends is not None)


def _ends(descriptor: int) -> Ends | None:
    """Return the ends of a connection over a network, None for all else that may be open.

    A cloud's machines ask a link-local address for credentials, which says nothing of the store.
    """
    try:
        if not S_ISSOCK(os.fstat(descriptor).st_mode):
            return None
        with socket.socket(fileno=os.dup(descriptor)) as one:
            if one.type != socket.SOCK_STREAM or one.family == socket.AF_UNIX:
                return None
            there = one.getpeername()
            return None if ip_address(there[0]).is_link_local else (one.getsockname(), there)
    except (OSError, ValueError):  # closed meanwhile, or not connected
        return None
