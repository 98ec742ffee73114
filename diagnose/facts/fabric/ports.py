"""Ports beside each other: which one runs below what it could.

``ib.port_slower`` is an active port below the rate of that port on other hosts, of its siblings in
the host, or of its own earlier reading; ``basis`` says which. The rate of a port that is not
active, or that an old kernel prints without its speed word, says nothing and is left out, and so
is that of a bond, which is one port's or the sum. A port that is slower than its siblings on other
hosts as well, or one of a pair, is so by design. So is a port of a host of another kind: with an
adapter of another type, with less than half as many ports as most hosts, or with four ports or more
that all run at that rate. ``same_kind`` says that the host has as many ports as most hosts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from diagnose.model.event import Event, Value

EVENTS = ("ib.port_slower",)

FEWEST_PEERS = 3
"""Others that a port must differ from."""

MAJORITY = 0.75
"""Share of the peers that must agree."""

Key = tuple[str, Value, Value]
"""The owner of a port, its device and its number."""

KERNEL = ("ibstatus", "sysfs")
"""Tools that print the kernel's text of a rate, in which a word for the speed belongs."""


def owner(event: Event) -> str:
    """Return whose port it is: the host, else the rank that printed it, else the file."""
    if event.host is not None:
        return event.host
    return event.file if event.rank is None else f"{event.file} rank {event.rank}"


def key_of(event: Event) -> Key:
    """Return which port a reading is of."""
    return owner(event), event.fields.get("device"), event.fields.get("port")


def newest(ports: Iterable[Event]) -> dict[Key, Event]:
    """Return the last reading of each port; what it does not show is from those before it.

    Args:
        ports: The events ``ib.port`` of the input, in its order.
    """
    found: dict[Key, Event] = {}
    for event in ports:
        key = key_of(event)
        before = found.get(key)
        if before is not None:
            shown = {name: value for name, value in event.fields.items() if value is not None}
            event = replace(event, fields={**before.fields, **shown})
        found[key] = event
    return found


def on_hosts(key: Key, event: Event) -> tuple[Value, ...]:
    """Return what a port shares with those of its name on other hosts."""
    return (*key[1:], event.fields.get("link_layer"))


def siblings(key: Key, event: Event) -> tuple[Value, ...]:
    """Return what a port shares with those of its host that should be like it."""
    return key[0], event.fields.get("link_layer"), event.fields.get("board")


@dataclass(slots=True)
class Peers:
    """The rates of some ports, by the number of ports that have them."""

    rates: Counter[float] = field(default_factory=Counter)
    lanes: dict[float, Value] = field(default_factory=dict)
    boards: dict[float, set[Value]] = field(default_factory=lambda: defaultdict(set))

    def add(self, event: Event, rate: float) -> None:
        """Count a port."""
        self.rates[rate] += 1
        self.lanes[rate] = event.fields.get("lanes") or self.lanes.get(rate)
        self.boards[rate].add(event.fields.get("board"))

    def of_type(self, rate: float, event: Event) -> bool:
        """Return whether ports of a rate may have an adapter of the type that a port has."""
        board, known = event.fields.get("board"), self.boards[rate]
        return board is None or None in known or board in known

    def others(self, rate: float) -> int:
        """Return how many there are beside one port of a rate."""
        return self.rates.total() - (rate in self.rates)

    def agreed(self, rate: float) -> float | None:
        """Return the rate that nearly all others have than one port of a rate."""
        if self.others(rate) < FEWEST_PEERS:
            return None
        best, count = max(
            ((one, count - (one == rate)) for one, count in self.rates.items()),
            key=lambda pair: (pair[1], pair[0]),
        )
        return best if count >= MAJORITY * self.others(rate) else None


def derive(ports: Sequence[Event]) -> Iterator[Event]:
    """Yield ports that run below what they could, with what they were compared with."""
    best: dict[tuple[Key, Value], float] = {}
    elsewhere: dict[tuple[Value, ...], Peers] = defaultdict(Peers)
    beside: dict[tuple[Value, ...], Peers] = defaultdict(Peers)
    for event in ports:
        if (rate := _rate(event)) is not None:
            same = key_of(event), _address(event)
            best[same] = max(best.get(same, 0.0), rate)
    latest = newest(ports)
    rates = {key: rate for key, event in latest.items() if (rate := _rate(event)) is not None}
    for key, rate in rates.items():
        elsewhere[on_hosts(key, latest[key])].add(latest[key], rate)
        beside[siblings(key, latest[key])].add(latest[key], rate)
    ports_of = Counter(key[0] for key in rates)
    usual_ports = Counter(ports_of.values()).most_common(1)[0][0] if ports_of else 0
    rates_of: dict[str, set[float]] = defaultdict(set)
    for key, rate in rates.items():
        rates_of[key[0]].add(rate)
    for key, rate in rates.items():
        event = latest[key]
        hosts, near = elsewhere[on_hosts(key, event)], beside[siblings(key, event)]
        odd = near.rates[rate] == 1 and hosts.rates[rate] == 1
        count = ports_of[key[0]]
        uniform = count > FEWEST_PEERS and len(rates_of[key[0]]) == 1
        usual = None if uniform or count * 2 < usual_ports else hosts.agreed(rate)
        if usual is not None and not hosts.of_type(usual, event):
            usual = None
        for basis, expected, peers, lanes in (
            ("earlier", best[key, _address(event)], 1, None),
            ("hosts", usual, hosts.others(rate), hosts.lanes),
            (
                "siblings",
                near.agreed(rate) if odd else None,
                near.others(rate),
                near.lanes,
            ),
        ):
            if expected is not None and rate < expected:
                wide = lanes.get(expected) if lanes else None
                own = event.fields.get("lanes")
                fields: dict[str, Value] = {
                    "device": key[1], "port": key[2], "rate_gbps": rate, "expected_gbps": expected,
                    "basis": basis, "peers": peers, "lanes": own,
                    "same_kind": count == usual_ports,
                    "same_board": event.fields.get("board") is not None,
                    "narrower": isinstance(own, int) and isinstance(wide, int) and own < wide,
                }  # fmt: skip
                yield replace(event, name="ib.port_slower", fields=fields, fact=None)
                break


def _rate(event: Event) -> float | None:
    """Return the rate of a port in Gb/s where it says something."""
    fields = event.fields
    unnamed = fields.get("tool") in KERNEL and fields.get("speed") is None
    bond = "bond" in str(fields.get("device"))
    if fields.get("state") != "ACTIVE" or unnamed or bond:
        return None
    return event.number("rate_gbps") or None


def _address(event: Event) -> Value:
    """Return what tells ports of one name apart in a paste that does not say its hosts."""
    return event.fields.get("gid") if event.host is None else None
