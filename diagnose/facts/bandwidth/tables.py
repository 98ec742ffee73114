"""Tables of pairs, made of the tests in an input, and the names of both ends of a test."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from diagnose.facts.bandwidth.square import LOW, LOW_STREAM, Cell, Square, best_of_each
from diagnose.facts.identity import host_addresses
from diagnose.model.event import Event, Value
from diagnose.model.topology import Topology

HOST_MEMORY = "CPU"
"""What nvbandwidth calls it; its number is that of the NUMA node."""

TWO = 2
"""Hosts of a test that is one cell of a table."""


def of_two_nodes(events: Sequence[Event]) -> Iterator[Square]:
    """Yield a table of the tests of collectives on two nodes that were run alike."""
    names = ("tool", "collective", "ranks", "gpu_model", "plateau_size")
    alike: dict[tuple[Value, ...], list[Cell]] = defaultdict(list)
    for event in events:
        hosts, rate = event.fields.get("hosts"), event.number("plateau_busbw")
        if event.name != "nccl_tests.result" or not rate:
            continue
        if isinstance(hosts, list) and len(hosts) == TWO:
            one, other = map(str, hosts)
            key = tuple(event.fields.get(name) for name in names)
            alike[key].append(Cell(one, other, rate, event))
    for key, cells in alike.items():
        about: dict[str, Value] = {"tool": key[0], "operation": key[1], "device": None}
        yield Square("host", "GB/s", False, best_of_each(cells, directed=False), about)


def of_links(events: Sequence[Event], topology: Topology | None) -> Iterator[Square]:
    """Yield a table of the tests between two ends that were run alike, one a device."""
    names = ("tool", "operation", "device", "streams", "bidirectional", "size")
    alike: dict[tuple[Value, ...], list[Cell]] = defaultdict(list)
    for cell in links(events, topology):
        alike[tuple(cell.event.fields.get(name) for name in names)].append(cell)
    for key, cells in alike.items():
        directed = not key[4]
        about: dict[str, Value] = {"tool": key[0], "operation": key[1], "device": key[2]}
        low = LOW_STREAM if key[1] == "tcp" and key[3] == 1 else LOW
        yield Square("host", "Gb/s", directed, best_of_each(cells, directed=directed), about, low)


def links(events: Sequence[Event], topology: Topology | None) -> Iterator[Cell]:
    """Yield the tests between two ends; a LID whose host is not known is an end as well."""
    hosts = {**host_addresses(events, topology), **_lids(events)}
    for event in events:
        rate = event.number("gbps")
        if event.name != "bench.link" or not rate:
            continue
        near = event.host or _named(event.fields.get("local"), hosts)
        far = _named(event.fields.get("remote"), hosts)
        if near is not None and far is not None and near != far:
            outbound = event.fields.get("outbound") in (True, None)
            yield Cell(*((near, far) if outbound else (far, near)), rate, event)


def of_matrices(events: Sequence[Event]) -> Iterator[Square]:
    """Yield the tables that are printed as such; what goes through host memory is left out."""
    for event in events:
        if event.name != "bench.matrix" or "P2P=Disabled" in str(event.fields.get("test")):
            continue
        about: dict[str, Value] = {
            "tool": event.fields.get("tool"), "operation": event.fields.get("test"), "device": None,
        }  # fmt: skip
        directed = event.fields.get("row_sends") is not None
        cells = best_of_each(list(_cells(event)), directed=directed)
        members, unit = str(event.fields.get("members")), str(event.fields.get("unit"))
        yield Square(members, unit, directed, cells, about)


def _cells(event: Event) -> Iterator[Cell]:
    rows, columns, table = (event.fields.get(name) for name in ("rows", "columns", "cells"))
    if not isinstance(rows, list) or not isinstance(columns, list) or not isinstance(table, list):
        return
    host_memory = f"{HOST_MEMORY}(row)" in str(event.fields.get("test"))
    for row, line in zip(rows, table, strict=True):
        name = f"{HOST_MEMORY} {row}" if host_memory else str(row)
        for column, rate in zip(columns, line if isinstance(line, list) else [], strict=True):
            if isinstance(rate, float) and rate > 0 and name != column:
                ends = name, str(column)
                sender, receiver = ends[::-1] if event.fields.get("row_sends") is False else ends
                yield Cell(sender, receiver, rate, event)


def _lids(events: Sequence[Event]) -> dict[str, str]:
    """Return the host of each LID that its port prints."""
    owners: dict[str, set[str]] = defaultdict(set)
    for event in events:
        lid = event.fields.get("lid")
        if event.name == "ib.port" and event.host is not None and isinstance(lid, int) and lid:
            owners[f"LID {lid}"].add(event.host)
    return {lid: next(iter(hosts)) for lid, hosts in owners.items() if len(hosts) == 1}


def _named(end: Value, hosts: dict[str, str]) -> str | None:
    return hosts.get(end, end) if isinstance(end, str) else None
