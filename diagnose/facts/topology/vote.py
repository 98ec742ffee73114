"""Which part of the network most of what fails has in common: a vote over failing items.

``topology.failing``
    One for each item, at its first record: ``kind`` as in ``failures``, ``ends`` (2 of a
    connection), and what it touches: ``leaf``, ``rail``, ``rack``, ``power``, ``location``. Of two
    of a kind that is the one in more items.
``topology.vote``
    One for each kind of failure and kind of part, at the first item of the part in most items:

    ``kind``, ``part``  What fails, and ``leaf``, ``rail``, ``rack``, ``power`` or ``location``
    ``name``            Of the part
    ``rail``            Of the ports in it, where they are of one
    ``failing``, ``of``, ``share``   Items that touch it, all items, and the first over the second
    ``next_share``      Of the part of that kind that comes second
    ``well_in``, ``well``, ``well_share``   Ports in it that are well, all that are, the first over
    the second
    ``ill_share``       Failing ports in it over all ports in it of which anything is known
    ``hosts``           Hosts in it whose ports fail
    ``devices``         Names of their adapters
    ``host_share``      Of the items, those with the host that is in most

Two parts in equally many items give no vote: the logs do not say which.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from diagnose.facts.topology.failures import Failing
from diagnose.facts.topology.ports import PARTS, Part, Port, Ports
from diagnose.model.event import Event, Nature, Value


def derive(ports: Ports, kind: str, failing: Sequence[Failing], well: set[Port]) -> Iterator[Event]:
    """Yield the votes and the failing items.

    Args:
        ports: Of the inventory.
        kind: Of failure.
        failing: Items that fail.
        well: Ports that do not.
    """
    by_host = Counter(host for item, _ in failing for host in {port.host for port in item})
    host_share = round(max(by_host.values()) / len(failing), 3)
    touched: list[dict[str, Value]] = [{"kind": kind, "ends": len(item)} for item, _ in failing]
    for part in PARTS:
        names = [sorted(_names(ports, part, item)) for item, _ in failing]
        counts = Counter(name for several in names for name in several)
        for fields, several in zip(touched, names, strict=True):
            fields[part] = max(several, key=lambda name: counts[name], default=None)
        (name, most), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
        if most == second:
            continue
        vote: dict[str, Value] = {
            "kind": kind,
            "part": part,
            "name": name,
            "failing": most,
            "of": len(failing),
            "share": round(most / len(failing), 3),
            "next_share": round(second / len(failing), 3),
            **_inside(ports, part, name, failing, well),
            "host_share": host_share,
        }
        first = next(
            one.event for one, several in zip(failing, names, strict=True) if name in several
        )
        yield replace(_derived(first, "topology.vote", vote), host=None)
    for (_, event), fields in zip(failing, touched, strict=True):
        yield _derived(event, "topology.failing", fields)


def _names(ports: Ports, part: Part, item: Iterable[Port]) -> set[str]:
    """Return the parts of one kind that ports are in."""
    return {name for port in item if (name := ports.part(port, part)) is not None}


def _inside(
    ports: Ports, part: Part, name: str, failing: Sequence[Failing], well: set[Port]
) -> dict[str, Value]:
    """Return what is known of the ports in one part."""
    ends = {port for item, _ in failing for port in item}
    ill = {port for port in ends if ports.part(port, part) == name}
    well_in = sum(ports.part(port, part) == name for port in well)
    rails = {ports.part(port, "rail") for port in ill}
    return {
        "rail": rails.pop() if len(rails) == 1 else None,
        "well_in": well_in,
        "well": len(well),
        "well_share": round(well_in / len(well), 3) if well else None,
        "ill_share": round(len(ill) / (len(ill) + well_in), 3),
        "hosts": [*sorted({port.host for port in ill})],
        "devices": [*sorted({port.device for port in ill if port.device is not None})],
    }


def _derived(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return replace(
        event, name=name, nature=Nature.MEASUREMENT, fields=fields, fact=None, nic=None,
        rank=None, local_rank=None, gpu=None, communicator=None,
    )  # fmt: skip
