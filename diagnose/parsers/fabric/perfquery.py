r"""Counters of one port as ``perfquery`` asks the port for them.

Sample::

    # Port extended counters: Lid 131 port 1 (CapMask: 0x5A00 CapMask2: 0x0000002)
    PortSelect:......................1
    CounterSelect:...................0x0000
    PortXmitData:....................1298734987234
    SymbolErrorCounter:..............25
    LinkDownedCounter:...............2
    PortXmitWait:....................91827364

The port is a LID (decimal, or hexadecimal as some wrappers print it) or a directed route; the host is
not printed. ``device`` is ``lid 131``, or the adapter that the command before it names
(``perfquery -x -C mlx5_3``). A port may be any in the fabric, a switch's too.

Counters of the classic set (``Port counters:``) stop at their largest value; the table says where.

Empty: the port has no counters (``N/A``). Cut off: counters behind the cut are missing.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser
from diagnose.parsers.fabric.counter_table import EVENT, Counter, number, reading

HEAD = LazyPattern(
    r"^#?\s*Port (?:extended )?counters:\s+(?:Lid (?P<lid>0x[0-9a-fA-F]+|\d+)|(?P<route>DR path [^:]+?))"
    r"\s+port (?P<port>\d+)"
)
COMMAND = LazyPattern(
    r"\bperfquery\b(?:\s+-\S+|\s+\d+)*?\s+(?:-C|--Ca)[ =]?(?P<device>[a-z][\w.-]*)"
)
ROW = LazyPattern(r"^\s*(?P<name>\w+):[.\s]*(?P<value>[\w/]+)(?: \(.*\))?\s*$")


def _starts(line: Line) -> bool:
    return HEAD.match(line.text) is not None or COMMAND.search(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    if HEAD.match(following.text):
        return len(lines) > 1 or HEAD.match(lines[0].text) is not None
    return ROW.match(following.text) is None


def read(lines: list[Line]) -> Iterator[Event]:
    """Return the counters of a port."""
    command = COMMAND.search(lines[0].text)
    head = next((head for line in lines[:2] if (head := HEAD.match(line.text))), None)
    if head is None:
        return
    counters: list[Counter] = []
    for line in lines:
        row = ROW.match(line.text)
        value = number(row["value"]) if row else None
        if row is not None and value is not None:
            counters.append((row["name"], value, line))
    lid = number(head["lid"]) if head["lid"] else None
    device = command["device"] if command else f"lid {lid}" if lid else head["route"]
    yield from reading(counters, device, int(head["port"]), "perfquery", lid=lid)


PARSERS = (
    BlockParser(
        name="perfquery",
        title="perfquery: counters of one port",
        opens=("ort counters: ", "extended counters: ", "perfquery "),
        starts=_starts,
        ends=_ends,
        read=read,
        emits=(EVENT,),
        sample=(
            "# Port extended counters: Lid 131 port 1 (CapMask: 0x5A00 CapMask2: 0x0000002)\n"
            "PortSelect:......................1\n"
            "SymbolErrorCounter:..............25\n"
        ),
        maximum=60,
    ),
)
