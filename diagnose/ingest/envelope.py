"""A physical line as the records on it, and a record without its prefixes.

Prefixes nest (``2025-07-04T11:22:33Z stderr F [1,5]<stdout>:[rank5]:[E704 …] text``), so they are
peeled until none is left. Progress bars redraw a line with carriage returns, and processes that
share a stream glue their records together: behind half a line of another process, or two in a row.

>>> line = peel("[1,5]<stdout>:node-c:901:960 [5] NCCL INFO comm", "a.log", 1, NOBODY)
>>> line.rank, line.host, line.pid, line.gpu, line.text
(5, 'node-c', 901, '5', 'NCCL INFO comm')
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.prefix import Hints, strip
from diagnose.ingest.sniff import NOBODY, Identity
from diagnose.ingest.stamp import find_stamp
from diagnose.model.event import Line

__all__ = ["NOBODY", "peel", "records"]

# host:pid:tid [device] of NCCL; the host is found by walking back from the colon.
CORE = LazyPattern(r":\d{1,8}:\d{1,8} \[-?\d{1,3}\] ")
C10D = LazyPattern(
    r"\[[VDIWEF](?:\d{3,4} \d\d:\d\d:\d\d\.\d{1,9} ?)? ?"
    r"[\w.]{1,80}\.(?:cpp|cu|hpp|h):\d{1,6}\] "
)
RANK = LazyPattern(r"\[rank\d{1,6}\]:$")

MAX_RANK = 14
MAX_LEAD = 400
"""Characters between the core of a record and its ``NCCL WARN``, and of all prefixes."""

MAX_STAMP = 42
MAX_HOST = 80
HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def peel(raw: str, file: str, number: int, identity: Identity) -> Line:
    """Return a line with its prefixes taken off.

    Args:
        raw: One record of a line, as ``records`` gives it, without escapes.
        file: Name of the source.
        number: 1-based, in the original text.
        identity: What the name of the source says; prefixes overrule it.
    """
    hints = Hints()
    end = len(raw)
    while end and raw[end - 1] == "\r":
        end -= 1
    start = strip(raw, end, hints)
    text = raw[start:end]
    if text[:1] == "│":
        text = text[1:].removeprefix(" ").rstrip(" │")
    # A task that runs torchrun is a node: its number is no rank.
    task = None if hints.local is not None else hints.task
    rank = hints.rank if hints.rank is not None else task
    return Line(
        file,
        number,
        raw,
        text,
        hints.time,
        hints.clock,
        identity.rank if rank is None else rank,
        identity.local_rank if hints.local is None else hints.local,
        hints.host or identity.host,
        hints.pid,
        hints.gpu,
        hints.stream or identity.stream,
        identity.attempt,
    )


def records(raw: str) -> list[str]:
    """Return the records on a line, at least one; joined they are the line, redraws left out.

    Args:
        raw: A line without its end and without escapes.
    """
    if "\r" not in raw:
        return _glued(raw)
    parts = [part for part in raw.split("\r") if part]
    return [record for part in parts for record in _glued(part)] or [""]


def _glued(raw: str) -> list[str]:
    cuts: set[int] = set()
    if "NCCL " in raw:
        cuts.update(_cores(raw))
    if ".cpp:" in raw or ".hpp:" in raw or ".h:" in raw or ".cu:" in raw:
        cuts.update(_at_rank(raw, found.start()) for found in C10D.finditer(raw))
    places = sorted(cut for cut in cuts if cut)
    # What a launcher or collector put in front belongs to the first record.
    while places and places[0] <= MAX_LEAD and _is_prefix(raw[: places[0]]):
        places.pop(0)
    if not places:
        return [raw]
    edges = [0, *places, len(raw)]
    return [raw[start:end] for start, end in zip(edges, edges[1:], strict=False)]


def _cores(raw: str) -> list[int]:
    starts: list[int] = []
    for found in CORE.finditer(raw):
        if raw.find("NCCL ", found.end(), found.end() + MAX_LEAD) < 0:
            continue
        start = found.start()
        lowest = max(0, start - MAX_HOST, starts[-1] if starts else 0)
        while start > lowest and raw[start - 1] in HOST_CHARACTERS:
            start -= 1
        if start == found.start():
            continue
        if starts and not raw[starts[0]].isdecimal():
            start = _behind_digits(raw, start, found.start())
        starts.append(_at_stamp(raw, start))
    return starts


def _behind_digits(raw: str, start: int, end: int) -> int:
    """Return where a host begins that a number of the record before it was glued to."""
    at = start
    while at < end and raw[at].isdecimal():
        at += 1
    return at if at < end else start


def _at_stamp(raw: str, start: int) -> int:
    """Return where the stamp in front of a record begins, the record itself where it has none."""
    if raw[start - 2 : start].rstrip(" ")[-1:] != "]":
        return start
    opening = raw.rfind("[", max(0, start - MAX_STAMP), start)
    if opening == 0 and raw[5:6] == "-":
        # By far the most common line begins with NCCL's own stamp; parsing it twice is dear.
        return 0
    return opening if opening >= 0 and find_stamp(raw, opening) else start


def _at_rank(raw: str, start: int) -> int:
    """Return where the ``[rank3]:`` in front of a record begins."""
    found = RANK.search(raw, max(0, start - MAX_RANK), start)
    return found.start() if found else start


def _is_prefix(text: str) -> bool:
    return strip(text + "x", len(text) + 1, Hints()) == len(text)
