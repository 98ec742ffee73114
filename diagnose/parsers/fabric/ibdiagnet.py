"""Checks of a whole fabric by ``ibdiagnet``: the table at its end, and its lines ``-E-`` and ``-W-``.

::

    -I- Stage                     Warnings   Errors     Comment
    -I- Discovery                 0          0
    -I- Links Check               0          0
    -I- Port Counters             0          3
    -I- Nodes Information         2          0
    -I- Speed / Width checks      0          1
    -I- Partition Keys            0          0

Each row of the table is one ``ib.check`` with ``stage`` (as printed), ``check`` (one word for the stages whose
meaning is known, see ``CHECKS``; else None), ``warnings``, ``errors`` and ``comment``. Columns have other
widths in other versions, and newer ones have more stages. Each line that names a fault is one ``ib.complaint``
with ``severity`` (``error``, ``warning``) and ``message``, and the host and device where it begins with them.

*Empty*: the table is at the end, so that without it the run was cut off or did not get that far.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.convert import short_host

CHECKS = (
    ("links", r"links? check"),
    ("speed-width", r"speed ?/ ?width|link (?:speed|width)"),
    ("counters", r"port counters|ber test|error counters"),
    ("nodes", r"nodes? info"),
    ("partitions", r"partition|p_?keys?"),
    ("rails", r"rail optimized"),
    ("subnet-manager", r"subnet manager|sm info"),
    ("guids", r"alias guids|duplicated? guid"),
    ("lids", r"lids? check"),
    ("temperature", r"temperature"),
    ("cables", r"cable|phy diagnostic"),
    ("routing", r"routing|routers|credit loop"),
)
"""One word for a stage, and how its versions begin, in small letters."""

_CHECK = LazyPattern("|".join(f"(?P<{name.replace('-', '_')}>{words})" for name, words in CHECKS))
_HEADING = LazyPattern(r"^\s*-I- Stage\s+Warnings\s+Errors\b")
_ROW = LazyPattern(r"^\s*-I- (.+?)\s+(\d+)\s+(\d+)(?:\s+(.*?))?\s*$")


def _read(lines: list[Line]) -> Iterator[Event]:
    for line in lines[1:]:
        row = _ROW.match(line.text)
        if row is None:
            continue
        check = _CHECK.match(row[1].lower())
        fields: dict[str, Value] = {
            "stage": row[1],
            "check": check.lastgroup.replace("_", "-") if check and check.lastgroup else None,
            "warnings": int(row[2]),
            "errors": int(row[3]),
            "comment": row[4] or None,
        }
        yield make_event("ib.check", Nature.MEASUREMENT, line, fields)


TABLE = BlockParser(
    name="ibdiagnet-summary",
    title="ibdiagnet: the table of its checks",
    opens=("-I- Stage",),
    starts=lambda line: _HEADING.match(line.text) is not None,
    ends=lambda lines, following: bool(following.text.strip()) and not _ROW.match(following.text),
    read=_read,
    emits=("ib.check",),
    sample=(
        "-I- Stage                     Warnings   Errors     Comment\n"
        "-I- Discovery                 0          0\n"
        "-I- Links Check               0          0\n"
        "-I- Port Counters             0          3\n"
        "-I- Nodes Information         2          0\n"
        "-I- Speed / Width checks      0          1\n"
    ),
    maximum=80,
)


_NAMED = LazyPattern(r"([A-Za-z][\w.-]*\d)[ /](mlx5_\w+|HCA-\d+)\b")


def _who(event: Event, line: Line) -> Event:
    named = _NAMED.match(str(event.fields["message"]))
    if named is not None:
        event.host = short_host(named[1])
        event.nic = event.fields["device"] = named[2]
    event.fields["severity"] = {"E": "error", "W": "warning"}[str(event.fields["severity"])]
    return event


LINES = LineParser(
    name="ibdiagnet-lines",
    title="ibdiagnet: its errors and warnings",
    patterns=(
        Pattern(
            event="ib.complaint",
            regex=r"^\s*-(?P<severity>[EW])- (?P<message>\S.*)",
            literals=("-E- ", "-W- "),
            nature=Nature.MEASUREMENT,
            source="ibdiagnet 2.x of ibutils2 and UFM",
            sample="-E- node-17/mlx5_3/P1 - Link width is 2x but both ends support 4x",
        ),
    ),
    refine=_who,
)

PARSERS = (TABLE, LINES)
