"""Whether the interface that a variable names can carry the job's sockets on each host.

``net.socket_interface`` has the ``variable`` and its ``value``, the ``interface`` of the host
that it selects, and ``problem``: ``absent`` (no interface of that name, though the host's were
all listed), ``down``, ``no-carrier``, ``no-address``, or None where it is fit. Of several that
the value selects, the best counts: NCCL takes the first that is up and has an address.
``containers``: the host has ends of containers, so the job may see other interfaces than those
listed; ``candidates`` are the fit ones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from diagnose.facts.fabric.adapters import place, selected
from diagnose.facts.records import Named
from diagnose.model.event import Event, Value

EVENTS = ("net.socket_interface",)

EXACT = {"NCCL_SOCKET_IFNAME": False, "GLOO_SOCKET_IFNAME": True}
"""Variable to whether its value is a whole name rather than the beginning of one."""

CONTAINER_ENDS = ("veth", "cali", "lxc", "cni", "cilium", "flannel")
"""Beginnings of the names of what leads into containers, whose own interfaces have other names."""

Interfaces = Mapping[str, Event]


def derive(named: Named) -> Iterator[Event]:
    """Yield one event for each host and variable, at the interface, else at the host's first."""
    listed: dict[str, dict[str, Event]] = {}
    for event in named.get("net.interface", ()):
        of_host = listed.setdefault(place(event), {})
        known = of_host.get(interface := str(event.fields["interface"]))
        if known is None or event.fields.get("addresses") or not known.fields.get("addresses"):
            of_host[interface] = event  # ip link prints no addresses, ip a does
    stated = _stated(named)
    for host in sorted(listed):
        for variable in EXACT:
            value = stated.get((variable, host), stated.get((variable, None)))
            if value is not None:
                yield from _judged(variable, value, listed[host])


def _stated(named: Named) -> dict[tuple[str, str | None], str]:
    """Return the value by variable and host; where all agree, of hosts that state none as well."""
    found: dict[tuple[str, str | None], str] = {}
    for event in named.get("nccl.env", ()):
        name, value = event.fields.get("name"), event.fields.get("value")
        if name in EXACT and isinstance(value, str) and value:
            found[str(name), event.host] = value
    for variable in EXACT:
        values = {value for (name, _), value in found.items() if name == variable}
        if len(values) == 1:
            found.setdefault((variable, None), values.pop())
    return found


def _judged(variable: str, value: str, interfaces: Interfaces) -> Iterator[Event]:
    exact = EXACT[variable]
    listing = [
        one
        for one in interfaces
        if selected(one, value, exact=exact) and not (one == "lo" and value.startswith("^"))
    ]
    has_addresses = any(event.fields.get("addresses") for event in interfaces.values())
    problems = {one: _problem(interfaces[one], has_addresses) for one in listing}
    best = min(listing, key=lambda one: (problems[one] is not None, one), default=None)
    if best is None and "lo" not in interfaces:
        return  # one interface was asked for, and not this one
    cited = interfaces[best if best is not None else min(interfaces)]
    fields: dict[str, Value] = {
        "variable": variable,
        "value": value,
        "interface": best,
        "problem": problems[best] if best is not None else "absent",
        "candidates": [
            one for one, event in sorted(interfaces.items())
            if one != "lo" and _problem(event, has_addresses) is None
        ],
        "containers": any(one.startswith(CONTAINER_ENDS) for one in interfaces),
    }  # fmt: skip
    yield replace(cited, name=EVENTS[0], fields=fields, fact=None)


def _problem(interface: Event, has_addresses: bool) -> str | None:
    if not interface.fields.get("up"):
        return "down"
    if interface.fields.get("carrier") is False:
        return "no-carrier"
    return "no-address" if has_addresses and not interface.fields.get("addresses") else None
