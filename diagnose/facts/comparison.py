"""What follows from readings of tools laid side by side: hosts, ports and GPUs.

=============================== ==================================================================
``ib.port_slower``              An active port below the rate of that port on other hosts, of its
                                siblings in the host, or of its own earlier reading
``nccl_tests.slower``           A bandwidth test far below the same test on other hosts or pairs
``nvidia_smi.slower_clock``       A busy GPU whose clock is under that of the others
=============================== ==================================================================

The rate of a port that is not active, or that an old kernel prints without its speed word, says
nothing and is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from diagnose.model.event import Event, Value

EVENTS = ("ib.port_slower", "nccl_tests.slower", "nvidia_smi.slower_clock")

FEWEST_PEERS = 3
"""Others that a host, port or test must differ from."""

MAJORITY = 0.75
"""Share of the peers that must agree."""

LOW = 0.8
"""Share of the peers' bandwidth under which a test failed."""

BUSY = 80
"""Per cent of use from which on the clock of a GPU means something."""

SLOW_CLOCK = 0.9
"""Share of the others' clock under which a GPU is slow."""


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield all derived events, each at the place of the record that stands out."""
    yield from slower_ports([event for event in events if event.name == "ib.port"])
    yield from slower_tests([event for event in events if event.name == "nccl_tests.result"])
    yield from slower_clocks([event for event in events if event.name == "nvidia_smi.monitor"])


def _at(event: Event, name: str, fields: dict[str, Value]) -> Event:
    return replace(event, name=name, fields=fields, fact=None)


def _where(event: Event) -> str:
    return event.host or event.file


def _number(event: Event, name: str) -> float | None:
    value = event.fields.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def slower_ports(ports: Sequence[Event]) -> Iterator[Event]:
    """Yield ports that run below what they could, with what they were compared with."""
    newest: dict[tuple[str, Value, Value], Event] = {}
    best: dict[tuple[str, Value, Value], float] = {}
    for event in ports:
        rate = _number(event, "rate_gbps")
        if event.fields.get("state") != "ACTIVE" or not rate:
            continue
        if event.fields.get("tool") == "ibstatus" and event.fields.get("speed") is None:
            continue
        key = _where(event), event.fields.get("device"), event.fields.get("port")
        newest[key] = event
        best[key] = max(best.get(key, 0.0), rate)
    for key, event in newest.items():
        rate = _number(event, "rate_gbps") or 0.0
        elsewhere = [one for other, one in newest.items() if other[1:] == key[1:] and other != key]
        beside = [
            one
            for other, one in newest.items()
            if other[0] == key[0] and other != key and _alike(event, one)
        ]
        odd = all(_number(one, "rate_gbps") != rate for one in beside)  # a pair is a design
        for basis, expected, peers in (
            ("earlier", best[key], 1),
            ("hosts", _agreed(elsewhere), len(elsewhere)),
            ("siblings", _agreed(beside) if odd else None, len(beside)),
        ):
            if expected is not None and rate < expected:
                yield _at(event, "ib.port_slower", {
                    "device": key[1], "port": key[2], "rate_gbps": rate, "expected_gbps": expected,
                    "basis": basis, "peers": peers, "lanes": event.fields.get("lanes"),
                    "same_board": event.fields.get("board") is not None,
                    "narrower": _fewer_lanes(event, elsewhere if basis == "hosts" else beside),
                })  # fmt: skip
                break


def _alike(one: Event, other: Event) -> bool:
    """Return whether two ports of a host should have the same rate."""
    same = ("link_layer", "board")
    return all(one.fields.get(name) == other.fields.get(name) for name in same)


def _agreed(ports: Sequence[Event]) -> float | None:
    """Return the rate that nearly all of several ports have."""
    rates = Counter(_number(event, "rate_gbps") for event in ports)
    if len(ports) < FEWEST_PEERS:
        return None
    rate, count = rates.most_common(1)[0]
    return rate if count >= MAJORITY * len(ports) else None


def _fewer_lanes(port: Event, peers: Sequence[Event]) -> bool:
    lanes, usual = _number(port, "lanes"), [_number(peer, "lanes") or 0 for peer in peers]
    return lanes is not None and bool(usual) and lanes < median(usual)


def slower_tests(results: Sequence[Event]) -> Iterator[Event]:
    """Yield bandwidth tests far below the same test elsewhere.

    ``suspects`` are the hosts of the test that take part in no good one.
    """
    comparable: dict[tuple[Value, ...], list[tuple[float, Event]]] = defaultdict(list)
    for event in results:
        plateau = _number(event, "plateau_busbw")
        if plateau:
            same = ("collective", "ranks", "nodes", "gpu_model", "plateau_size")
            comparable[tuple(event.fields.get(name) for name in same)].append((plateau, event))
    for tests in comparable.values():
        if len(tests) <= FEWEST_PEERS:
            continue
        level = median(plateau for plateau, _ in tests)
        good = {host for plateau, one in tests if plateau >= LOW * level for host in _hosts(one)}
        for plateau, event in tests:
            if plateau >= LOW * level:
                continue
            suspects = [host for host in _hosts(event) if host not in good]
            yield _at(event, "nccl_tests.slower", {
                "collective": event.fields.get("collective"), "plateau_busbw": plateau,
                "expected_busbw": level, "ratio": plateau / level, "tests": len(tests),
                "nodes": event.fields.get("nodes"), "suspects": list(suspects),
            })  # fmt: skip


def _hosts(event: Event) -> list[str]:
    if event.host is not None:
        return [event.host]
    listed = event.fields.get("hosts")
    return [str(host) for host in listed] if isinstance(listed, list) else []


def slower_clocks(monitored: Sequence[Event]) -> Iterator[Event]:
    """Yield GPUs that are as busy as the others and run at a lower clock.

    Only busy GPUs are compared: an idle one lowers its clock to save power.
    """
    busy = [
        event
        for event in monitored
        if (_number(event, "use") or 0) >= BUSY and _number(event, "clock")
    ]
    if len(busy) <= FEWEST_PEERS:
        return
    level = median(_number(event, "clock") or 0 for event in busy)
    for event in busy:
        clock = _number(event, "clock") or 0
        if clock < SLOW_CLOCK * level:
            yield _at(event, "nvidia_smi.slower_clock", {
                **event.fields, "clock": clock, "expected_clock": level, "ratio": clock / level,
                "peers": len(busy) - 1,
            })  # fmt: skip
