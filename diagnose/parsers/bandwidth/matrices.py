r"""Bandwidth of all pairs as a square of figures: nvbandwidth, p2pBandwidthLatencyTest, hosts.

nvbandwidth, where the arrow says who reads from whom::

    memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
               0         1
     0       N/A    393.15
     1    393.08       N/A

p2pBandwidthLatencyTest of the CUDA samples, whose diagonal is the memory of the GPU itself::

    Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
       D\D     0      1
         0 2612.12 741.22
         1 740.98 2614.80

A table of hosts, as scripts print it behind a line that says what it is and in which unit::

    ib_write_bw bandwidth, sender in rows (Gb/s)
             node-01 node-02 node-03
    node-01        -   391.2   390.8

Each is one event ``bench.matrix``: ``tool``, ``test``, ``members`` (``gpu`` or ``host``), ``rows`` and ``columns``
(names), ``cells`` (a list for each row, None where a figure is missing) in ``unit`` (``GB/s``, or ``Gb/s``
where the table counts bits), one way, and ``row_sends``: whether the data go from the row to the column; None where the table does not say or
both directions are summed. Latencies in us are left out.

*Empty*: one GPU. *Cut off*: the rows that are there count; rows shorter than the heading are left out.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.host import states_host
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import short_host

_NVBANDWIDTH = LazyPattern(
    r"^(?P<test>memcpy \w+ (?:GPU|CPU)\(row\) (?P<arrow><-|->|<->) (?:GPU|CPU)\(column\)[\w ]*?) bandwidth \(GB/s\)"
)
_SAMPLE = LazyPattern(
    r"^(?P<test>(?:Uni|Bi)directional P2P=(?:En|Dis)abled) Bandwidth (?:\(P2P Writes\) )?Matrix \(GB/s\)"
)
_HOSTS = LazyPattern(
    r"^(?P<test>.{0,60}\b(?i:bandwidth|matrix|pairwise|busbw|all pairs)\b.{0,60})[(\[](?P<unit>GB|Gb|Gbit|MB|MiB)(?:/s|ps)[)\]]"
)
_OPENS = (
    "(GB/s)", "(Gb/s)", "(Gbit/s)", "(MB/s)", "(MiB/s)", "(GBps)", "(Gbps)", "[GB/s]", "[Gb/s]",
    "[Gbit/s]", "[GBps]", "[Gbps]",
)  # fmt: skip
"""Units of a heading; without brackets they stand in every progress bar."""

_FIGURE = LazyPattern(r"^\d[\d.]*$")
_RULE = LazyPattern(r"^[\s|:-]*$")
"""What Markdown draws below the heading; also an empty line."""

_NOTHING = frozenset({"N/A", "-", "--", "x", "X", "nan", "."})

_FACTORS = {"GB": 1.0, "Gb": 1.0, "Gbit": 1.0, "MB": 1e-3, "MiB": (1 << 20) / 1e9}
"""To Gb/s from bits, to GB/s from bytes."""

FEWEST_HOSTS = 3
"""Names that make a heading; two may be any words."""


def _kind(text: str) -> re.Match[str] | None:
    return _NVBANDWIDTH.match(text) or _SAMPLE.match(text) or _HOSTS.match(text)


def _names(line: Line) -> list[str] | None:
    """Return the heading of the columns, None for another line."""
    words = line.text.replace("|", " ").split()
    if words[:1] in (["D\\D"], ["GPU"]):
        words = words[1:]
    if words and all(word.isdigit() for word in words):
        return words
    hosts = [short_host(word) for word in words if states_host(word)]
    return hosts if len(hosts) >= FEWEST_HOSTS and len(hosts) >= len(words) - 1 else None


def _ends(lines: list[Line], following: Line) -> bool:
    if _RULE.match(following.text):
        return False
    words = following.text.replace("|", " ").split()
    named = any(_names(line) is not None for line in lines[1:])
    if not named:
        return _names(following) is None
    return len(words) < 2 or not all(one in _NOTHING or _FIGURE.match(one) for one in words[1:])


def _read(lines: list[Line]) -> Iterator[Event]:
    title = _kind(lines[0].text)
    heads = ((at, names) for at, line in enumerate(lines[1:], 1) if (names := _names(line)))
    place, columns = next(heads, (0, []))
    if title is None or not columns:
        return
    told = title.groupdict()
    test = told["test"].strip()
    scale = _scale(told.get("unit"), both="Bidirectional" in test or told.get("arrow") == "<->")
    rows: dict[str, list[Value]] = {}
    for line in lines[place + 1 :]:
        name, *cells = line.text.replace("|", " ").split() or [""]
        if len(cells) == len(columns) and not _RULE.match(line.text):
            rows[short_host(name)] = [_cell(cell, scale) for cell in cells]
    if not rows:
        return
    gpus = columns[0].isdigit()
    if gpus and "CPU" not in test:
        for name in rows.keys() & set(columns):  # the diagonal is a GPU's own memory
            rows[name][columns.index(name)] = None
    cells_of_rows: list[Value] = [*rows.values()]
    fields: dict[str, Value] = {
        "tool": _tool(told, gpus=gpus), "test": test, "members": "gpu" if gpus else "host",
        "rows": [*rows], "columns": [*columns], "cells": cells_of_rows,
        "unit": "Gb/s" if (told.get("unit") or "").startswith("Gb") else "GB/s",
        "row_sends": _row_sends(told, test),
    }  # fmt: skip
    yield make_event(
        "bench.matrix", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )


def _scale(unit: str | None, *, both: bool) -> float:
    factor = _FACTORS[unit or "GB"]
    return factor / 2 if both else factor


def _cell(text: str, scale: float) -> float | None:
    return None if text in _NOTHING or not _FIGURE.match(text) else float(text) * scale


def _tool(told: dict[str, str], *, gpus: bool) -> str:
    if told.get("arrow"):
        return "nvbandwidth"
    return "p2pBandwidthLatencyTest" if gpus else "table of hosts"


def _row_sends(told: dict[str, str], test: str) -> bool | None:
    if told.get("arrow"):
        return {"->": True, "<-": False}.get(told["arrow"])
    if re.search(r"(?i)sender in columns|receiver in rows|to rows?\b", test):
        return False
    named = re.search(r"(?i)sender|receiver|from rows?|->|client in rows", test)
    return True if named or "Unidirectional" in test else None


MATRICES = BlockParser(
    name="bandwidth-matrices",
    title="nvbandwidth, p2pBandwidthLatencyTest, tables of hosts: bandwidth of all pairs",
    opens=_OPENS,
    starts=lambda line: _kind(line.text) is not None,
    ends=_ends,
    read=_read,
    emits=("bench.matrix",),
    sample=(
        "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
        "           0         1\n"
        " 0       N/A    393.15\n"
        " 1    393.08       N/A\n"
    ),
    maximum=600,
)

PARSERS = (MATRICES,)
