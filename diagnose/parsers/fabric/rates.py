"""Rates of all ports of a host without their names.

::

    $ cat /sys/class/infiniband/*/ports/*/rate
    400 Gb/sec (4X NDR)
    400 Gb/sec (4X NDR)
    200 Gb/sec (2X NDR)

Each listing of two rates or more is one ``ib.rates`` with ``listed`` (how many), ``usual_gbps`` (the rate that
most have) and ``agree`` (how many), ``lowest_gbps`` and its ``place`` in the listing, from 1. The order is that of
the device names as text: mlx5_10 stands before mlx5_2. Which ports are up is not said, and a port that is down
prints a stale rate, SDR or QDR mostly, so these are left out, and so is what has no word for its speed.

*Empty*: no adapter. *Cut off*: the rates behind the cut are missing.
"""

from collections import Counter
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event

_RATE = LazyPattern(r"^\s*([\d.]+) Gb/sec \(\d+X(?: ([A-Z0-9]+))?\)\s*$")
_STALE = (None, "SDR", "QDR")


def _read(lines: list[Line]) -> Iterator[Event]:
    rates = [
        (float(found[1]), place, line)
        for place, line in enumerate(lines, 1)
        if (found := _RATE.match(line.text)) and found[2] not in _STALE
    ]
    if len(rates) < 2:
        return
    usual, agree = Counter(rate for rate, _, _ in rates).most_common(1)[0]
    lowest, place, line = min(rates, key=lambda one: one[:2])
    fields: dict[str, Value] = {
        "listed": len(rates), "usual_gbps": usual, "agree": agree, "lowest_gbps": lowest,
        "place": place,
    }  # fmt: skip
    yield make_event("ib.rates", Nature.MEASUREMENT, line, fields)


RATES = BlockParser(
    name="rates",
    title="rates of ports without their names",
    opens=(" Gb/sec (",),
    starts=lambda line: _RATE.match(line.text) is not None,
    ends=lambda lines, following: _RATE.match(following.text) is None,
    read=_read,
    emits=("ib.rates",),
    sample="400 Gb/sec (4X NDR)\n400 Gb/sec (4X NDR)\n200 Gb/sec (2X NDR)\n",
    maximum=64,
)

PARSERS = (RATES,)
