"""What readings of ports and counters say of the fabric when they are laid side by side.

====================== =============================================================================
``ib.subnets_differ``  A port that answers to another subnet manager on one host than on another
``ib.guid_twice``      One address at ports of two hosts
``ib.counter_grew``    A counter that was read twice and grew in between
====================== =============================================================================

``growth`` is since the last reset between the readings, ``seconds`` the time between them where
both have a stamp. Readings in two files are put in order by their stamps alone; within a file by
line.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.clock import Clocks
from diagnose.model.event import Event, Value

EVENTS = ("ib.subnets_differ", "ib.guid_twice", "ib.counter_grew")

UNSET = (None, 0, 65535)
"""LIDs that mean that there is none."""


def derive(events: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield the derived events, each at the place of a reading."""
    ports = [
        event
        for event in events
        if event.name == "ib.port" and event.fields.get("link_layer") == "InfiniBand"
    ]
    yield from _subnets(ports)
    yield from _addresses(ports)
    yield from _growth([event for event in events if event.name == "ib.counter"], clocks)


def _subnets(ports: Sequence[Event]) -> Iterator[Event]:
    managers: dict[tuple[Value, Value], dict[str, Event]] = defaultdict(dict)
    for event in ports:
        known = event.host is not None and event.fields.get("sm_lid") not in UNSET
        if known and event.fields.get("state") == "ACTIVE":
            key = event.fields.get("device"), event.fields.get("port")
            managers[key][str(event.host)] = event
    for (device, port), hosts in managers.items():
        values = {host: event.fields["sm_lid"] for host, event in hosts.items()}
        if len(set(values.values())) > 1:
            first = hosts[min(hosts)]
            said: list[Value] = [f"{host}: {lid}" for host, lid in sorted(values.items())]
            fields: dict[str, Value] = {"device": device, "port": port, "values": said}
            yield _derived(first, EVENTS[0], fields)


def _addresses(ports: Sequence[Event]) -> Iterator[Event]:
    owners: dict[Value, dict[str, Event]] = defaultdict(dict)
    for event in ports:
        gid = event.fields.get("gid")
        # rdma link prints the subnet's prefix alone, which all ports share
        if event.host is not None and isinstance(gid, str) and gid.count(":") == 7:
            owners[gid][event.host] = event
    for gid, hosts in owners.items():
        if len(hosts) > 1:
            names: list[Value] = [*sorted(hosts)]
            yield _derived(hosts[min(hosts)], EVENTS[1], {"gid": gid, "hosts": names})


def _growth(counters: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    readings: dict[tuple[Value, ...], list[Event]] = defaultdict(list)
    for event in counters:
        owner = event.host or event.file
        names = ("device", "port", "counter")
        readings[(owner, *(event.fields.get(name) for name in names))].append(event)
    for found in readings.values():
        ordered = _in_order(found)
        first: Event | None = None
        growth = 0
        for before, after in zip(ordered, ordered[1:], strict=False):
            rise = _value(after) - _value(before)
            if rise < 0:
                first, growth = None, 0
            elif rise:
                first, growth = first or before, growth + rise
        if first is not None:
            last = ordered[-1]
            apart = clocks.apart(first, last)
            fields: dict[str, Value] = {
                **last.fields,
                "growth": growth,
                "seconds": apart[0] if apart and apart[0] > 0 else None,
            }
            yield replace(last, name=EVENTS[2], fields=fields, fact=None)


def _in_order(found: list[Event]) -> list[Event]:
    """Return the readings of one counter from first to last, those of one file if unsure."""
    if len({event.file for event in found}) == 1:
        return sorted(found, key=lambda event: event.line)
    if all(event.time is not None for event in found):
        return sorted(found, key=lambda event: (event.time or 0.0, event.line))
    file = found[0].file
    return [event for event in found if event.file == file]


def _value(event: Event) -> int:
    value = event.fields["value"]
    return value if isinstance(value, int) else 0


def _derived(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return replace(event, name=name, fields=fields, fact=None, host=None, nic=None)
