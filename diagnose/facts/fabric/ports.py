"""Ports beside each other: which one runs below what it could.

``ib.port_slower`` is an active port below the rate of that port on other hosts, of its siblings in
the host, or of its own earlier reading; ``basis`` says which. The rate of a port that is not
active, or that an old kernel prints without its speed word, says nothing and is left out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from diagnose.model.event import Event, Value

EVENTS = ("ib.port_slower",)

FEWEST_PEERS = 3
"""Others that a port must differ from."""

MAJORITY = 0.75
"""Share of the peers that must agree."""


def derive(ports: Sequence[Event]) -> Iterator[Event]:
    """Yield ports that run below what they could, with what they were compared with."""
    newest: dict[tuple[str, Value, Value], Event] = {}
    best: dict[tuple[str, Value, Value], float] = {}
    for event in ports:
        rate = event.number("rate_gbps")
        if event.fields.get("state") != "ACTIVE" or not rate:
            continue
        if event.fields.get("tool") == "ibstatus" and event.fields.get("speed") is None:
            continue
        key = event.host or event.file, event.fields.get("device"), event.fields.get("port")
        newest[key] = event
        best[key] = max(best.get(key, 0.0), rate)
    for key, event in newest.items():
        rate = event.number("rate_gbps") or 0.0
        elsewhere = [one for other, one in newest.items() if other[1:] == key[1:] and other != key]
        beside = [
            one
            for other, one in newest.items()
            if other[0] == key[0] and other != key and _alike(event, one)
        ]
        odd = all(one.number("rate_gbps") != rate for one in beside)  # a pair is a design
        for basis, expected, peers in (
            ("earlier", best[key], 1),
            ("hosts", _agreed(elsewhere), len(elsewhere)),
            ("siblings", _agreed(beside) if odd else None, len(beside)),
        ):
            if expected is not None and rate < expected:
                fields: dict[str, Value] = {
                    "device": key[1], "port": key[2], "rate_gbps": rate, "expected_gbps": expected,
                    "basis": basis, "peers": peers, "lanes": event.fields.get("lanes"),
                    "same_board": event.fields.get("board") is not None,
                    "narrower": _fewer_lanes(event, elsewhere if basis == "hosts" else beside),
                }  # fmt: skip
                yield replace(event, name="ib.port_slower", fields=fields, fact=None)
                break


def _alike(one: Event, other: Event) -> bool:
    """Return whether two ports of a host should have the same rate."""
    same = ("link_layer", "board")
    return all(one.fields.get(name) == other.fields.get(name) for name in same)


def _agreed(ports: Sequence[Event]) -> float | None:
    """Return the rate that nearly all of several ports have."""
    rates = Counter(event.number("rate_gbps") for event in ports)
    if len(ports) < FEWEST_PEERS:
        return None
    rate, count = rates.most_common(1)[0]
    return rate if count >= MAJORITY * len(ports) else None


def _fewer_lanes(port: Event, peers: Sequence[Event]) -> bool:
    lanes, usual = port.number("lanes"), [peer.number("lanes") or 0 for peer in peers]
    return lanes is not None and bool(usual) and lanes < median(usual)
