"""Flow control of RoCE: pauses, the class that packets travel in, senders that do not slow down.

``roce.paused`` has ``share`` of the time between two readings that a priority was paused, and
``direction``: ``received`` (the network held this host up) or ``sent`` (this host held it up).

``roce.class`` is an adapter of which the protected priorities are known: ``protected``, ``bytes``
of priority 0, in and out, and ``protected_bytes`` between two readings, or since the last reset
where ``seconds`` is None, and ``rdma_bytes`` where they are printed.

``roce.unheeded`` is a sender that obeyed no notice of congestion: ``handled``, ``ignored``, and
``sent``, those that all other hosts have sent.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts.fabric.adapters import place
from diagnose.facts.fabric.counters import Growth, at_counter, counters
from diagnose.facts.fabric.readings import Key
from diagnose.model.event import Event, Value

EVENTS = ("roce.paused", "roce.class", "roce.unheeded")

MICROSECOND = 1e-6

WORTH_A_LOOK = 0.01
"""Share of the time that a priority is paused."""

FEWEST_NOTICES = 1_000

_PRIORITY = re.compile(r"[rt]x_prio(\d)_bytes$")

Ports = Mapping[Key, Mapping[str, Growth]]


def derive(
    ports: Mapping[Key, list[Event]], grown: Ports, classes: Sequence[Event]
) -> Iterator[Event]:
    """Yield all three events.

    Args:
        ports: Readings by port.
        grown: Growth of their counters.
        classes: Events ``roce.pfc``.
    """
    yield from _paused(grown)
    yield from _classes(ports, grown, classes)
    yield from _unheeded(grown)


def _paused(grown: Ports) -> Iterator[Event]:
    for of_port in grown.values():
        for growth in of_port.values():
            if growth.meaning.kind != "paused" or not growth.seconds:
                continue
            share = min(1.0, growth.amount * MICROSECOND / growth.seconds)
            if share >= WORTH_A_LOOK:
                sent = growth.meaning.name.startswith("tx")
                fields: dict[str, Value] = {
                    "share": share,
                    "direction": "sent" if sent else "received",
                    "seconds": growth.seconds,
                }
                yield _at(growth, "roce.paused", fields)


def _classes(
    ports: Mapping[Key, list[Event]], grown: Ports, classes: Sequence[Event]
) -> Iterator[Event]:
    protected: dict[tuple[str, Value], set[str]] = {}
    for event in classes:
        value = str(event.fields.get("value"))
        if value != "none":
            protected[place(event), event.fields.get("device")] = set(value.split(","))
    if not protected:
        return
    for key, readings in ports.items():
        last = readings[-1]
        owner = place(last)
        priorities = protected.get((owner, key[1])) or protected.get((owner, None))
        if priorities is None:
            continue
        amounts, seconds = _amounts(last, grown[key])
        by_priority: dict[str, int] = defaultdict(int)
        for name, (amount, _) in amounts.items():
            if found := _PRIORITY.match(name):
                by_priority[found[1]] += amount
        line = next((at for name, (_, at) in amounts.items() if "prio0_bytes" in name), None)
        if line is None:
            continue
        listed: list[Value] = [*sorted(priorities)]
        rdma = [amount for name, (amount, _) in amounts.items() if "rdma_unicast" in name]
        fields: dict[str, Value] = {
            "device": key[1],
            "port": key[2],
            "protected": listed,
            "bytes": by_priority["0"],
            "protected_bytes": sum(by_priority[one] for one in priorities),
            "rdma_bytes": sum(rdma) if rdma else None,
            "seconds": seconds,
        }
        yield at_counter(last, "prio0_bytes", by_priority["0"], line, "roce.class", fields)


def _amounts(
    last: Event, grown: Mapping[str, Growth]
) -> tuple[dict[str, tuple[int, int]], float | None]:
    """Return growth and line of each counter, or its total where it was read once."""
    if grown:
        seconds = next(iter(grown.values())).seconds
        return {name: (one.amount, one.line) for name, one in grown.items()}, seconds
    return {name: (value, line) for name, value, line in counters(last)}, None


def _unheeded(grown: Ports) -> Iterator[Event]:
    sent: dict[str, int] = defaultdict(int)
    handled: dict[str, int] = defaultdict(int)
    for of_port in grown.values():
        for growth in of_port.values():
            host = growth.last.host
            if host is not None and growth.meaning.name == "np_cnp_sent":
                sent[host] += growth.amount
            elif host is not None and growth.meaning.name == "rp_cnp_handled":
                handled[host] += growth.amount
    total, obeyed = sum(sent.values()), sum(handled.values())
    for of_port in grown.values():
        heeded, ignored = of_port.get("rp_cnp_handled"), of_port.get("rp_cnp_ignored")
        if heeded is None or heeded.last.host is None:
            continue
        host = heeded.last.host
        by_others = total - sent[host]
        ignores = ignored.amount if ignored else 0
        # where nobody slows down, notices may have gone to hosts that were not read
        alone = (
            handled[host] == 0 and (obeyed > 0 or len(handled) == 2) and by_others >= FEWEST_NOTICES
        )
        if alone or ignores >= FEWEST_NOTICES:
            fields: dict[str, Value] = {
                "handled": heeded.amount, "sent": by_others, "ignored": ignores,
                "seconds": heeded.seconds,
            }  # fmt: skip
            yield _at(heeded, "roce.unheeded", fields)


def _at(growth: Growth, name: str, fields: dict[str, Value]) -> Event:
    whole: dict[str, Value] = {
        "device": growth.last.fields.get("device"),
        "port": growth.last.fields.get("port"),
        "counter": growth.meaning.name,
        **fields,
    }
    return at_counter(growth.last, growth.meaning.name, growth.value, growth.line, name, whole)
