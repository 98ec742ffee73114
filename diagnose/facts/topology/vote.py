"""Which part of the network most of what fails has in common: a vote over failing items.

``topology.failing``
    One for each item, at its first record: ``kind`` as in ``failures``, ``hosts`` and ``devices`` of
    its ends, and lists of the parts they are in: ``leaf``, ``rail``, ``rack``, ``power``, ``location``.
``topology.vote``
    One for each kind of failure and kind of part, at the first item of the part in most items:

    ``kind``, ``part``  What fails, and ``leaf``, ``rail``, ``rack``, ``power`` or ``location``
    ``name``            Of the part
    ``rail``            Of the ports in it, where they are of one
    ``failing``, ``of``, ``share``   Items that touch it, all items, and the first over the second
    ``next_share``      Of the part of that kind that comes second
    ``well_in``, ``well``   Ports in it that are well, and all that are
    ``ill_share``       Failing ports in it over all ports in it of which anything is known
    ``hosts``           Hosts in it whose ports fail
    ``devices``         Names of their adapters
    ``host_share``      Of the items, those with the host that is in most

Two parts in equally many items give no vote: the logs do not say which.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.topology.failures import Failing
from diagnose.facts.topology.ports import Port, Ports
from diagnose.model.event import Event, Nature, Value

PARTS = ("leaf", "rail", "rack", "power", "location")


def derive(ports: Ports, kind: str, failing: Sequence[Failing], well: set[Port]) -> Iterator[Event]:
    """Yield the failing items and the votes on them.

    Args:
        ports: Of the inventory.
        kind: Of failure.
        failing: Items that fail.
        well: Ports that do not.
    """
    for item, event in failing:
        yield _derived(event, "topology.failing", {"kind": kind, **_ends(ports, item)})
    by_host = Counter(host for item, _ in failing for host in {port.host for port in item})
    host_share = round(max(by_host.values()) / len(failing), 3)
    for part in PARTS:
        members = [{ports.parts(port).get(part) for port in item} for item, _ in failing]
        counts = Counter(name for names in members for name in names if name is not None)
        ranked = [*counts.most_common(2), ("", 0)]
        (name, most), (_, second) = ranked[0], ranked[1]
        if not most or most == second:
            continue
        touching = [one for one, names in zip(failing, members, strict=True) if name in names]
        ill = {port for item, _ in touching for port in item if ports.parts(port).get(part) == name}
        well_in = sum(ports.parts(port).get(part) == name for port in well)
        fields: dict[str, Value] = {
            "kind": kind,
            "part": part,
            "name": name,
            "rail": _only({ports.parts(port).get("rail") for port in ill}),
            "failing": most,
            "of": len(failing),
            "share": round(most / len(failing), 3),
            "next_share": round(second / len(failing), 3),
            "well_in": well_in,
            "well": len(well),
            "ill_share": round(len(ill) / (len(ill) + well_in), 3),
            "hosts": [*sorted({port.host for port in ill})],
            "devices": [*sorted({port.device for port in ill if port.device is not None})],
            "host_share": host_share,
        }
        yield _derived(touching[0].event, "topology.vote", fields)


def _ends(ports: Ports, item: frozenset[Port]) -> dict[str, Value]:
    ends = sorted(item, key=lambda port: (port.host, port.device or ""))
    found: dict[str, Value] = {
        "hosts": [port.host for port in ends],
        "devices": [port.device for port in ends if port.device is not None],
    }
    for part in PARTS:
        names = {name for port in ends if (name := ports.parts(port).get(part)) is not None}
        found[part] = [*sorted(names)]
    return found


def _only(names: set[str | None]) -> str | None:
    return names.pop() if len(names) == 1 else None


def _derived(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return replace(
        event, name=name, nature=Nature.MEASUREMENT, fields=fields, fact=None, host=None, nic=None,
        rank=None, local_rank=None, gpu=None, communicator=None,
    )  # fmt: skip
