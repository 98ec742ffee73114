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


UNSET_GUID = ":0000:0000:0000:0000"
"""Second half of an address without a GUID."""


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
        known_by: dict[Value, list[str]] = defaultdict(list)
        for host in sorted(hosts):
            known_by[hosts[host].fields["sm_lid"]].append(host)
        if len(known_by) > 1:
            said: list[Value] = [f"{_some(names)}: {lid}" for lid, names in known_by.items()]
            fields: dict[str, Value] = {"device": device, "port": port, "values": said}
            yield _derived(hosts[min(hosts)], EVENTS[0], fields)


def _some(hosts: list[str]) -> str:
    """Return the first host and how many more there are."""
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more"


def _addresses(ports: Sequence[Event]) -> Iterator[Event]:
    owners: dict[Value, dict[str, Event]] = defaultdict(dict)
    for event in ports:
        gid = event.fields.get("gid")
        # rdma link prints the subnet's prefix alone, which all ports share; a virtual function
        # that nobody gave an address has 0
        whole = isinstance(gid, str) and gid.count(":") == 7 and gid.strip("0:")
        if event.host is not None and whole and not str(gid).endswith(UNSET_GUID):
            owners[gid][event.host] = event
    for gid, hosts in owners.items():
        if len(hosts) > 1:
            names: list[Value] = [*sorted(hosts)]
            yield _derived(hosts[min(hosts)], EVENTS[1], {"gid": gid, "hosts": names})


def _derived(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return replace(event, name=name, fields=fields, fact=None, host=None, nic=None)
