"""InfiniBand ports of several hosts: their subnet managers and their addresses.

====================== =============================================================================
``ib.subnets_differ``  A port that answers to another subnet manager on one host than on another
``ib.guid_twice``      One address at ports of two hosts
====================== =============================================================================
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.model.event import Event, Value

EVENTS = ("ib.subnets_differ", "ib.guid_twice")

UNSET = (None, 0, 65535)
"""LIDs that mean that there is none."""


def derive(ports: Sequence[Event]) -> Iterator[Event]:
    """Yield both events, each at the place of the first host's reading."""
    infiniband = [event for event in ports if event.fields.get("link_layer") == "InfiniBand"]
    yield from _subnets(infiniband)
    yield from _addresses(infiniband)


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


def _derived(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return replace(event, name=name, fields=fields, fact=None, host=None, nic=None)
