"""Where the logs differ from the inventory.

``topology.differs``
    One for each host and kind of thing (``what``, see ``observations``): ``expected`` and ``found``
    of the first difference, with its ``role`` and ``leaf``; ``devices``, ``rails`` and ``gpus``
    (indexes of the GPUs that the adapters serve) of all;
    ``differ`` (hosts that differ in it), ``seen`` (hosts whose logs show it), ``share`` of these.
    Where most hosts differ, the inventory is out of date, not the hosts.
``topology.host_unlisted``
    Hosts that the inventory lacks, at the first of them: ``hosts``, and ``seen`` of the job.
``topology.partitions_apart``
    Hosts of the job that have no partition in common, where the inventory lists partitions:
    ``hosts`` (of the smaller side), ``partition`` (theirs) and ``others`` (the one of the most).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from diagnose.facts.case import Case
from diagnose.facts.topology.observations import Observation
from diagnose.facts.topology.ports import Ports
from diagnose.model.event import Event, Nature, Value

WRITERS = ("nccl.", "nccl_tests.", "ib.", "nvidia_smi.", "c10d.", "torchrun.")
"""Beginnings of the names of what a host of the job says itself."""


def derive(ports: Ports, case: Case, observations: Iterable[Observation]) -> Iterator[Event]:
    """Yield all differences.

    Args:
        ports: Of the inventory.
        case: The run.
        observations: What its logs show of the inventory.
    """
    seen: dict[str, set[str | None]] = defaultdict(set)
    found: dict[tuple[str, str | None], list[Observation]] = defaultdict(list)
    for one in observations:
        seen[one.what].add(one.event.host)
        if not one.agrees:
            found[one.what, one.event.host].append(one)
    differ = Counter(what for what, _ in found)
    for (what, _), differences in found.items():
        fields: dict[str, Value] = {
            "differ": differ[what],
            "seen": len(seen[what]),
            "share": round(differ[what] / len(seen[what]), 3),
        }
        yield _difference(ports, differences, fields)
    own = [event for event in case.events if event.host and event.name.startswith(WRITERS)]
    yield from _unlisted(ports, own)
    yield from _partitions(ports, own)


def _difference(ports: Ports, found: list[Observation], counts: dict[str, Value]) -> Event:
    first = found[0]
    nics = list({one.nic.device: one.nic for one in found if one.nic is not None}.values())
    host = ports.host(first.event.host)
    fields: dict[str, Value] = {
        "what": first.what,
        "expected": first.expected,
        "found": first.found,
        "devices": [nic.device for nic in nics],
        "rails": [nic.rail for nic in nics if nic.rail is not None],
        "gpus": [nic.gpu for nic in nics if nic.gpu is not None],
        "role": first.nic.role if first.nic else None,
        "leaf": host.leaf(first.nic) if host and first.nic else None,
        **counts,
    }
    return _derived(first.event, "topology.differs", fields)


def _unlisted(ports: Ports, own: list[Event]) -> Iterator[Event]:
    hosts: dict[str, Event] = {}
    for event in own:
        hosts.setdefault(str(event.host), event)
    unlisted = sorted(name for name in hosts if ports.host(name) is None)
    if unlisted:
        fields: dict[str, Value] = {"hosts": [*unlisted], "seen": len(hosts)}
        yield replace(_derived(hosts[unlisted[0]], "topology.host_unlisted", fields), host=None)


def _partitions(ports: Ports, own: list[Event]) -> Iterator[Event]:
    partitions = ports.topology.partitions
    first: dict[str, Event] = {}
    for event in own:
        if event.name.startswith("nccl.") and ports.host(event.host) is not None:
            first.setdefault(str(event.host), event)
    members = {one.name: one.hosts & set(first) for one in partitions}
    if len(first) < 2 or not any(members.values()):
        return
    most = max(members, key=lambda name: len(members[name]))
    apart = sorted(set(first) - members[most])
    if not apart or len(apart) == len(first):
        return
    theirs = [name for name, hosts in members.items() if apart[0] in hosts]
    fields: dict[str, Value] = {
        "hosts": [*apart],
        "partition": theirs[0] if theirs else None,
        "others": most,
        "seen": len(first),
    }
    yield _derived(first[apart[0]], "topology.partitions_apart", fields)


def _derived(event: Event, name: str, fields: dict[str, Value]) -> Event:
    """Return an event about the host of another one, at its place."""
    return replace(
        event, name=name, nature=Nature.MEASUREMENT, fields=fields, fact=None, nic=None,
        rank=None, local_rank=None, gpu=None, communicator=None,
    )  # fmt: skip
