"""What a test between two ends measured, and which ends they are, whichever program printed it."""

import re

from diagnose.ingest.host import short, states_host
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import make_event

FIELDS = (
    "tool", "operation", "local", "remote", "outbound", "device", "link_layer", "mtu", "gid_index",
    "streams", "bidirectional", "size", "gbps", "latency", "retransmits", "bytes", "lost",
)  # fmt: skip

_TWO_HOSTS = LazyPattern(
    r"(?<![A-Za-z0-9])(?P<word>[A-Za-z][A-Za-z0-9-]*?)(?P<one>\d+)"
    r"(?:_to_|-to-|_vs_|-vs-|->|__|--|[_.,-])(?P=word)(?P<other>\d+)(?![A-Za-z0-9])"
)
_OTHERS = frozenset(
    {"rank", "gpu", "mlx", "ib", "eth", "step", "run", "try", "test", "device", "nic"}
)


def link(line: Line, fields: dict[str, Value]) -> Event:
    """Return the event of a test between two ends; what a program does not print is None.

    Args:
        line: Where the result stands.
        fields: Some of ``FIELDS``: ``local`` is the end that printed it, ``outbound`` whether the data
            went from there to ``remote``; ``gbps`` is one way in Gb/s, ``latency`` in seconds, ``lost``
            a share, ``size`` and ``bytes`` in bytes. A file that is named after both ends knows best.
    """
    whole = {name: fields.get(name) for name in FIELDS}
    named = ends_in_name(line.file)
    if named is not None:
        whole["local"], whole["remote"] = named
        whole["host"] = named[0]
    if whole["device"] is not None:
        whole["nic"] = whole["device"]
    return make_event("bench.link", Nature.MEASUREMENT, line, whole)


def host_word(text: str) -> str | None:
    """Return a host name or an address that a program was given, None if it is neither."""
    return short(text) if states_host(text) else None


def ends_in_name(name: str) -> tuple[str, str] | None:
    """Return the two hosts that a file is named after: ``node-01_node-02.txt``.

    Both must be numbered alike, so that no other numbers of a name count as hosts.
    """
    found = _TWO_HOSTS.search(re.split(r"[/\\!]", name)[-1])
    if found is None or found["one"] == found["other"]:
        return None
    word = found["word"]
    if word.lower().strip("-") in _OTHERS:
        return None
    return word + found["one"], word + found["other"]
