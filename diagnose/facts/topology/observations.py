"""What the logs show of things that the inventory states, each beside what it states.

==================== ==============================================================================
``gpus``             GPUs that nvidia-smi lists
``gpu-model``        their name
``device``           an adapter for compute traffic; None where tools or NCCL do not list it
``role``             the role of an adapter that NCCL uses; ``compute`` is expected
``rate``             Gb/s of an active port
``link-layer``       InfiniBand or Ethernet
``mtu``              bytes of an RDMA packet on an active port
``leaf``             the switch that a port says is at its other end
``address``          the address that NCCL's bootstrap uses, where the inventory lists the interface
``owner``            the host that the inventory says has the address of NCCL's bootstrap
``subnet``           the rail whose subnet holds the address of an adapter
``far-rail``         the rail at the far end of a failed connection, where no rail reaches another
``pkey``             the partition keys of a port, of which one is that of a partition of its host
``gid-index``        ``NCCL_IB_GID_INDEX`` on hosts with RoCE
``traffic-class``    ``NCCL_IB_TC``
==================== ==============================================================================

A rate is only that of an active port: one that is down prints a stale value, and old kernels print
``10 Gb/sec (4X)`` without a speed word for fast links. NCCL lists what ``NCCL_IB_HCA`` leaves, so
its list shows no missing adapter where that variable is set.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from diagnose.facts.baseline.gpu_names import same_model
from diagnose.facts.case import Case
from diagnose.facts.topology.ports import COMPUTE, Ports
from diagnose.model.event import Event, Value
from diagnose.model.topology import MEMBER, HostClass, Nic, port_key
from diagnose.parsers.convert import address

LAYERS = {"IB": "InfiniBand", "RoCE": "Ethernet"}
"""What NCCL calls link layers."""

HCA_FILTER = "NCCL_IB_HCA"

Lists = Mapping[tuple[str, int], Sequence[Event]]
"""Lists of the adapters that NCCL uses, by host and attempt."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing that the inventory states and the logs show.

    Args:
        event: Where the logs show it; its host is in the inventory.
        what: Kind of thing.
        expected: What the inventory states.
        found: What the logs show.
        agrees: Whether that is the same.
        nic: The adapter, if it is about one.
    """

    event: Event
    what: str
    expected: Value
    found: Value
    agrees: bool
    nic: Nic | None = None


def observe(ports: Ports, case: Case, lists: Lists) -> Iterator[Observation]:
    """Yield all observations of a run.

    Args:
        ports: Of the inventory.
        case: The run.
        lists: As of ``nccl_lists``.
    """
    yield from _gpus(ports, case)
    for event in case.named("ib.port"):
        yield from _port(ports, event)
    yield from _devices(ports, case, lists)
    yield from _neighbours(ports, case)
    yield from _partitions(ports, case)
    yield from _addresses(ports, case)
    yield from _settings(ports, case)


def _gpus(ports: Ports, case: Case) -> Iterator[Observation]:
    for event in case.named("nvidia_smi.gpu"):
        host = ports.host(event.host)
        if host is None:
            continue
        listed, model = event.number("listed"), event.fields.get("name")
        if host.kind.gpus is not None and listed is not None:
            expected = host.kind.gpus
            yield Observation(event, "gpus", expected, int(listed), listed == expected)
        if host.kind.gpu is not None and isinstance(model, str):
            agrees = same_model(host.kind.gpu, model)
            yield Observation(event, "gpu-model", host.kind.gpu, model, agrees)


def _port(ports: Ports, event: Event) -> Iterator[Observation]:
    nic = ports.nic(event)
    if nic is None:
        return
    layer = event.fields.get("link_layer")
    if nic.link_layer is not None and isinstance(layer, str):
        agrees = layer == nic.link_layer
        yield Observation(event, "link-layer", nic.link_layer, layer, agrees, nic)
    rate = active_rate(event)
    if nic.rate is not None and rate is not None:
        yield Observation(event, "rate", nic.rate, rate, rate >= nic.rate, nic)
    mtu, expected = event.number("active_mtu"), ports.topology.routing.mtu
    active = event.fields.get("state") == "ACTIVE" and nic.role == COMPUTE
    if active and mtu is not None and expected is not None:
        yield Observation(event, "mtu", expected, int(mtu), mtu == expected, nic)


def active_rate(event: Event) -> float | None:
    """Return the Gb/s of a port, None where it is down or its tool does not know fast links."""
    unsaid = event.fields.get("tool") == "ibstatus" and event.fields.get("speed") is None
    active = event.fields.get("state") == "ACTIVE" and not unsaid
    return (event.number("rate_gbps") or None) if active else None


def nccl_lists(ports: Ports, case: Case) -> Lists:
    """Return by host and attempt the different lists of adapters that its ranks print."""
    found: dict[tuple[str, int], dict[str, Event]] = defaultdict(dict)
    for event in case.named("nccl.ib.devices"):
        host = ports.host(event.host)
        if host is not None and event.fields.get("net") == "IB":
            found[host.name, event.attempt].setdefault(str(event.fields.get("devices")), event)
    return {key: list(events.values()) for key, events in found.items()}


def _devices(ports: Ports, case: Case, lists: Lists) -> Iterator[Observation]:
    """Yield the adapters that tools and NCCL list, and those that they lack."""
    filtered = {event.host for event in case.named("nccl.env") if _is_filter(event)}
    for (name, _), events in lists.items():
        kind = ports.topology.hosts[name].kind
        for event in events:
            yield from _used(kind, event)
        # Ranks of a host may each list their own adapters.
        hcas = {hca for event in events for hca in texts(event.fields.get("hcas"))}
        whole = not filtered & {name, None}
        yield from _listed(events[0], kind, hcas, whole=whole)
    tools: dict[tuple[str, str, Value], list[Event]] = defaultdict(list)
    for event in case.named("ib.port"):
        if ports.host(event.host) is not None:
            tools[str(event.host), event.file, event.fields.get("tool")].append(event)
    for (name, _, _), events in tools.items():
        hcas = {str(event.fields.get("device")) for event in events}
        yield from _listed(events[0], ports.topology.hosts[name].kind, hcas, whole=True)


def _used(kind: HostClass, event: Event) -> Iterator[Observation]:
    """Yield role and link layer of the adapters that NCCL uses, once where they are as listed."""
    agreed: dict[str, Observation] = {}
    for said in texts(event.fields.get("devices")):
        nic, layer = kind.nic(said.partition(":")[0]), LAYERS.get(said.rpartition("/")[2])
        if nic is None:
            continue
        pairs = (("role", COMPUTE, nic.role), ("link-layer", nic.link_layer, layer))
        for what, expected, found in pairs:
            if expected is None or found is None:
                continue
            if found != expected:
                yield Observation(event, what, expected, found, False, nic)
            elif what not in agreed:
                agreed[what] = Observation(event, what, expected, found, True, nic)
    yield from agreed.values()


def _listed(
    event: Event, kind: HostClass, hcas: Collection[str], *, whole: bool
) -> Iterator[Observation]:
    """Yield the adapters for compute traffic that a list lacks, or one that it has.

    A list without half of them is a question about those that it names.

    Args:
        event: The list.
        kind: How the host is built.
        hcas: Devices in the list.
        whole: What it lacks is missing.
    """
    compute = [nic for nic in kind.nics if nic.role == COMPUTE]
    missing = [nic for nic in compute if nic.device not in hcas]
    if not missing and compute:
        first = compute[0]
        yield Observation(event, "device", first.device, first.device, True, first)
    elif whole and 2 * len(missing) < len(compute):
        for nic in missing:
            yield Observation(event, "device", nic.device, None, False, nic)


def _neighbours(ports: Ports, case: Case) -> Iterator[Observation]:
    """Yield the switches that ports say are at their other ends, whichever tool says so."""
    for event in case.events:
        switch = event.fields.get("switch")
        if not isinstance(switch, str) or not switch:
            continue
        host, nic = ports.host(event.host), ports.nic(event)
        leaf = host.leaf(nic) if host and nic else None
        if leaf is not None:
            yield Observation(event, "leaf", leaf, switch, switch == leaf, nic)


def _partitions(ports: Ports, case: Case) -> Iterator[Observation]:
    for event in case.named("ib.pkeys"):
        nic, keys = ports.nic(event), texts(event.fields.get("keys"))
        listed = [one for one in ports.topology.partitions if event.host in one.hosts]
        if nic is None or nic.role != COMPUTE or not listed or not keys:
            continue
        has = {int(key, 16) & MEMBER for key in keys}
        agrees = any(one.pkey in has for one in listed)
        yield Observation(event, "pkey", f"{listed[0].pkey:#06x}", ", ".join(keys), agrees, nic)


def _addresses(ports: Ports, case: Case) -> Iterator[Observation]:
    for event in case.named("nccl.bootstrap_interface"):
        host, found = ports.host(event.host), event.fields.get("address")
        if host is None or not isinstance(found, str):
            continue
        key = port_key(address(found)) or ""
        owner = ports.topology.ports.get(key)
        if owner is not None:
            yield Observation(event, "owner", host.name, owner[0], owner[0] == host.name)
        listed = host.addresses.get(str(event.fields.get("interface")))
        if listed is not None and (owner is None or owner[0] == host.name):
            yield Observation(event, "address", listed, key, listed == key)
    for name in ("nccl.ib.completion_error", "nccl.ib.modify_qp_failed"):
        for event in case.named(name):
            yield from _subnet(ports, event)
            yield from _far_rail(ports, event)


def _far_rail(ports: Ports, event: Event) -> Iterator[Observation]:
    nic, gid = ports.nic(event), event.fields.get("remote_gid")
    far = ports.behind(gid) if isinstance(gid, str) else None
    if ports.topology.routing.reach == "rail-only" and nic is not None and far is not None:
        rail = ports.part(far, "rail")
        yield Observation(event, "far-rail", nic.rail, rail, rail == nic.rail, nic)


def _subnet(ports: Ports, event: Event) -> Iterator[Observation]:
    nic, gid = ports.nic(event), event.fields.get("local_gid")
    key = port_key(gid) if isinstance(gid, str) else None
    subnets = ports.topology.routing.subnets
    if nic is None or nic.rail not in subnets or key is None or "." not in key:
        return
    at = ip_address(key)
    found = next((rail for rail, subnet in subnets.items() if at in subnet), None)
    yield Observation(event, "subnet", nic.rail, found, found == nic.rail, nic)


def _settings(ports: Ports, case: Case) -> Iterator[Observation]:
    routing = ports.topology.routing
    wanted = {
        "NCCL_IB_GID_INDEX": ("gid-index", routing.gid_index),
        "NCCL_IB_TC": ("traffic-class", routing.traffic_class),
    }
    for event in case.named("nccl.env"):
        what, expected = wanted.get(str(event.fields.get("name")), ("", None))
        host, value = ports.host(event.host), str(event.fields.get("value"))
        if expected is None or host is None or not value.isdecimal():
            continue
        if any(nic.link_layer == "Ethernet" for nic in host.kind.nics if nic.role == COMPUTE):
            yield Observation(event, what, expected, int(value), int(value) == expected)


def _is_filter(event: Event) -> bool:
    return event.fields.get("name") == HCA_FILTER


def texts(values: Value) -> list[str]:
    """Return a list of texts, empty where a field is none."""
    return [str(value) for value in values] if isinstance(values, list) else []
