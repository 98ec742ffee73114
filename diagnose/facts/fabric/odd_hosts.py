"""Hosts that differ from the others in what should be the same everywhere.

``ib.difference`` has ``attribute`` (see ``ATTRIBUTES``), ``device``, ``port``, ``board``,
``link_layer`` and ``interface`` where they belong to what is compared, ``value``, ``usual``,
``agree`` of ``of`` hosts and ``odd`` that do not, ``fewer`` (the value is a smaller number),
``values`` (each with how many hosts have it) and ``cut`` (what the host lacks may have been cut
off with the beginning or the end of the text).

There is one event for each odd host and device; where less than four hosts are known, or less than
three quarters agree, one that names nobody and has no ``usual``.

The values of all hosts are counted, so that ten thousand of them take no longer than reading them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from diagnose.facts.records import Named
from diagnose.facts.stated import FEWEST, MAJORITY
from diagnose.model.event import Event, Nature, Value

EVENTS = ("ib.difference",)

SHOWN = 4
"""Values that a difference lists, the most frequent first."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """What is compared over hosts.

    Args:
        name: As rules ask for it.
        event: Name of the records that show it.
        value: Gives the value in a record; None says nothing of it.
        by: Fields that must agree for two hosts to be compared, such as device and port.
        counted: The number of different values of a host is compared, and not the values.
    """

    name: str
    event: str
    value: Callable[[Event], Value]
    by: tuple[str, ...] = ()
    counted: bool = False


def _field(name: str) -> Callable[[Event], Value]:
    return lambda event: event.fields.get(name)


def _of_link(name: str) -> Callable[[Event], Value]:
    """Return what reads a field of ports that are up; of others it is stale."""
    return lambda event: event.fields.get(name) if event.fields.get("state") == "ACTIVE" else None


def _subnet(event: Event) -> Value:
    """Return the first half of an InfiniBand address, which names the subnet."""
    gid = event.fields.get("gid")
    infiniband = event.fields.get("link_layer") == "InfiniBand"
    return ":".join(gid.split(":")[:4]) if infiniband and isinstance(gid, str) else None


def _detected(event: Event) -> Value:
    """Return whether an interface has a link, as ethtool says it."""
    detected = event.fields.get("detected")
    return None if detected is None else "yes" if detected else "no"


ATTRIBUTES = (
    Attribute("firmware", "ib.port", _field("firmware"), by=("board",)),
    Attribute("lanes", "ib.port", _of_link("lanes"), by=("device", "port", "link_layer")),
    Attribute("link-layer", "ib.port", _field("link_layer"), by=("device", "port")),
    Attribute("subnet", "ib.port", _subnet, by=("device", "port")),
    Attribute("devices", "ib.port", _field("device"), by=("tool", "link_layer"), counted=True),
    Attribute("listed-devices", "ib.device", _field("device"), counted=True),
    Attribute("listed-devices", "ib.netdev", _field("device"), counted=True),
    Attribute("link", "net.link", _detected, by=("interface",)),
    Attribute("speed", "net.link", _field("speed_gbps"), by=("interface",)),
)
"""All that is compared; a new reader adds a line."""

Compared = dict[tuple[Value, ...], dict[str, dict[Value, Event]]]
"""By what must agree and by host, the values with a record of each."""


def derive(named: Named) -> Iterator[Event]:
    """Yield the differences.

    Args:
        named: All of the input, with hosts completed.
    """
    for name in dict.fromkeys(attribute.event for attribute in ATTRIBUTES):
        for attribute in ATTRIBUTES:
            if attribute.event == name:
                for key, hosts in _stated(attribute, named.get(name, ())).items():
                    yield from _compared(attribute, key, hosts)


def _stated(attribute: Attribute, events: Iterable[Event]) -> Compared:
    found: Compared = {}
    for event in events:
        value = None if event.host is None else attribute.value(event)
        if event.host is not None and value is not None and not isinstance(value, list):
            key = tuple(event.fields.get(name) for name in attribute.by)
            found.setdefault(key, {}).setdefault(event.host, {}).setdefault(value, event)
    return found


def _compared(
    attribute: Attribute, key: tuple[Value, ...], hosts: dict[str, dict[Value, Event]]
) -> Iterator[Event]:
    own = {host: _value(attribute, values) for host, values in hosts.items()}
    counts = Counter(own.values())
    if len(counts) < 2:
        return
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
    usual, agree = ordered[0]
    fields: dict[str, Value] = {
        "attribute": attribute.name,
        **dict.fromkeys(("device", "port", "board", "link_layer", "interface")),
        **dict(zip(attribute.by, key, strict=True)),
        "value": " or ".join(str(value) for value, _ in ordered[:SHOWN]),
        "usual": None,
        "agree": agree,
        "of": len(own),
        "odd": len(own) - agree,
        "fewer": False,
        "cut": False,
        "values": [f"{value}: {_hosts(count)}" for value, count in ordered[:SHOWN]],
    }
    if len(own) < FEWEST or agree < MAJORITY * len(own):
        first = min(own)
        yield _event(next(iter(hosts[first].values())), fields, named=False)
        return
    model = hosts[next(host for host in own if own[host] == usual)]
    spans = _spans(hosts) if attribute.counted else {}
    for host in sorted(own):
        if own[host] != usual:
            fewer = _is_less(own[host], usual)
            odd: dict[str, Value] = {
                "value": own[host],
                "usual": usual,
                "fewer": fewer,
                "cut": attribute.counted and fewer and _may_be_cut(hosts[host], model, spans),
            }
            yield _event(next(iter(hosts[host].values())), {**fields, **odd}, named=True)


def _spans(hosts: dict[str, dict[Value, Event]]) -> dict[str, tuple[int, int]]:
    """Return the lines of the first and the last record of each file."""
    spans: dict[str, tuple[int, int]] = {}
    for records in hosts.values():
        for event in records.values():
            first, last = spans.get(event.file, (event.line, event.line))
            spans[event.file] = min(first, event.line), max(last, event.line)
    return spans


def _may_be_cut(
    own: dict[Value, Event], model: dict[Value, Event], spans: dict[str, tuple[int, int]]
) -> bool:
    """Return whether a listing lacks what would stand where its text begins or ends.

    In a paste of many hosts that is the place of the first and the last of them. A file of its own
    begins as the file of another host does, unless its head is missing, and a cut tail leaves a
    port without its state.

    Args:
        own: The records of the host.
        model: Those of a host that lists all.
        spans: Lines of the first and the last record of each file.
    """
    listing = sorted(own.values(), key=lambda event: (event.file, event.line))
    first, last = listing[0], listing[-1]
    usual = list(model)
    missing = [value for value in usual if value not in own]
    begins, ends = spans[first.file][0] == first.line, spans[last.file][1] == last.line
    alone = begins and ends
    if begins and missing == usual[: len(missing)]:
        return not alone or first.line != next(iter(model.values())).line
    if ends and missing == usual[-len(missing) :]:
        return not alone or ("state" in last.fields and last.fields["state"] is None)
    return False


def _value(attribute: Attribute, values: dict[Value, Event]) -> Value:
    """Return what a host has: how many values, else the value, else all of them."""
    if attribute.counted:
        return len(values)
    return next(iter(values)) if len(values) == 1 else ", ".join(sorted(map(str, values)))


def _is_less(value: Value, usual: Value) -> bool:
    return isinstance(value, int | float) and isinstance(usual, int | float) and value < usual


def _hosts(count: int) -> str:
    return f"{count} host" + ("s" if count > 1 else "")


def _event(event: Event, fields: dict[str, Value], *, named: bool) -> Event:
    nic = event.nic if named and fields.get("device") is not None else None
    return replace(
        event, name=EVENTS[0], nature=Nature.MEASUREMENT, fields=fields, fact=None,
        host=event.host if named else None, nic=nic, rank=None, local_rank=None,
    )  # fmt: skip
