r"""Error counters of a link since they were last cleared, as ``mlxlink -c`` prints them.

Sample::

    # mlxlink -d mlx5_3 -m -c -e
    Physical Counters and BER Info
    ------------------------------
    Time Since Last Clear [Min]        : 8123.4
    Symbol Errors                      : 0
    Effective Physical Errors          : 0
    Link Down Counter                  : 0
    Link Error Recovery Counter        : 0

The only tool that says since when it counts: ``since`` is that time in seconds, so one reading is a rate. Effective
errors are those before a link repeats what was lost (from HDR on) and are left to the bit error rate.

Empty: ``-c`` was not given. Cut off: counters behind the cut are missing.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser
from diagnose.parsers.fabric.counter_table import EVENT, Counter, reading

COMMAND = LazyPattern(r"\bmlxlink\b.*?\s(?:-d|--device)[ =]?(?P<device>[\w.:/-]+)")
SINCE = LazyPattern(r"^\s*Time Since Last Clear \[Min\]\s*:\s*(?P<minutes>\d+(?:\.\d+)?)\s*$")
ROW = LazyPattern(r"^\s*(?P<name>[A-Z][\w ]*?)\s*:\s*(?P<value>\d+)\s*$")
INSIDE = LazyPattern(r"^\s*(?:$|-+$|[A-Z][\w /()\[\].-]*(?:\s*:.*)?$)")


def _ends(lines: list[Line], following: Line) -> bool:
    return COMMAND.search(following.text) is not None or INSIDE.match(following.text) is None


def read(lines: list[Line]) -> Iterator[Event]:
    """Return the counters of a link."""
    command = COMMAND.search(lines[0].text)
    since = next((found for line in lines if (found := SINCE.match(line.text))), None)
    if since is None:
        return
    counters: list[Counter] = [
        (row["name"], int(row["value"]), line) for line in lines if (row := ROW.match(line.text))
    ]
    device = command["device"] if command else None
    yield from reading(counters, device, None, "mlxlink", since=float(since["minutes"]) * 60)


PARSERS = (
    BlockParser(
        name="mlxlink-counters",
        title="mlxlink -c: errors of a link since they were cleared",
        opens=("mlxlink ", "Time Since Last Clear"),
        starts=lambda line: (
            COMMAND.search(line.text) is not None or SINCE.match(line.text) is not None
        ),
        ends=_ends,
        read=read,
        emits=(EVENT,),
        sample="Time Since Last Clear [Min]        : 8123.4\nSymbol Errors                      : 0\n",
        maximum=300,
    ),
)
