"""Tables of bandwidth between pairs: who is common to the slow ones.

In such a table a cell is a link, a row a sender, a column a receiver, and a member whose row and
column are low is the host (or GPU) itself. Where more is low than one member explains, it is the
network or its settings. A table is printed as one (``bench.matrix``), or made of many tests of two
hosts: nccl-tests on two nodes, ib_write_bw, iperf3.

``bench.uneven`` is one finding of a table, at the slowest tests in it: ``tool``, ``operation``,
``members`` (``host`` or ``gpu``), ``device``, ``tests``, ``usual`` and ``lowest`` in ``unit``,
``ratio``, ``between`` (the ends of the slowest test), ``low`` (how many tests), ``names`` and
``pattern``:

============ ======================================================================================
``member``   all tests with the name are slow, sent and received, with ``peers`` others
``sender``   all that it sends is slow, what it receives is not
``receiver`` the reverse
``link``     tests between the two names alone are slow; which end it is, they do not say. Of the
             way between a GPU and host memory the GPU is the only name
``many``     slow ones all over the table; the names are in each of them and in no good one
============ ======================================================================================
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from diagnose.facts.bandwidth.square import Cell, Square
from diagnose.facts.bandwidth.tables import HOST_MEMORY, of_links, of_matrices, of_two_nodes
from diagnose.model.event import Event, Value
from diagnose.model.topology import Topology

EVENTS = ("bench.uneven",)

FEWEST_PEERS = 3
"""Others that a member was tested with."""

FEWEST_CELLS = 4
"""Cells that a table needs: one low one of three is no exception."""

MOST_LINKS = 0.25
"""Share of cells up to which low ones are single links."""

MOST_SHOWN = 4
"""Tests at which a finding is shown."""

MOST_LEFT = 0.2
"""Share of the other cells that may be low beside a member that is named."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is common to some low cells; see the words of ``pattern`` above."""

    pattern: str
    names: tuple[str, ...]
    peers: int
    cells: Sequence[Cell]


def derive(events: Sequence[Event], topology: Topology | None) -> Iterator[Event]:
    """Yield the findings of all tables of an input."""
    for square in (*of_two_nodes(events), *of_links(events, topology), *of_matrices(events)):
        if len(square.cells) >= FEWEST_CELLS:
            for finding in findings(square):
                yield from _events(square, finding)


def findings(square: Square) -> list[Finding]:
    """Return what the low cells of a table have in common, nothing where none is low."""
    low = [cell for cell in square.cells if square.is_low(cell)]
    if not low:
        return []
    members = _members(square)
    inside = {finding.names[0] for finding in members}
    beside = [cell for cell in square.cells if not inside & {cell.sender, cell.receiver}]
    left = [cell for cell in beside if square.is_low(cell)]
    if members and beside and len(left) <= MOST_LEFT * len(beside):
        return [*members, *_links(left)]
    one_way = _one_way(square) if square.directed else []
    explained = {(cell.sender, cell.receiver) for finding in one_way for cell in finding.cells}
    rest = [cell for cell in low if (cell.sender, cell.receiver) not in explained]
    if len(rest) <= MOST_LINKS * len(square.cells):
        return [*one_way, *_links(rest)]
    if square.members == "gpu":
        return []  # a machine whose pairs differ by design: bridges, sockets
    return [Finding("many", tuple(_common(square, low)), 0, low)]


def _members(square: Square) -> list[Finding]:
    """Return the members all of whose cells are low, unless they are half of all."""
    found = []
    for name, own in square.by_member().items():
        peers = {end for cell in own for end in (cell.sender, cell.receiver)} - {name}
        if len(peers) >= FEWEST_PEERS and all(map(square.is_low, own)):
            found.append(Finding("member", (name,), len(peers), own))
    return _fewer_than_half(found, square)


def _one_way(square: Square) -> list[Finding]:
    """Return the members of which one direction is low to all and the other is not."""
    found = []
    for name, own in square.by_member().items():
        sent = [cell for cell in own if cell.sender == name]
        received = [cell for cell in own if cell.receiver == name]
        for pattern, one, other in (("sender", sent, received), ("receiver", received, sent)):
            slow = len(one) >= FEWEST_PEERS and all(map(square.is_low, one))
            if slow and sum(map(square.is_low, other)) <= MOST_LEFT * len(other):
                found.append(Finding(pattern, (name,), len(one), one))
    return _fewer_than_half(found, square)


def _fewer_than_half(found: list[Finding], square: Square) -> list[Finding]:
    return found if 2 * len(found) < len(square.by_member()) else []


def _links(low: Sequence[Cell]) -> list[Finding]:
    between: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in low:
        between[tuple(sorted((cell.sender, cell.receiver)))].append(cell)
    return [
        Finding("link", tuple(name for name in ends if not name.startswith(HOST_MEMORY)), 1, cells)
        for ends, cells in between.items()
    ]


def _common(square: Square, low: Sequence[Cell]) -> list[str]:
    return [
        name
        for name, own in square.by_member().items()
        if len(own) == len(low) and all(map(square.is_low, own))
    ]


def _events(square: Square, finding: Finding) -> Iterator[Event]:
    """Yield a finding at its slowest tests, the slowest first."""
    slow = sorted(finding.cells, key=lambda cell: cell.rate)
    worst = slow[0]
    names: list[Value] = [*finding.names]
    fields: dict[str, Value] = {
        **square.about, "members": square.members, "unit": square.unit,
        "tests": len(square.cells), "pattern": finding.pattern, "names": names,
        "peers": finding.peers, "low": len(finding.cells), "usual": square.usual,
        "lowest": worst.rate, "ratio": worst.rate / square.usual,
        "between": f"{worst.sender} and {worst.receiver}",
    }  # fmt: skip
    one = finding.names[0] if finding.pattern != "many" and len(finding.names) == 1 else None
    gpu = one if square.members == "gpu" else None
    shown = {(cell.event.file, cell.event.line): cell.event for cell in reversed(slow[:MOST_SHOWN])}
    for event in reversed(shown.values()):
        host = one if square.members == "host" else event.host
        yield replace(event, name=EVENTS[0], fields=fields, fact=None, host=host, gpu=gpu)
