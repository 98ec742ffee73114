"""What fails and what is well, as items that a part of the network could have in common.

An item is what fails as one: a port that is down, or a connection, which has two ends. Three kinds:

``ports``
    Ports of compute adapters that are down, not active or had a port error, and connections between
    them that ran out of retries or could not be made. Well are ports that are active, or that NCCL
    uses, and that are no end of what fails.
``slow``
    Active ports below the rate of the inventory or of their like. Well are the other active ones.
``hosts``
    Hosts that a scheduler declared lost, and pairs of hosts that could not connect. Well are the
    other hosts that wrote logs.

Of a failed connection the far end is the port that has its GID; where the inventory does not list
that, it is the adapter of the same name on the host that has the peer's address.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from diagnose.facts.case import Case
from diagnose.facts.endpoints import kind_of
from diagnose.facts.topology.observations import Lists, Observation
from diagnose.facts.topology.ports import COMPUTE, Port, Ports
from diagnose.model.event import Event, Nature
from diagnose.model.hostlist import expand
from diagnose.parsers.convert import short_host

Item = frozenset[Port]

NOT_ACTIVE = ("DOWN", "INIT", "ARMED")
PORT_ERROR = "port error"
NO_LINK = ("down", "cable")
LOST = ("slurm.node_failure", "k8s.node_lost")


class Failing(NamedTuple):
    """One item and the first record of it."""

    item: Item
    event: Event


def groups(
    ports: Ports, case: Case, lists: Lists, observations: Iterable[Observation]
) -> Iterator[tuple[str, list[Failing], set[Port]]]:
    """Yield kind, what fails and what is well, for each attempt and kind that has failures.

    Args:
        ports: Of the inventory.
        case: The run.
        lists: Of the adapters that NCCL uses.
        observations: What its logs show of the inventory.
    """
    used = _used(ports, lists)
    active = {
        port
        for event in case.named("ib.port")
        if event.fields.get("state") == "ACTIVE" and (port := ports.port(event)) is not None
    }
    alive = {Port(name, None) for name in case.job.hosts_with_logs if ports.host(name)}
    for kind, found, well in (
        ("ports", _ports(ports, case), used | active),
        ("slow", _slow(ports, case, observations), active),
        ("hosts", _hosts(ports, case), alive),
    ):
        attempts: dict[int, dict[Item, Event]] = defaultdict(dict)
        for item, event in found:
            if event.nature is not Nature.UNRELATED:
                attempts[event.attempt].setdefault(item, event)
        for items in attempts.values():
            failing = [Failing(item, event) for item, event in items.items()]
            yield kind, failing, well.difference(*items)


def _used(ports: Ports, lists: Lists) -> set[Port]:
    """Return the ports that NCCL lists; it lists active ones."""
    found: set[Port] = set()
    for (name, _), events in lists.items():
        kind = ports.topology.hosts[name].kind
        for event in events:
            hcas = event.fields.get("hcas")
            named = (kind.nic(str(hca)) for hca in hcas) if isinstance(hcas, list) else ()
            found |= {Port(name, nic.device) for nic in named if nic and nic.role == COMPUTE}
    return found


def _ports(ports: Ports, case: Case) -> Iterator[Failing]:
    for event in case.named("ib.port"):
        if event.fields.get("state") in NOT_ACTIVE and (port := ports.port(event)):
            yield Failing(frozenset((port,)), event)
    for event in case.named("nccl.ib.async_event"):
        if str(event.fields.get("event")).startswith(PORT_ERROR) and (port := ports.port(event)):
            yield Failing(frozenset((port,)), event)
    for event in case.named("kernel.nic"):
        if event.fields.get("state") in NO_LINK and (port := ports.port(event)):
            yield Failing(frozenset((port,)), event)
    for event in case.named("nccl.ib.completion_error"):
        if kind_of(event) == "rdma":
            yield from _connection(ports, case, event)
    for event in case.named("nccl.ib.modify_qp_failed"):
        if event.fields.get("level") != "INFO" and not event.fields.get("retrying"):
            yield from _connection(ports, case, event)


def _connection(ports: Ports, case: Case, event: Event) -> Iterator[Failing]:
    near = ports.port(event) or _behind(ports, event, "local_gid")
    if near is None:
        return
    far = _behind(ports, event, "remote_gid") or _same_adapter(ports, case, event, near)
    if far is not None and far.host != near.host:
        yield Failing(frozenset((near, far)), event)


def _behind(ports: Ports, event: Event, field: str) -> Port | None:
    gid = event.fields.get(field)
    return ports.behind(gid) if isinstance(gid, str) else None


def _same_adapter(ports: Ports, case: Case, event: Event, near: Port) -> Port | None:
    peer = _host(ports, case, event.fields.get("peer"))
    return Port(peer, near.device) if peer else None


def _host(ports: Ports, case: Case, peer: object) -> str | None:
    if not isinstance(peer, str):
        return None
    found = case.job.host_of_address(peer) or short_host(peer)
    return found if ports.host(found) else None


def _slow(ports: Ports, case: Case, observations: Iterable[Observation]) -> Iterator[Failing]:
    slower = [one.event for one in observations if one.what == "rate" and not one.agrees]
    for event in (*case.named("ib.port_slower"), *slower):
        if port := ports.port(event):
            yield Failing(frozenset((port,)), event)


def _hosts(ports: Ports, case: Case) -> Iterator[Failing]:
    for name in LOST:
        for event in case.named(name):
            for host in _hosts_in(event.host):
                if ports.host(host):
                    yield Failing(frozenset((Port(host, None),)), event)
    for event in case.named("nccl.connect_failed"):
        peer = _host(ports, case, event.fields.get("peer"))
        if kind_of(event) == "connect" and event.host and ports.host(event.host) and peer:
            yield Failing(frozenset((Port(event.host, None), Port(peer, None))), event)


def _hosts_in(text: str | None) -> list[str]:
    """Return the hosts that Slurm names at once: ``node-[02-04]``."""
    try:
        return expand(text) if text else []
    except ValueError:
        return []
